// Compare: two recordings, or two processes, threads or times of one, function by function.
import { useMemo, useState } from 'preact/hooks';
import { FlameGraph } from './canvas';
import type { Changed as Told } from './flame';
import { changesOf, compare, rank, type Change, type Comparison, type Scale, type Side, type Value }
  from './changes';
import { moments, valuesOf, type Metric, type Profile } from './data';
import { menuOf } from './menu';
import { FunctionName, Heads, Later, opens, PageContext, Scroll, Section, useMore, usePage }
  from './parts';
import type { View } from './view';
import { allTime } from './sums';
import { share, time } from './words';

const ROWS = 40;

// A part of this recording's time, r12-40, or all but that, x12-40; null when the id is of none.
function timeSide(profile: Profile, id: string): Side | null {
  const found = /^([rx])(\d+)-(\d+)$/.exec(id), { slices } = profile.written;
  const [from, to] = found ? [Number(found[2]), Number(found[3])] : [0, 0];
  if (!found || from >= to || to > slices.count || slices.count < 2) return null;
  const [begin, end] = moments(slices, from, to), outside = found[1] === 'x';
  return { id, title: `${outside ? 'not ' : ''}${time(begin)} to ${time(end)}`, profile,
    process: -1, thread: -1, time: { from, to, outside } };
}

// The parts of the time that are offered: what is named, the part that is chosen, the halves.
function timeSides(profile: Profile, view: View): Side[] {
  // When calls were is not in their sums; and a page that has to ask shows one part at a time.
  if (view.metric === 'counted' || profile.written.asked || profile.cells.timeless) return [];
  const { count } = profile.written.slices, half = count >> 1;
  const part = view.from < 0 ? [] : [`r${view.from}-${view.to}`, `x${view.from}-${view.to}`];
  const ids = new Set([view.left, view.right, ...part, `r0-${half}`, `r${half}-${count}`]);
  return [...ids].map((id) => timeSide(profile, id)).filter((side) => side !== null);
}

// What of a recording can be a side; ids of the recording before this one begin with b.
function sidesOf(profile: Profile, before: boolean): Side[] {
  const { threads, processes, threads_joined } = profile.written;
  const mark = before ? 'b' : '', words = before ? 'before' : 'this recording';
  const side = { profile, process: -1, thread: -1, time: allTime(profile) };
  const sides: Side[] = [{ ...side, id: `${mark}all`, title: words }];
  if (processes.length > 1)
    processes.forEach(({ pid, role }, process) => sides.push({ ...side, process,
      id: `${mark}p${process}`, title: `${before ? 'before: ' : ''}process ${role} ${pid}` }));
  if (threads.length > 1 && !threads_joined)
    threads.forEach(({ process, tid, name }, thread) => sides.push({ ...side, thread,
      id: `${mark}t${thread}`, title: `${before ? 'before: ' : ''}thread ${name} ${tid}${
        processes.length > 1 ? ` of ${processes[process].pid}` : ''}` }));
  return sides;
}

// The two that are looked at first: the recordings; else the processes, else the threads, that
// have most wall time; else the halves of the time.
function usual(sides: Side[], profile: Profile, hasBefore: boolean): [Side, Side] | null {
  if (hasBefore) return [sides.find((side) => side.id === 'ball')!, sides[0]];
  const { threads, processes, metrics } = profile.written, { cells } = profile;
  const byProcess = processes.length > 1, times: number[] = [];
  const values = valuesOf(cells, metrics[0]);
  for (let i = 0; i < cells.count; i++) {
    const index = byProcess ? threads[cells.thread[i]].process : cells.thread[i];
    times[index] = (times[index] ?? 0) + values.time[i] - values.idle[i];
  }
  const best = times.map((value, index) => [value, index]).filter(Boolean)
    .sort((a, b) => b[0] - a[0]).slice(0, 2)
    .map(([, index]) => sides.find(({ id }) => id === `${byProcess ? 'p' : 't'}${index}`));
  if (best.length === 2 && best[0] && best[1]) return [best[0], best[1]];
  const halves = sides.filter(({ id }) => id.startsWith('r')).slice(-2);
  return halves.length === 2 ? [halves[0], halves[1]] : null;
}

const signed = (value: number, scale: Scale): string => {
  const size = Math.abs(value);
  const text = scale === 'time' ? time(Math.round(size))
    : `${(100 * size).toFixed(size < 0.0995 ? 1 : 0)} pp`;
  return (/^[0. a-z]*$/.test(text) ? '\u00b1' : value > 0 ? '+' : '\u2212') + text;
};
const plain = (value: number, scale: Scale): string =>
  scale === 'time' ? time(Math.round(value)) : share(value, 1);

// Orange is more, blue less; the sign and the word say the same.
function Changed({ value, scale }: { value: Value; scale: Scale }) {
  const kind = !value.sure ? 'same' : value.change > 0 ? 'more' : 'less';
  return <td class={`number change ${kind}`}>{signed(value.change, scale)}</td>;
}

function verdict(row: Change, judged: boolean): string {
  if (!judged) return '';
  const value = rank(row) === 1 ? row.total : row.self;
  if (rank(row) === 2) return 'not distinguishable';
  return value.change > 0 ? 'more' : 'less';
}

function Rows({ rows, sides, scale, judged }: { rows: Change[]; sides: [Side, Side];
  scale: Scale; judged: boolean }) {
  const { go, profile } = usePage();
  const [shown, more] = useMore(rows, ROWS);
  const line = (row: Change) => {
    const side = row.after >= 0 ? sides[1] : sides[0];
    const index = row.after >= 0 ? row.after : row.before, here = side.profile === profile;
    const label = <FunctionName func={index} of={side.profile} />;
    const only = row.after < 0 ? 'only on the left' : row.before < 0 ? 'only on the right' : '';
    return <tr key={`${row.before}:${row.after}`} 
      {...here ? menuOf({ func: index }) : menuOf({ name: side.profile.functions[index].name }, 0)}>
      <td class="number">{plain(row.self.before, scale)}</td>
      <td class="number">{plain(row.self.after, scale)}</td>
      <Changed value={row.self} scale={scale} /><Changed value={row.total} scale={scale} />
      <td>{[verdict(row, judged), only].filter(Boolean).join(', ')}</td>
      <td class="wide">{here
        ? <a href="#" {...opens(() => go({ tab: 'function', func: index }))}>{label}</a>
        : label}</td>
    </tr>;
  };
  return <>
    <Scroll label="Changes"><table class="rows changes">
      <Heads of={['#Self left', '#right', '#change', '#Total change', 'Verdict', 'Function']} />
      <tbody>{shown.map(line)}</tbody></table></Scroll>
    {more}
  </>;
}

// The same stack by stack. What is selected and zoomed to is so until another comparison is shown.
function Graph({ found, scale, judged, wanted }: { found: Comparison; scale: Scale;
  judged: boolean; wanted: string }) {
  const page = usePage();
  const [zoomed, setZoom] = useState({ found, zoom: 0 });
  const { profile, totals, changed } = useMemo(() => {
    const { flame, functions, places, totals, valueOf } = changesOf(found);
    const known: Told[] = [];
    const change = (node: number): Told => {
      const value = valueOf(node), func = flame.func[node], sign = signed(value.change, scale);
      const sure = judged ? value.sure : sign[0] !== '\u00b1';
      const here = found.arms.findIndex((arm, side) =>
        arm.profile === page.profile && places[side][func] >= 0);
      return {
        fill: !sure ? 'none' : value.change > 0 ? 'user' : 'library', sign,
        target: here < 0 ? { name: functions[func]?.name } : { func: places[here][func] },
        words: `${plain(value.before, scale)} left, ${plain(value.after, scale)} right (${sign}${
          sure || !judged ? '' : ', not distinguishable'})`,
      };
    };
    return { totals, changed: (node: number) => known[node] ??= change(node),
      profile: { ...page.profile, flame, functions } };
  }, [found, judged]);
  const zoom = zoomed.found === found && totals.total[zoomed.zoom] ? zoomed.zoom : 0;
  return <Section id="changed" title="Flame graph">
    <p class="faint">{profile.written.notes.changed}</p>
    <PageContext.Provider value={{ ...page, profile, set: () => {},
      view: { ...page.view, depth: 0, cutoff: 0, shape: 'icicle' },
      go: (change) => setZoom({ found, zoom: change.zoom ?? 0 }) }}>
      <FlameGraph totals={totals} zoom={zoom} changed={changed} found={wanted ? (func) =>
        profile.functions[func].text.toLowerCase().includes(wanted) : null} />
    </PageContext.Provider>
  </Section>;
}

const metricOf = (side: Side, name: string): Metric =>
  side.profile.written.metrics.find((metric) => metric.name === name)
    ?? { ...side.profile.written.metrics[0], name, known: false,
      why: side.profile.written.notes.unlike };

function Compared({ sides }: { sides: [Side, Side] }) {
  const { view, choice, metric, profile: { written: { notes } } } = usePage();
  const metrics = sides.map((side) => metricOf(side, metric.name)) as [Metric, Metric];
  const unknown = metrics.find((each) => !each.known);
  const { scale } = view;
  const found = useMemo(() => compare(sides, metrics, choice, scale), [sides, choice, scale]);
  const wanted = view.search.toLowerCase();
  const rows = found.rows.filter((row) => {
    const [side, func] = row.after >= 0 ? [1, row.after] : [0, row.before];
    return sides[side].profile.functions[func].text.toLowerCase().includes(wanted);
  });
  if (unknown) return <p class="warn">{metric.name}: n/a, {unknown.why}.</p>;
  const judged = metric.name === 'wall' && found.counted;
  const sure = judged ? rows.filter((row) => rank(row) < 2).length : 0;
  return <>
    <p class="verdict">Left {time(found.before)}, right {time(found.after)}
      {scale === 'time' ? ` (${signed(found.after - found.before, 'time')})` : ''}
      {judged && <>; {sure === 0 ? notes.same
        : `${sure} of ${rows.length} ${notes.differ}`}</>}.</p>
    {!judged && <p class="warn">{metric.name === 'wall'
      ? notes.unjudged
      : <>{notes.shown} <code>cairn diff --metric {metric.name}</code></>}</p>}
    <Later><Graph found={found} scale={scale} judged={judged} wanted={wanted} /></Later>
    <Rows rows={judged ? rows : rows.map(unjudged)} sides={sides} scale={scale} judged={judged} />
    <p class="faint">{scale === 'share' && notes.points} {notes.intervals}</p>
  </>;
}

const unjudged = (row: Change): Change => ({
  ...row, self: { ...row.self, sure: false }, total: { ...row.total, sure: false },
});

export function Compare() {
  const { profile, before, view, go } = usePage();
  const sides = useMemo(() => [...sidesOf(profile, false), ...timeSides(profile, view),
    ...(before ? sidesOf(before, true) : [])],
  [profile, before, view.left, view.right, view.from, view.to, view.metric]);
  const first = useMemo(() => usual(sides, profile, before !== null), [sides]);
  const left = sides.find((side) => side.id === view.left) ?? first?.[0];
  const right = sides.find((side) => side.id === view.right) ?? first?.[1];
  const chosen = useMemo(() => (left && right ? [left, right] as [Side, Side] : null),
    [left, right]);
  const { asked, notes, threads_joined } = profile.written;
  const few = threads_joined ? notes.joined : asked && notes.few;
  if (!chosen) return <p>{few || notes.alone}</p>;
  const choose = (key: 'left' | 'right', label: string) => <label>{label} <select
    value={chosen[key === 'left' ? 0 : 1].id}
    onChange={(event) => go({ left: chosen[0].id, right: chosen[1].id,
      [key]: event.currentTarget.value })}>
    {sides.map((side) => <option key={side.id} value={side.id}>{side.title}</option>)}
  </select></label>;
  const scale = view.scale;
  return <Section id="compare" title="What changed">
    <div class="filters">
      {choose('left', 'Left')}
      <button type="button" aria-label="Exchange the sides" title="Exchange the sides"
        onClick={() => go({ left: chosen[1].id, right: chosen[0].id })}>⇄</button>
      {choose('right', 'Right')}
      <label>Compare <select value={scale}
        onChange={(event) => go({ scale: event.currentTarget.value as Scale })}>
        <option value="share">shares</option>
        <option value="time">times</option></select></label>
    </div>
    {few && <p class="faint">{few}</p>}
    <Compared sides={chosen} />
  </Section>;
}
