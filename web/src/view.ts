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

const index = (text: string | null, below: number, otherwise: number): number => {
  const value = text !== null && /^\d+$/.test(text) ? Number(text) : otherwise;
  return value < below ? value : otherwise;
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
  const tab = words.get('tab') as Tab;
  const metric = words.get('metric') ?? '';
  const shape = words.get('shape') as Shape;
  const from = index(words.get('from'), limits.slices, -1);
  const to = index(words.get('to'), limits.slices + 1, -1);
  const part = from >= 0 && to > from;
  return {
    tab: TABS.includes(tab) ? tab : start.tab,
    metric: limits.metrics.includes(metric) ? metric : start.metric,
    process: index(words.get('process'), limits.processes, -1),
    thread: index(words.get('thread'), limits.threads, -1),
    focus: words.get('focus') ?? '',
    hide: words.get('hide') ?? '',
    search: words.get('search') ?? '',
    idle: words.get('idle') === '1',
    mine: words.get('mine') === '1',
    from: part ? from : -1,
    to: part ? to : -1,
    region: index(words.get('region'), limits.regions, -1),
    func: index(words.get('function'), limits.functions, -1),
    zoom: index(words.get('zoom'), limits.boxes, 0),
    shape: SHAPES.includes(shape) ? shape : start.shape,
    depth: index(words.get('depth'), 1000, 0),
    cutoff: index(words.get('cutoff'), 1000, 0),
    left: words.get('left') ?? '',
    right: words.get('right') ?? '',
    scale: words.get('scale') === 'time' ? 'time' : 'share',
  };
}

export function writeView(view: View, start: View): string {
  const words = new URLSearchParams();
  if (view.tab !== start.tab) words.set('tab', view.tab);
  if (view.metric !== start.metric) words.set('metric', view.metric);
  if (view.process >= 0) words.set('process', String(view.process));
  if (view.thread >= 0) words.set('thread', String(view.thread));
  if (view.focus) words.set('focus', view.focus);
  if (view.hide) words.set('hide', view.hide);
  if (view.search) words.set('search', view.search);
  if (view.idle) words.set('idle', '1');
  if (view.mine) words.set('mine', '1');
  if (view.from >= 0) words.set('from', String(view.from));
  if (view.from >= 0) words.set('to', String(view.to));
  if (view.region >= 0) words.set('region', String(view.region));
  if (view.func >= 0) words.set('function', String(view.func));
  if (view.zoom > 0) words.set('zoom', String(view.zoom));
  if (view.shape !== start.shape) words.set('shape', view.shape);
  if (view.depth > 0) words.set('depth', String(view.depth));
  if (view.cutoff > 0) words.set('cutoff', String(view.cutoff));
  if (view.left) words.set('left', view.left);
  if (view.right) words.set('right', view.right);
  if (view.scale !== 'share') words.set('scale', view.scale);
  return '#' + words.toString();
}
