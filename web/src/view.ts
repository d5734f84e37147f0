// What is shown, in the part of the address behind `#`: one stack of filters for all views. A
// change is an entry of the browser's history, so Back undoes it.

export const TABS = ['overview', 'explore', 'function', 'compare'] as const;
export type Tab = (typeof TABS)[number];

export const SHAPES = ['icicle', 'flame', 'sunburst', 'call graph'] as const;
export type Shape = (typeof SHAPES)[number];

export interface View {
  tab: Tab;
  metric: string;
  process: number;
  thread: number;
  focus: string;
  hide: string;
  search: string;
  idle: boolean;
  mine: boolean; // only the user's code
  from: number; // slices of the time: from this one on, up to before that one; -1: all
  to: number;
  region: number; // what was done in regions of that name; -1: all
  func: number; // the one selected; -1: none
  zoom: number; // node of the flame graph, 0: all
  shape: Shape;
  depth: number; // of the flame graph below what is zoomed to, 0: all
  cutoff: number; // share of it, in thousandths, below which frames are put together
  left: string; // sides that are compared; '': the usual ones
  right: string;
  scale: 'share' | 'time'; // what of them
}

export const START: View = {
  tab: 'overview', metric: '', process: -1, thread: -1, focus: '', hide: '', search: '',
  idle: false, mine: false, from: -1, to: -1, region: -1, func: -1, zoom: 0, shape: 'icicle', depth: 0, cutoff: 0,
  left: '', right: '', scale: 'share',
};

export interface Limits {
  metrics: string[];
  processes: number;
  threads: number;
  functions: number;
  boxes: number;
  slices: number;
  regions: number;
}

export function readView(hash: string, limits: Limits, start: View): View {
  const words = new URLSearchParams(hash.replace(/^#/, ''));
  const text = (key: string) => words.get(key) ?? '';
  const index = (key: string, below: number, otherwise = -1): number =>
    /^\d+$/.test(text(key)) && Number(text(key)) < below ? Number(text(key)) : otherwise;
  const one = <Word extends string>(of: readonly Word[], key: string, otherwise: Word): Word =>
    of.includes(text(key) as Word) ? text(key) as Word : otherwise;
  const from = index('from', limits.slices), to = index('to', limits.slices + 1);
  const part = from >= 0 && to > from;
  return {
    tab: one(TABS, 'tab', start.tab),
    metric: one(limits.metrics, 'metric', start.metric),
    process: index('process', limits.processes),
    thread: index('thread', limits.threads),
    focus: text('focus'),
    hide: text('hide'),
    search: text('search'),
    idle: text('idle') === '1',
    mine: text('mine') === '1',
    from: part ? from : -1,
    to: part ? to : -1,
    region: index('region', limits.regions),
    func: index('function', limits.functions),
    zoom: index('zoom', limits.boxes, 0),
    shape: one(SHAPES, 'shape', start.shape),
    depth: index('depth', 1000, 0),
    cutoff: index('cutoff', 1000, 0),
    left: text('left'),
    right: text('right'),
    scale: one(['time'], 'scale', start.scale),
  };
}

export function writeView(view: View, start: View): string {
  const words = new URLSearchParams();
  for (const key of ['tab', 'metric', 'focus', 'hide', 'search', 'shape', 'left', 'right', 'scale'] as const)
    if (view[key] !== start[key]) words.set(key, view[key]);
  for (const key of ['process', 'thread', 'from', 'to', 'region'] as const)
    if (view[key] >= 0) words.set(key, `${view[key]}`);
  for (const key of ['idle', 'mine'] as const) if (view[key]) words.set(key, '1');
  if (view.func >= 0) words.set('function', `${view.func}`);
  if (view.zoom > 0) words.set('zoom', `${view.zoom}`);
  if (view.depth > 0) words.set('depth', `${view.depth}`);
  if (view.cutoff > 0) words.set('cutoff', `${view.cutoff}`);
  return '#' + words;
}
