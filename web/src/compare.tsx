// Compare: two recordings, or two processes or threads of one, function by function.
import { useMemo, useState } from 'preact/hooks';
import { compare, rank, type Change, type Scale, type Side, type Value } from './changes';
import { eachCell, type Metric, type Profile } from './data';
import { Name, opens, Scroll, Section, usePage } from './parts';
import { share, time } from './words';

const ROWS = 40;

// What of a recording can be a side; ids of the recording before this one begin with b.
function sidesOf(profile: Profile, before: boolean): Side[] {
  const { threads, processes, threads_joined } = profile.written;
  const mark = before ? 'b' : '', words = before ? 'before' : 'this recording';
  const sides: Side[] = [{ id: `${mark}all`, title: words, profile, process: -1, thread: -1 }];
  if (processes.length > 1)
    processes.forEach(({ pid, role }, process) => sides.push({ id: `${mark}p${process}`,
      title: `${before ? 'before: ' : ''}process ${role} ${pid}`, profile, process, thread: -1 }));
  if (threads.length > 1 && !threads_joined)
    threads.forEach(({ process, tid, name }, thread) => sides.push({ id: `${mark}t${thread}`,
      title: `${before ? 'before: ' : ''}thread ${name} ${tid}${processes.length > 1
        ? ` of ${processes[process].pid}` : ''}`, profile, process: -1, thread }));
  return sides;
}

// The two that are looked at first: the recordings; else the processes, else the threads, that
// have most wall time.
function usual(sides: Side[], profile: Profile, hasBefore: boolean): [Side, Side] | null {
  if (hasBefore) return [sides.find((side) => side.id === 'ball')!, sides[0]];
  const { threads, processes, metrics } = profile.written;
  const byProcess = processes.length > 1, times: number[] = [];
  eachCell(metrics[0], (thread, _node, _phase, value, idle) => {
    const index = byProcess ? threads[thread].process : thread;
    times[index] = (times[index] ?? 0) + value - idle;
  });
  const best = times.map((value, index) => [value, index]).filter(Boolean)
    .sort((a, b) => b[0] - a[0]).slice(0, 2)
    .map(([, index]) => sides.find(({ id }) => id === `${byProcess ? 'p' : 't'}${index}`));
  return best.length === 2 && best[0] && best[1] ? [best[0], best[1]] : null;
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
  const [limit, setLimit] = useState(ROWS);
  const cells = (row: Change) => {
    const side = row.after >= 0 ? sides[1] : sides[0];
    const index = row.after >= 0 ? row.after : row.before;
    const { name, where } = side.profile.functions[index];
    const label = <span class="function"><Name text={name} /> <span class="faint where">
      <Name text={where} /></span></span>;
    const only = row.after < 0 ? 'only on the left' : row.before < 0 ? 'only on the right' : '';
    return <>
      <td>{[verdict(row, judged), only].filter(Boolean).join(', ')}</td>
      <td class="wide">{side.profile === profile
        ? <a href="#" {...opens(() => go({ tab: 'function', func: index }))}>{label}</a>
        : label}</td>
    </>;
  };
  return <>
    <Scroll label="Changes"><table class="rows changes">
      <thead><tr><th scope="col" class="number">Self left</th><th scope="col" class="number">right</th>
        <th scope="col" class="number">change</th>
        <th scope="col" class="number">Total change</th>
        <th scope="col">Verdict</th><th scope="col">Function</th></tr></thead>
      <tbody>{rows.slice(0, limit).map((row) => <tr key={`${row.before}:${row.after}`}>
        <td class="number">{plain(row.self.before, scale)}</td>
        <td class="number">{plain(row.self.after, scale)}</td>
        <Changed value={row.self} scale={scale} /><Changed value={row.total} scale={scale} />
        {cells(row)}
      </tr>)}</tbody></table></Scroll>
    {rows.length > limit && <button type="button" onClick={() => setLimit(limit * 4)}>
      Show more of {rows.length}</button>}
  </>;
}

const metricOf = (side: Side, name: string): Metric =>
  side.profile.written.metrics.find((metric) => metric.name === name)!;

function Compared({ sides }: { sides: [Side, Side] }) {
  const { view, choice, metric } = usePage();
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
      {judged && <>; {sure === 0 ? 'no function differs by more than chance'
        : `${sure} of ${rows.length} functions differ by more than chance`}</>}.</p>
    {!judged && <p class="warn">{metric.name === 'wall'
      ? 'A side does not tell how many samples it is made of: changes are shown, and not judged.'
      : <>Changes of this metric are shown, and not judged: <code>cairn diff --metric{' '}
        {metric.name}</code> does.</>}</p>}
    <Rows rows={judged ? rows : rows.map(unjudged)} sides={sides} scale={scale} judged={judged} />
    <p class="faint">Change: how much the right has more (+) or less (&minus;) than the left,{' '}
      {scale === 'share' ? 'in points of a hundredth of each side\u2019s time' : 'in time'}. Intervals
      hold for all rows together in 95 of 100 comparisons; they are of the sampling alone: two runs
      of one program differ by more.</p>
  </>;
}

const unjudged = (row: Change): Change => ({
  ...row, self: { ...row.self, sure: false }, total: { ...row.total, sure: false },
});

export function Compare() {
  const { profile, before, view, go } = usePage();
  const sides = useMemo(() => [...sidesOf(profile, false), ...(before ? sidesOf(before, true) : [])],
    [profile, before]);
  const first = useMemo(() => usual(sides, profile, before !== null), [sides]);
  const left = sides.find((side) => side.id === view.left) ?? first?.[0];
  const right = sides.find((side) => side.id === view.right) ?? first?.[1];
  const chosen = useMemo(() => (left && right ? [left, right] as [Side, Side] : null),
    [left, right]);
  if (!chosen) return <p>One thread of one process: there are no two sides here.{' '}
    <code>cairn html AFTER --before BEFORE</code> puts another recording beside this one.</p>;
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
        <option value="share">shares of each side</option>
        <option value="time">times</option></select></label>
    </div>
    <Compared sides={chosen} />
  </Section>;
}
