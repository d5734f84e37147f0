// Explore: the flame graph, the tree that says the same, and the table of functions.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CallGraph } from './callgraph';
import { FlameGraph } from './canvas';
import { CallChart } from './timechart';
import { CallTable, Regions } from './counted';
import { hasCalls } from './counts';
import { menuOf } from './menu';
import { Timeline } from './timeline';
import { ORIGINS } from './data';
import { FunctionName, Heads, Later, Meter, Name, opens, Scroll, Section, Times, useMore, useOrder, usePage }
  from './parts';
import { flameTotals, functionRows, type Row, type Totals } from './sums';
import { SHAPES, type Shape, type View } from './view';
import { bound, share, time } from './words';

const CHILDREN = 40; // of one row of the tree, before it says "more"
const TABLE_ROWS = 40;

interface TreeRow {
  node: number;
  level: number;
  place: number;
  siblings: number;
  more: number; // so many children of `node` are not shown
}

// A box that has no time in what is chosen is none to zoom to.
const zoomIn = ({ total }: Totals, { zoom }: View): number => total[zoom] && zoom;

function useTree(totals: Totals, zoom: number) {
  const { profile } = usePage();
  const { flame, names: { box: names } } = profile; // sets hold names
  const known = useMemo(() => new Map<number, number[]>(), [totals]);
  const children = (node: number): number[] => {
    const before = known.get(node), found: number[] = [];
    if (before) return before;
    for (let child = node + 1; child < flame.end[node]; child = flame.end[child])
      if (totals.total[child] > 0) found.push(child);
    known.set(node, found.sort((a, b) => totals.total[b] - totals.total[a] || a - b));
    return found;
  };
  // At first the way to where most time is.
  const hot = (): Set<number> => {
    const open = new Set<number>();
    for (let node = zoom, steps = 0; steps < 12; steps++) {
      const [largest] = children(node);
      if (largest === undefined) break;
      open.add(names[node]);
      node = largest;
    }
    return open;
  };
  const [open, setOpen] = useState<Set<number>>(hot);
  const [full, setFull] = useState<Set<number>>(new Set()); // all of whose children are shown
  const shown = useRef(profile); // of a recording that has grown they stay open
  useEffect(() => {
    if (shown.current === profile) setOpen(hot());
    shown.current = profile;
  }, [zoom, totals]);
  const rows: TreeRow[] = [];
  const waiting: TreeRow[] = [{ node: zoom, level: 1, place: 1, siblings: 1, more: 0 }];
  while (waiting.length) {
    const row = waiting.pop()!;
    rows.push(row);
    if (row.more || !open.has(names[row.node])) continue;
    const all = children(row.node);
    const shown = full.has(names[row.node]) ? all : all.slice(0, CHILDREN);
    if (shown.length < all.length)
      waiting.push({ node: row.node, level: row.level + 1, place: shown.length + 1,
        siblings: shown.length + 1, more: all.length - shown.length });
    for (let i = shown.length; i-- > 0;)
      waiting.push({ node: shown[i], level: row.level + 1, place: i + 1,
        siblings: shown.length + (shown.length < all.length ? 1 : 0), more: 0 });
  }
  const turn = (set: Set<number>, node: number, on: boolean): Set<number> => {
    const changed = new Set(set);
    if (on) changed.add(names[node]);
    else changed.delete(names[node]);
    return changed;
  };
  return {
    rows, isOpen: (node: number) => open.has(names[node]),
    hasChildren: (node: number) => children(node).length > 0,
    setOpen: (node: number, on: boolean) => setOpen((old) => turn(old, node, on)),
    showAll: (node: number) => setFull((old) => turn(old, node, true)),
  };
}

function Tree() {
  const { profile, sums, view, go, set } = usePage();
  const { flame } = profile, totals = flameTotals(profile, sums);
  const tree = useTree(totals, zoomIn(totals, view));
  const [at, setAt] = useState(0);
  const body = useRef<HTMLTableSectionElement>(null), moved = useRef(false);
  const nameOf = (row: TreeRow) => `${profile.names.box[row.node]}:${row.more > 0}`;
  const shown = useRef(profile), last = useRef(''); // the row that was current before it grew
  const found = shown.current === profile ? -1
    : tree.rows.findIndex((row) => nameOf(row) === last.current);
  const current = Math.min(found < 0 ? at : found, tree.rows.length - 1), whole = totals.total[0];
  last.current = nameOf(tree.rows[current]);
  useEffect(() => {
    shown.current = profile;
    setAt(current);
  }, [profile]);
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    (body.current!.children[current] as HTMLElement | undefined)?.focus();
  });
  const select = (index: number) => {
    const row = tree.rows[index];
    if (!row) return;
    moved.current = true;
    setAt(index);
    if (row.node > 0 && !row.more) set({ func: flame.func[row.node] });
  };
  const act = (row: TreeRow) => {
    if (row.more) tree.showAll(row.node);
    else if (row.node > 0) go({ tab: 'function', func: flame.func[row.node] });
  };
  const press = (event: KeyboardEvent) => {
    const row = tree.rows[current];
    const keys: Record<string, () => void> = {
      ArrowDown: () => select(current + 1),
      ArrowUp: () => select(current - 1),
      Home: () => select(0),
      End: () => select(tree.rows.length - 1),
      Enter: () => act(row),
      ArrowRight: () => {
        if (row.more || !tree.hasChildren(row.node)) return;
        if (tree.isOpen(row.node)) select(current + 1);
        else tree.setOpen(row.node, true);
      },
      ArrowLeft: () => {
        if (!row.more && tree.isOpen(row.node) && tree.hasChildren(row.node))
          tree.setOpen(row.node, false);
        else select(tree.rows.findLastIndex((each, i) => i < current && each.level < row.level));
      },
    };
    const action = keys[event.key];
    if (!action || event.altKey || event.ctrlKey || event.metaKey) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  };
  const name = (row: TreeRow) => row.more ? <span class="faint">{row.more} more</span>
    : row.node === 0 ? <span>all</span> : <FunctionName func={flame.func[row.node]} />;
  return <div class="scroll tall"><table class="rows tree" role="treegrid" aria-label="Call tree"
    onKeyDown={press}>
    <Heads of={['Function', '#Total', '~time', '#Self']} />
    <tbody ref={body}>{tree.rows.map((row, index) => {
      const open = !row.more && tree.hasChildren(row.node) ? tree.isOpen(row.node) : undefined;
      return <tr key={nameOf(row)} role="row" aria-level={row.level}
        aria-posinset={row.place} aria-setsize={row.siblings} aria-expanded={open}
        aria-selected={index === current}
        {...row.node > 0 && !row.more && menuOf({ func: flame.func[row.node], node: row.node })}
        tabIndex={index === current ? 0 : -1}
        onClick={() => select(index)} onDblClick={() => act(row)}>
        <td role="gridcell" class="wide"
          style={{ paddingLeft: `${Math.min(row.level, 24) * 0.8}em` }}>
          <span class="twist" aria-hidden="true" {...opens(() => {
            if (open !== undefined) tree.setOpen(row.node, !open);
          })}>{open === undefined ? '' : open ? '▾' : '▸'}</span>{name(row)}</td>
        <td role="gridcell" class="number">{row.more ? ''
          : share(totals.total[row.node], whole)}</td>
        <td role="gridcell" class="number faint time">{row.more ? ''
          : time(totals.total[row.node])}</td>
        <td role="gridcell" class="number">{row.more ? ''
          : share(totals.self[row.node], whole)}</td>
      </tr>;
    })}</tbody></table></div>;
}

type Key = 'name' | 'self' | 'total' | 'bound';

// Which functions hold what is searched for; null: no search.
function useFound(): ((func: number) => boolean) | null {
  const { profile, view } = usePage();
  return useMemo(() => {
    const wanted = view.search.toLowerCase();
    return wanted ? (func: number) =>
      profile.functions[func].text.toLowerCase().includes(wanted) : null;
  }, [profile, view.search]);
}

function Functions() {
  const { profile, choice } = usePage(), found = useFound();
  return <Section id="table" title="Functions">{hasCalls(profile, choice)
    ? <CallTable found={found} choice={choice} /> : <Table found={found} />}</Section>;
}

function Table({ found }: { found: ((func: number) => boolean) | null }) {
  const { profile, sums, go, view } = usePage();
  const { key, down, head } = useOrder<Key>('self');
  const rows = useMemo(() => functionRows(profile, sums), [profile, sums]);
  const name = (row: Row) => profile.functions[row.func].text;
  const order = (a: Row, b: Row) => key === 'total' ? a.total - b.total || a.self - b.self
    : key !== 'name' ? a.self - b.self || a.total - b.total
      : name(a) > name(b) ? 1 : name(a) < name(b) ? -1 : 0;
  const sorted = useMemo(() => {
    const kept = found ? rows.filter((row) => found(row.func)) : rows;
    return [...kept].sort((a, b) => (down ? -1 : 1) * order(a, b) || a.func - b.func);
  }, [rows, found, key, down]);
  const [shown, more] = useMore(sorted, TABLE_ROWS);
  const times = <th scope="col" class="number time">time</th>;
  return <>
    <p class="faint" aria-live="polite">{sorted.length} of {rows.length} functions{view.search
      ? <> hold <Name text={view.search} /></> : ''}</p>
    <Scroll label="Functions"><table class="rows functions">
      <thead><tr>{head('self', 'Self')}{times}{head('total', 'Total')}{times}
        {head('bound', 'At most', 'number bound')}
        {head('name', 'Function', '')}</tr></thead>
      <tbody>{shown.map((row) => <tr key={profile.names.func[row.func]}
        class={row.func === view.func ? 'at' : ''} {...menuOf({ func: row.func })}>
        <Times part={row.self} whole={sums.base} /><Times part={row.total} whole={sums.base} />
        <td class="number bound">{bound(row.self, sums.base)}</td>
        <td class="wide"><Meter part={row.self} whole={sums.base} />
          <a href="#" {...opens(() => go({ tab: 'function', func: row.func }))}>
            <FunctionName func={row.func} /></a></td>
      </tr>)}</tbody></table></Scroll>
    {more}
  </>;
}

const DEPTHS = [0, 3, 5, 10, 15, 20, 40], CUTOFFS = [0, 1, 5, 10, 50]; // cutoffs: thousandths

// How the graph is drawn: none of it changes a number.
function Shaping() {
  const { view, go } = usePage();
  const pick = (change: (value: string) => Partial<View>) => (event: Event) =>
    go(change((event.currentTarget as HTMLSelectElement).value));
  return <div class="filters">
    <label>Shape <select value={view.shape} onChange={pick((shape) =>
      ({ shape: shape as Shape }))}>
      {SHAPES.map((shape) => <option key={shape}>{shape}</option>)}</select></label>
    {view.shape !== 'call graph' && <label>Depth <select value={view.depth}
      onChange={pick((depth) => ({ depth: Number(depth) }))}>
      {DEPTHS.map((depth) => <option key={depth} value={depth}>{depth || 'all'}</option>)}
    </select></label>}
    <label>Cutoff <select value={view.cutoff} onChange={pick((cutoff) =>
      ({ cutoff: Number(cutoff) }))}>
      {CUTOFFS.map((cutoff) => <option key={cutoff} value={cutoff}>{cutoff
        ? `${cutoff / 10} %` : view.shape === 'call graph' ? '0.5 %' : 'none'}</option>)}
    </select></label>
  </div>;
}

const Legend = () => <ul class="legend">
  {['your code', 'libraries', 'standard library', 'import', 'native, other'].map((words, i) =>
    <li key={words}><i class={`part origin-${ORIGINS[i]}`} />{words}</li>)}
  <li><i class="part hatched" />too thin to show</li></ul>;

export function Explore() {
  const { profile, sums, view } = usePage(), found = useFound();
  const graph = view.shape === 'call graph', { inferred } = profile.written.recording;
  if (sums.base === 0) return <><Timeline /><CallChart found={found} /><Regions />
    <p class="warn">{profile.written.notes.empty}</p></>;
  const totals = flameTotals(profile, sums);
  return <>
    <Timeline />
    <CallChart found={found} />
    <Section id="flame" title={`${graph ? 'Call graph' : 'Flame graph'}: ${time(sums.base)}`}>
      {inferred && <p class="warn">{inferred}</p>}
      {!graph && <Legend />}
      <Shaping />
      {graph ? <CallGraph /> : <FlameGraph totals={totals} zoom={zoomIn(totals, view)}
        found={found} />}
    </Section>
    <Later><Section id="tree" title="Call tree"><Tree /></Section></Later>
    <Later><Functions /></Later>
    <Regions />
  </>;
}
