// What was counted, on the screen: the table that cProfile prints, lines, instructions, regions.
import { useMemo } from 'preact/hooks';
import { callRows, hottestLines, isTold, leftOut, partly, placeOf, textOf, type CallRow,
  type Opcode } from './counts';
import { lastPart } from './data';
import { menuOf, slicesAt } from './menu';
import { Heads, Meter, Name, opens, Scroll, Section, useMore, useOrder, usePage }
  from './parts';
import { groupTotals, ROOT, sumUp, type Choice } from './sums';
import { count, plural, share, time } from './words';

const ROWS = 40;
const POOR = '~'; // as the terminal's report marks it

const callsText = ({ calls, primitive }: CallRow): string =>
  calls === primitive ? count(calls)
    : `${calls ? count(calls) + '/' : ''}${primitive < 0 ? '?' : count(primitive)}`;
const told = (value: number): string => value < 0 ? 'n/a' : time(value);
const per = (value: number, calls: number): string => calls > 0 ? time(Math.round(value / calls)) : 'n/a';

// The place of a function, as a link to it.
export function Place({ func }: { func: number }) {
  const { go } = usePage();
  return <a href="#" {...opens(() => go({ tab: 'function', func }))}>
    <PlaceName func={func} /></a>;
}

type Key = 'calls' | 'self' | 'each' | 'total' | 'every' | 'resumes' | 'suspended' | 'name';

const each = (row: CallRow) => row.calls ? row.self / row.calls : 0;
const every = (row: CallRow) => row.primitive > 0 ? row.total / row.primitive : 0;

// ncalls tottime percall cumtime percall filename:lineno(function): sorted by any of them.
export function CallTable({ found, most = ROWS, choice }: {
  found: ((func: number) => boolean) | null; most?: number; choice: Choice;
}) {
  const { profile, view } = usePage();
  const { key, down, head } = useOrder<Key>('self');
  const rows = useMemo(() => callRows(profile, choice), [profile, choice]);
  const poor = useMemo(() => new Set(profile.written.costly ?? []), [profile]);
  const order: Record<Exclude<Key, 'name'>, (row: CallRow) => number> = {
    calls: (row) => row.calls, self: (row) => row.self, each, total: (row) => row.total, every,
    resumes: (row) => row.resumes, suspended: (row) => row.suspended,
  };
  const sorted = useMemo(() => {
    const kept = found ? rows.filter((row) => found(row.func)) : rows;
    const places = key === 'name' ? new Map(kept.map((row) =>
      [row, placeOf(profile, row.func)])) : null;
    const held = (a: CallRow, b: CallRow) => places
      ? (places.get(a)! > places.get(b)! ? 1 : -1) : order[key as Exclude<Key, 'name'>](a)
        - order[key as Exclude<Key, 'name'>](b);
    return [...kept].sort((a, b) => (down ? -1 : 1) * held(a, b) || a.func - b.func);
  }, [rows, found, key, down]);
  const resumed = rows.some((row) => row.resumes > 0);
  const [shown, more] = useMore(sorted, most);
  const sum = (value: (row: CallRow) => number) => rows.reduce((all, row) => all + value(row), 0);
  const { cost_ns: cost, partial, notes } = profile.written;
  return <>
    <p class="faint" aria-live="polite">{count(sum((row) => row.calls)).replace(/^0$/, 'No')} calls counted in{' '}
      {time(sum((row) => row.self))}{cost !== undefined
        && <>; counting took about {time(cost)} of all that was counted</>}. {sorted.length} of{' '}
      {plural(rows.length, 'function')}{view.search ? <> hold <Name text={view.search} /></> : ''}
      {isTold(profile, choice) && rows.every((row) => row.primitive >= 0)
        && '. As the file has them; nothing here is inferred.'}</p>
    <Scroll label="Functions"><table class="rows functions calls-table">
      <thead><tr>{head('calls', 'ncalls')}{head('self', 'tottime')}{head('each', 'percall', 'number time')}
        {head('total', 'cumtime')}{head('every', 'percall', 'number time')}
        {resumed && head('resumes', 'resumes', 'number time')}
        {resumed && head('suspended', 'suspended', 'number time')}
        {head('name', 'filename:lineno(function)', '')}</tr></thead>
      <tbody>{shown.map((row) => <tr key={row.func} class={row.func === view.func ? 'at' : ''}
        {...menuOf({ func: row.func })}>
        <td class="number">{callsText(row)}</td>
        <td class="number">{time(row.self)}{poor.has(row.func) && ` ${POOR}`}</td>
        <td class="number faint time">{per(row.self, row.calls)}</td>
        <td class="number">{time(row.total)}</td>
        <td class="number faint time">{per(row.total, row.primitive)}</td>
        {resumed && <td class="number faint time">{row.resumes < 0 ? 'n/a' : count(row.resumes)}</td>}
        {resumed && <td class="number faint time">{told(row.suspended)}</td>}
        <td class="wide"><Place func={row.func} /></td>
      </tr>)}</tbody></table></Scroll>
    {shown.some((row) => poor.has(row.func)) && <p class="faint">{POOR}: {notes.poor}.</p>}
    {partial && <p class="warn">{notes.partly}</p>}
    {more}
  </>;
}

// Who called it, or whom it called, with the numbers of these calls alone.
export function CallEdges({ rows, none, label }: { rows: CallRow[]; none: string;
  label: string }) {
  const [shown, more] = useMore(rows, ROWS);
  const { go } = usePage();
  if (rows.length === 0) return <p class="faint">{none}</p>;
  return <><Scroll label={label}><table class="rows">
    <Heads of={['#ncalls', '#tottime', '#cumtime', 'Function']} />
    <tbody>{shown.map((row) => <tr key={row.func} {...menuOf({ func: row.func })}>
      <td class="number">{callsText(row)}</td><td class="number">{told(row.self)}</td>
      <td class="number">{told(row.total)}</td>
      <td class="wide">{row.func === ROOT ? '' : <a href="#"
        {...opens(() => go({ func: row.func }))}><PlaceName func={row.func} /></a>}</td>
    </tr>)}</tbody></table></Scroll>
    {more}</>;
}

function PlaceName({ func }: { func: number }) {
  const { profile } = usePage();
  return <Name text={placeOf(profile, func) + partly(profile, func)} />;
}

// The numbers of one function's calls, in words.
export function CallFacts({ func, choice }: { func: number; choice: Choice }) {
  const { profile } = usePage();
  const row = useMemo(() => callRows(profile, choice).find((each) => each.func === func),
    [profile, choice, func]);
  if (!row) return null;
  return <p>{row.calls < 1 && row.primitive < 0 ? profile.written.notes.uncounted
    : plural(row.calls, 'call')}{row.calls > 0 && row.primitive < row.calls
    && <>, {row.primitive < 0 ? '?' : count(row.primitive)} {profile.written.notes.outermost_calls}</>}:
    {' '}tottime{' '}
    <b>{time(row.self)}</b>, {per(row.self, row.calls)} a call; cumtime <b>{time(row.total)}</b>,{' '}
    {per(row.total, row.primitive)} a call{row.resumes > 0
      && <>; resumed {plural(row.resumes, 'time')}, suspended {time(row.suspended)}</>}
    {profile.written.costly?.includes(func) && <>. {profile.written.notes.poor}</>}.{partly(profile, func)} Of all of the time{choice.thread < 0 && choice.process < 0 && ', all threads'}.</p>;
}

// Lines and instructions are counted by process, and no more is known of them.
export function OfTheWhole({ what }: { what: string }) {
  const { profile, choice } = usePage(), filters = leftOut(profile, choice);
  const whose = choice.thread >= 0 ? 'all threads of its process'
    : choice.process >= 0 ? 'all threads of the chosen process' : 'all threads';
  return filters.length === 0 ? <p class="faint">{what} of the whole recording, {whose}.</p>
    : <p class="warn note">{what} of the whole recording, {whose}{profile.written.notes.without}
      {' '}({filters.join(', ')}).</p>;
}

// The time of lines by samples, of what is chosen.
function useSampledLines(): (func: number, line: number) => number {
  const { profile, choice } = usePage(), { written, count, func, line } = profile;
  return useMemo(() => {
    const numbers = new Map<string, number>(), groupOf = new Int32Array(count).fill(-1);
    for (const row of written.lines ?? [])
      if (row[4] === -2) numbers.set(`${row[0]}:${row[1]}`, 0);
    [...numbers.keys()].forEach((place, number) => numbers.set(place, number));
    if (numbers.size === 0) return () => 0;
    for (let n = 1; n < count; n++) groupOf[n] = numbers.get(`${func[n]}:${line[n]}`) ?? -1;
    const wall = { ...choice, metric: written.metrics[0] };
    const { total } = groupTotals(profile, sumUp(profile, wall).self, groupOf, numbers.size);
    return (own, at) => total[numbers.get(`${own}:${at}`)!];
  }, [profile, choice]);
}

// The lines that took longest, of all functions.
export function HotLines({ most = 10 }: { most?: number }) {
  const { profile, choice } = usePage(), sampled = useSampledLines(), { notes } = profile.written;
  const [lines, whole] = useMemo(() => {
    const sorted = hottestLines(profile, choice, sampled), times = new Map<number, number>();
    for (const { func, time } of sorted) times.set(func, (times.get(func) ?? 0) + time);
    return [sorted.slice(0, most), times];
  }, [profile, choice, sampled, most]);
  if (lines.length === 0) return null;
  // No clock was read at lines, and there are no samples.
  const timeless = lines.every((line) => !line.timed && line.time === 0);
  const clocked = lines.every((line) => line.timed);
  return <Section id="hot-lines"
    title={timeless ? 'Lines that ran most often' : 'Lines that took longest'}>
    <Scroll label="Lines"><table class="rows calls-table hot">
      <Heads of={['#Hits', '#Time', '~Per hit', '#% Time', '#Line', 'Function']} />
      <tbody>{lines.map((line) => <tr key={`${line.func}:${line.line}`}
        {...menuOf({ func: line.func, line: line.line })}>
        <td class="number">{count(line.hits)}</td>
        <td class="number">{timeless ? 'n/a' : time(line.time)}</td>
        <td class="number faint time">{timeless ? 'n/a' : per(line.time, line.hits)}</td>
        <td class="number">{timeless ? 'n/a' : share(line.time, whole.get(line.func)!)}</td>
        <td class="number">{line.line}</td>
        <td class="wide"><Place func={line.func} /></td>
      </tr>)}</tbody></table></Scroll>
    <p class="faint">{notes.percent} {!clocked && notes[timeless ? 'clockless' : 'hybrid']}</p>
    <LetGo func={-1} />
    <OfTheWhole what={clocked ? 'Hits and times are' : 'Hits are'} />
  </Section>;
}

// Lines or instructions of the function, or of some (-1), that were let go.
export function LetGo({ func }: { func: number }) {
  const { let_go: some, notes } = usePage().profile.written;
  return some && (func < 0 || some.includes(func)) ? <p class="warn">{func < 0
    ? `Lines or instructions of ${plural(some.length, 'function')}` : 'They'} {notes.let_go}</p> : null;
}

// Types of its values, or what it called.
function Given({ of: { given, count: all } }: { of: Opcode }) {
  const { profile } = usePage();
  const kinds = [...given].sort((a, b) => Number(a[0] < 0) - Number(b[0] < 0) || b[1] - a[1]);
  const looked = kinds.reduce((sum, [, hits]) => sum + hits, 0);
  return kinds.length > 0 && <span class="given"> {kinds.length > 1 ? 'polymorphic: ' : 'of '}
    {kinds.map(([what, hits], i) => <>{i > 0 && '; '}<bdi>{what < 0 ? 'others'
      : textOf(profile, what)}</bdi>{kinds.length > 1 && ` ${count(hits)}`}</>)}
    {kinds.length > 1 && looked < all && `, of ${count(looked)} looked at`}</span>;
}

export function Opcodes({ rows }: { rows: Opcode[] }) {
  const { profile, view } = usePage();
  const [shown, more] = useMore(rows, 200);
  const samples = rows.reduce((sum, row) => sum + row.samples, 0);
  const most = rows.reduce((largest, row) => Math.max(largest, row.count), 0);
  return <>
    <p class="faint">{count(rows.reduce((sum, row) => sum + row.count, 0))} instructions were
      executed in it{samples > 0 && <>, {plural(samples, 'sample')} met it itself</>}.</p>
    <Scroll label="Instructions"><table class="rows lines opcodes">
      <Heads of={[...samples > 0 ? ['#% time'] : [], '#Line', '#Executed', '~Offset', '~Stack',
        'Instruction']} />
      <tbody>{shown.map((row, i) => <tr key={i} class={row.count ? '' : 'cold'}
        {...menuOf({ func: view.func, line: row.line }, 0)}>
        {samples > 0 && <td class="number">{row.samples ? share(row.samples, samples) : ''}</td>}
        <td class="number">{row.line && row.line !== rows[i - 1]?.line ? row.line : ''}</td>
        <td class="number">{count(row.count)}</td>
        <td class="number faint time">{row.target && '» '}{row.offset}</td>
        <td class="number faint time">{row.stack ?? 'n/a'}</td>
        <td class="wide"><Meter part={row.count} whole={most} /><code><bdi>{row.text}</bdi>{row.form
          && <span class="faint"> <bdi>{row.form}</bdi></span>}<Given of={row} /></code></td>
      </tr>)}</tbody></table></Scroll>
    {more}
    <LetGo func={view.func} />
    <OfTheWhole what="These numbers are" />
    {!profile.written.source && <p class="faint">{profile.written.notes.source}</p>}
  </>;
}

const REGIONS = 12;

// What the program said that it was at.
// asyncio's: how long they ran and waited, and at which line most of it.
export function Tasks() {
  const { profile, view } = usePage(), { tasks, task_count, processes, notes } = profile.written;
  const wanted = view.search.toLowerCase(), text = (index: number) => textOf(profile, index);
  const [shown, more] = useMore((tasks ?? []).filter(([name, coroutine, process]) =>
    `${text(name)} ${text(coroutine)}`.toLowerCase().includes(wanted)
    && (view.process < 0 || process === view.process)), REGIONS);
  if (tasks === undefined) return null;
  return <Section id="tasks" title="asyncio tasks">
    {tasks === null ? <p class="faint">{notes.unread}</p>
      : <Scroll label="Tasks"><table class="rows">
        <Heads of={['#Running', '#Waiting', 'Task']} />
        <tbody>{shown.map(([name, coroutine, process, running, waiting, file, line, func], i) =>
          <tr key={i} {...menuOf({ func, line, tasks: [name, coroutine] }, 0)}>
            <td class="number">{time(running)}</td><td class="number">{time(waiting)}</td>
            <td class="wide"><Name text={[text(name), text(coroutine), processes.length > 1
              && process >= 0 && `of ${processes[process].pid}`].filter(Boolean).join(' ')} />
              {line > 0 && <span class="faint"> waits most at{' '}
                <Name text={`${lastPart(text(file))}:${line}`} /></span>}</td>
          </tr>)}</tbody></table></Scroll>}
    {more}
    <p class="faint">Of the whole recording, {task_count} in all.</p>
  </Section>;
}

export function Regions() {
  const { profile } = usePage(), { regions, marks, mark_count } = profile.written;
  const [shown, more] = useMore(regions ?? [], REGIONS);
  if (!regions?.length && !marks?.length) return null;
  const length = (row: number[], i: number) => row[1] > row[2] ? time(row[i]) : 'n/a';
  return <Section id="regions" title="Regions and marks of the program">
    {regions!.length > 0 && <Scroll label="Regions"><table class="rows">
      <Heads of={['#n', '#Total', '#p50', '~p90', '~p99', '#max', 'Region']} />
      <tbody>{shown.map((row) => <tr key={row[0]}
        {...menuOf({ region: row[0] }, 0)}>
        <td class="number">{count(row[1])}{row[2] > 0 && <span title="without a length"> *</span>}
        </td><td class="number">{time(row[3])}</td>
        <td class="number">{length(row, 5)}</td><td class="number faint time">{length(row, 6)}</td>
        <td class="number faint time">{length(row, 7)}</td><td class="number">{length(row, 8)}</td>
        <td class="wide"><Name text={textOf(profile, row[0])} /></td>
      </tr>)}</tbody></table></Scroll>}
    {more}
    {regions!.some((row) => row[2] > 0) && <p class="faint">*: some began or ended outside of what
      was recorded; they have no length.</p>}
    {marks!.length > 0 && <details><summary>{plural(mark_count!, 'mark')}{mark_count! > marks!.length
      && `, the first ${count(marks!.length)}`}</summary><Scroll label="Marks">
      <table class="rows"><Heads of={['#At', 'Mark']} /><tbody>{marks!.slice(0, 200).map(([name, thread, at, values], i) => <tr key={i}
        {...profile.written.threads[thread] && menuOf({ thread, ...slicesAt(profile, at, at) }, 0)}>
        <td class="number">{time(at)}</td><td class="wide"><Name
          text={`${textOf(profile, name)} ${textOf(profile, values)}`} /></td></tr>)}</tbody>
      </table></Scroll></details>}
    <p class="faint">Of the whole recording.</p>
  </Section>;
}
