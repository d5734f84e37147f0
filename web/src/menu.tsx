// One menu on every box, row, lane and line: Focus, Filter, Drill, Copy. Who has one says so in an
// attribute, which one listener looks for; right-click, the menu key and `.` open it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { placeOf, textOf } from './counts';
import { moments, type Profile } from './data';
import { commandOf } from './filters';
import { Name, useCopy, usePage, type Page } from './parts';
import { escaped } from './sums';
import type { View } from './view';
import { exactly, literally, quoted } from './words';

export interface Target {
  func?: number;
  line?: number;
  node?: number; // of the flame graph
  thread?: number;
  from?: number; // slices of the time
  to?: number;
  region?: number; // a text
  tasks?: number[]; // what they are called: texts
  name?: string; // of what is none of these: a state, what is on the other side
  metric?: string; // of a state
}

const ATTRIBUTE = 'data-menu';

// With 0 for the keyboard to stop at, of what holds nothing that it reaches; who has a tabIndex of
// its own gives that behind this.
export const menuOf = (target: Target, tabIndex?: number) =>
  ({ [ATTRIBUTE]: JSON.stringify(target), tabIndex });

interface Action { words: string; change?: Partial<View>; copy?: string }

// What is written out of a name (`visible`) is matched as it is on the command line, too.
export const patternOf = ({ functions }: Profile, func: number): string =>
  `^${escaped(functions[func].text).replace(/\\\\(x..|u....)|\ufffd/g, '.+')}$`;

function ofFunction(page: Page, { func, line, node }: Target): Action[] {
  const { profile, view } = page, pattern = patternOf(profile, func!);
  const { name, file, firstLine } = profile.functions[func!];
  const focus = { focus: pattern, zoom: 0, func }, hide = { hide: pattern, zoom: 0, func };
  const at = line || firstLine;
  return [
    { words: 'Focus: only stacks that hold it', change: focus },
    { words: 'Filter: without the stacks that hold it', change: hide },
    node ? { words: 'Drill: zoom in to it', change: { tab: 'explore', zoom: node, func } }
      : { words: 'Drill: open the function', change: { tab: 'function', func } },
    ...node ? [{ words: 'Drill: open the function', change: { tab: 'function' as const, func } }]
      : [],
    { words: 'Copy its name', copy: name },
    ...file ? [{ words: 'Copy file and line', copy: at ? `${file}:${at}` : file }] : [],
    { words: 'Copy as command', copy: commandOf(page, { ...view, focus: pattern }) },
  ];
}

function ofThread(page: Page, { thread, from, to }: Target): Action[] {
  const { profile: { written }, view } = page, { name, tid, process } = written.threads[thread!];
  const only = { thread, process: -1 };
  const part = from !== undefined ? { from, to } : {};
  return [
    { words: 'Focus: only this thread', change: only },
    ...written.processes.length > 1
      ? [{ words: 'Filter: only its process', change: { process, thread: -1 } }] : [],
    ...from !== undefined ? [{ words: 'Filter: only this time', change: part }] : [],
    { words: 'Drill: what it did here', change: { tab: 'explore', ...only, ...part } },
    { words: 'Copy its name', copy: `${name} ${tid}` },
    { words: 'Copy as command', copy: commandOf(page, { ...view, ...only, ...part } as View) },
  ];
}

// The slices that a part of the time lies in; null: it is not cut into any.
export function slicesAt({ written: { slices } }: Profile, first: number, last: number):
  Partial<View> | null {
  if (slices.count < 2) return null;
  const slice = (at: number) => Math.max(0, Math.min(slices.count - 0.5, // within the last
    (at - slices.first_ns) / slices.width_ns));
  const from = Math.floor(slice(first));
  return { from, to: Math.max(Math.ceil(slice(last)), from + 1) };
}

// Those that the regions of a name lie in, from the first to the last.
function sliceOfRegions({ profile }: Page, region: number): Partial<View> | null {
  const own = profile.written.bands?.filter((band) => band[0] === region);
  return own?.length ? slicesAt(profile,
    own.reduce((least, band) => Math.min(least, band[2]), Infinity),
    own.reduce((most, band) => Math.max(most, band[2] + band[3]), 0)) : null;
}

const insideOf = ({ profile }: Page, name: string, kind: number): number =>
  profile.inside.findIndex(([own, , of]) => of === kind && own === name);

const ofTasks = (page: Page, { tasks = [] }: Target): Action[] => tasks.flatMap((text) => {
  const name = textOf(page.profile, text), region = insideOf(page, name, 1);
  return region < 0 ? [] : [{ words: `Filter: only tasks ${name}`, change: { region } }];
});

function ofRegion(page: Page, region: number): Action[] {
  const name = textOf(page.profile, region), part = sliceOfRegions(page, region);
  const inside = insideOf(page, name, 0);
  return [
    ...part ? [{ words: 'Focus: from its first to its last', change: part },
      { words: 'Drill: the timeline there', change: { tab: 'explore' as const, ...part } }] : [],
    ...inside >= 0 ? [{ words: 'Filter: only what was done in it', change: { region: inside } }] : [],
    { words: 'Copy its name', copy: name },
    { words: 'Copy as command', copy: `cairn report --region ${quoted(literally(name))}` },
  ];
}

function ofName(page: Page, name: string, metric?: string): Action[] {
  const state = page.profile.written.metrics.find((one) => one.name === metric && one.known);
  const change = state && { metric: state.name };
  return [
    ...change ? [{ words: 'Filter: only this state', change },
      { words: 'Drill: where it was', change: { tab: 'explore' as const, ...change } },
      { words: 'Copy as command', copy: commandOf(page, { ...page.view, ...change }) }] : [],
    { words: 'Copy its name', copy: name },
  ];
}

const actionsOf = (page: Page, target: Target): Action[] =>
  target.name ? ofName(page, target.name, target.metric)
    : target.region !== undefined ? ofRegion(page, target.region)
    : [...target.func! >= 0 ? ofFunction(page, target)
      : target.thread !== undefined ? ofThread(page, target) : [], ...ofTasks(page, target)];

function titleOf({ profile }: Page, target: Target): string {
  const { func, line, thread, region, from, to, tasks, name } = target;
  if (name) return name;
  if (region !== undefined) return textOf(profile, region);
  if (func! >= 0)
    return placeOf(profile, func!) + (line ? `, line ${line}` : '');
  if (tasks) return tasks.map((text) => textOf(profile, text)).join(' ');
  const { threads, slices } = profile.written;
  const when = from === undefined ? '' : moments(slices, from, to!).map(exactly).join(' to ');
  return `${threads[thread!].name} ${threads[thread!].tid} ${when}`;
}

function targetAt(element: Element | null): Target | null {
  const text = element?.closest(`[${ATTRIBUTE}]`)?.getAttribute(ATTRIBUTE);
  return text ? JSON.parse(text) as Target : null;
}

interface Opened { target: Target; x: number; y: number; back: HTMLElement | null }

export function Menu() {
  const page = usePage(), { view, go } = page;
  const [opened, setOpened] = useState<Opened | null>(null), [said, toClipboard] = useCopy();
  const list = useRef<HTMLDivElement>(null);
  const open = (target: Target | null, at: Element | null, x?: number, y?: number): boolean => {
    if (!target || actionsOf(page, target).length === 0) return false;
    const box = at?.getBoundingClientRect();
    const back = document.activeElement as HTMLElement | null;
    setOpened({ target, x: x || (box?.left ?? 0) + 24, y: y || (box?.bottom ?? 0), back });
    return true;
  };
  // With what is drawn, not behind it: the next key is for what stands there.
  useLayoutEffect(() => {
    const clicked = (event: MouseEvent) => {
      const element = event.target as Element;
      if (open(targetAt(element), element, event.clientX, event.clientY)) event.preventDefault();
    };
    const pressed = (event: KeyboardEvent) => {
      const element = event.target as HTMLElement;
      if (event.key !== '.' || element.matches('input, select, dialog *')) return;
      const target = targetAt(element) ?? (view.func >= 0 ? { func: view.func } : null);
      if (open(target, element)) event.preventDefault();
    };
    const asked = (event: Event) => {
      const { detail, target } = event as CustomEvent<Target>;
      open(detail, target as Element);
    };
    addEventListener('contextmenu', clicked);
    addEventListener('keydown', pressed);
    addEventListener('cairn-menu', asked);
    return () => {
      removeEventListener('contextmenu', clicked);
      removeEventListener('keydown', pressed);
      removeEventListener('cairn-menu', asked);
    };
  });
  useLayoutEffect(() => {
    const menu = list.current;
    if (!opened || !menu) return;
    const { width, height } = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(4, Math.min(opened.x, innerWidth - width - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(opened.y, innerHeight - height - 4))}px`;
    menu.querySelector<HTMLElement>('[role=menuitem]')!.focus();
    const away = (event: Event) => { if (!menu.contains(event.target as Node)) setOpened(null); };
    addEventListener('pointerdown', away);
    return () => removeEventListener('pointerdown', away);
  }, [opened]);
  const close = () => {
    setOpened(null);
    opened?.back?.focus();
  };
  const act = ({ change, copy }: Action) => {
    close();
    if (change) go(change);
    if (copy !== undefined) toClipboard(copy);
  };
  const press = (event: KeyboardEvent) => {
    const items = [...list.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = { ArrowDown: (at + 1) % items.length,
      ArrowUp: (at + items.length - 1) % items.length, Home: 0, End: items.length - 1 };
    if (event.key in to) items[to[event.key]].focus();
    else if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (event.key === 'Enter' || event.key === ' ') return;
    else { // the first letter of a verb
      items.find((item) => item.textContent!.toLowerCase().startsWith(event.key))?.focus();
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return <>
    <p class="said faint" role="status">{said}</p>
    {opened && <div class="menu" ref={list} onKeyDown={press}>
      <p class="faint"><Name text={titleOf(page, opened.target)} /></p>
      <div role="menu" aria-label="What to do with it">
        {actionsOf(page, opened.target).map((action) => <button key={action.words} type="button"
          role="menuitem" tabIndex={-1} onClick={() => act(action)}>{action.words}</button>)}
      </div>
    </div>}
  </>;
}
