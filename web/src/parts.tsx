// What the views are put together from.
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Metric, Profile } from './data';
import { ROOT, type Choice, type Sums } from './sums';
import type { View } from './view';
import { share, time } from './words';

export interface Page {
  profile: Profile;
  before: Profile | null; // what it is compared with
  view: View;
  metric: Metric;
  choice: Choice;
  sums: Sums; // of the choice, all phases
  waits: boolean; // for what was chosen: all of this but the profile and the view is still as it was
  go: (change: Partial<View>) => void; // an entry of the history
  set: (change: Partial<View>) => void; // none: a search that is being typed, a selection
}

export const PageContext = createContext<Page | null>(null);
export const usePage = (): Page => useContext(PageContext)!;

// Names are foreign text: kept apart in their direction of writing, cut by the style.
export function Name({ text }: { text: string }) {
  return <bdi class="name" title={text.slice(0, 500)}>{text}</bdi>;
}

export function FunctionName({ func, of }: { func: number; of?: Profile }) {
  const { profile } = usePage();
  if (func === ROOT) return <span class="faint">(nobody: outermost)</span>;
  const { name, where } = (of ?? profile).functions[func];
  return <span class="function"><Name text={name} /> <span class="faint where">
    <Name text={where} /></span></span>;
}

export function Meter({ part, whole }: { part: number; whole: number }) {
  const percent = whole ? Math.min(100, 100 * part / whole) : 0;
  return <span class="meter" aria-hidden="true"><i style={{ width: `${percent}%` }} /></span>;
}

export function Times({ part, whole }: { part: number; whole: number }) {
  return <>
    <td class="number">{share(part, whole)}</td>
    <td class="number faint time">{time(part)}</td>
  </>;
}

export function Section({ title, id, children }: { title: ComponentChildren; id: string;
  children: ComponentChildren }) {
  return <section aria-labelledby={id}><h2 id={id}>{title}</h2>{children}</section>;
}

const MANY = 20_000; // boxes
const REST = 100; // ms

// A long list, of a recording that takes long to draw as it is: what stands above it is on the screen
// one frame before it follows, and where it is out of sight nothing waits for it: it follows when the
// hand rests. Until then it is not gone through either.
export function Later({ children }: { children: ComponentChildren }) {
  const page = usePage(), [before, setBefore] = useState(page), held = useRef(children);
  const frame = useRef<HTMLDivElement>(null);
  const many = page.profile.flame.count > MANY, late = many && before.profile === page.profile;
  if (!late || before === page) held.current = children;
  useEffect(() => { // once it is drawn
    if (!many || page.waits) return;
    const below = frame.current!.getBoundingClientRect().top > innerHeight;
    const timer = setTimeout(setBefore, below ? REST : 0, page);
    return () => clearTimeout(timer);
  }, [page]);
  return <div ref={frame} class={many ? 'later' : undefined} aria-busy={late && before !== page}>
    <PageContext.Provider value={late ? before : page}>{held.current}
    </PageContext.Provider></div>;
}

// The head of a table: '#' marks what is a number, '~' and '-' one that narrow screens leave out.
export function Heads({ of }: { of: string[] }) {
  return <thead><tr>{of.map((text) => {
    const kind = { '#': 'number', '~': 'number time', '-': 'number bound' }[text[0]];
    return <th scope="col" class={kind}>{kind ? text.slice(1) : text}</th>;
  })}</tr></thead>;
}

// What rows are sorted by, and the heads of columns, which choose that: names from A to Z at first,
// numbers from the largest on.
export function useOrder<Key extends string>(first: Key) {
  const [key, setKey] = useState(first), [down, setDown] = useState(true);
  const head = (each: Key, text: string, kind = 'number') => <th scope="col" class={kind}
    aria-sort={each !== key ? 'none' : down ? 'descending' : 'ascending'}>
    <button type="button" class="plain" onClick={() => {
      setDown(each === key ? !down : each !== 'name');
      setKey(each);
    }}>{text}<span aria-hidden="true">{each !== key ? '' : down ? ' ▾' : ' ▴'}</span></button></th>;
  return { key, down, head };
}

// The first of many rows, and a button for more.
export function useMore<Row>(rows: Row[], most: number): [Row[], JSX.Element | false] {
  const [limit, setLimit] = useState(most);
  return [rows.slice(0, limit), rows.length > limit && <button type="button"
    onClick={() => setLimit(limit * 4)}>Show more of {rows.length}</button>];
}

// What came of copying, in words, and what copies.
export function useCopy(): [string, (text: string) => void] {
  const [said, setSaid] = useState(''), { profile } = usePage();
  return [said, (text) => void navigator.clipboard.writeText(text).then(() => setSaid('copied'),
    () => setSaid(`${profile.written.notes.uncopied} ${text}`))];
}

// What may be wider than the page; with the focus in it, the arrow keys move it.
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="scroll" role="group" aria-label={label} tabIndex={0}>{children}</div>;
}

export const opens = (action: () => void) => ({
  onClick: (event: JSX.TargetedMouseEvent<HTMLElement>) => {
    event.preventDefault();
    action();
  },
});
