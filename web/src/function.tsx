// Function: who calls it, whom it calls, its lines, when and in which threads it was.
import { useMemo } from 'preact/hooks';
import { STATES, type Func } from './data';
import { callEdges, countedLines, hasCalls, opcodesOf, type CountedLine } from './counts';
import { CallEdges, CallFacts, LetGo, OfTheWhole, Opcodes } from './counted';
import { menuOf } from './menu';
import { Bar } from './overview';
import { FunctionName, Heads, Meter, Name, opens, Scroll, Section, Times, usePage } from './parts';
import { functionRows, linesOf, neighbours, ROOT, stateTimes, sumUp, threadTimes, type Choice,
  type Line, type Row, type Sums } from './sums';
import { Timeline } from './timeline';
import { bound, count, share, time } from './words';

const SHOWN = 50;

function Edges({ rows, whole, none, label }: { rows: Row[]; whole: number; none: string;
  label: string }) {
  const { go } = usePage();
  if (rows.length === 0) return <p class="faint">{none}</p>;
  return <Scroll label={label}><table class="rows">
    <Heads of={['#Share', '~time', 'Function']} />
    <tbody>{rows.slice(0, SHOWN).map((row) => <tr key={row.func}
      {...row.func !== ROOT && menuOf({ func: row.func })}>
      <Times part={row.total} whole={whole} />
      <td class="wide">{row.func === ROOT ? <FunctionName func={ROOT} />
        : <a href="#" {...opens(() => go({ func: row.func }))}>
          <FunctionName func={row.func} /></a>}</td>
    </tr>)}</tbody></table>
    {rows.length > SHOWN && <p class="faint">and {rows.length - SHOWN} more, {time(rows.slice(SHOWN)
      .reduce((sum, row) => sum + row.total, 0))}</p>}
  </Scroll>;
}

// Its lines: what samples met on them, and where lines were counted, how often and how long.
function Lines({ func, lines, counted, whole }: { func: number; lines: Line[];
  counted: CountedLine[]; whole: number }) {
  const { profile } = usePage();
  const source = profile.written.source?.[func];
  const by = new Map(lines.map((line) => [line.line, line]));
  const hits = new Map(counted.map((line) => [line.line, line]));
  const numbers = [...new Set([...by.keys(), ...hits.keys()])].sort((a, b) => a - b);
  let shown: { line: number; text?: string[] }[] = numbers.map((line) => ({ line }));
  if (source) {
    const [first, ...texts] = source;
    shown = texts.map((text, i) => ({ line: first + i, text }));
    for (const line of numbers)
      if (line < first || line >= first + texts.length) shown.push({ line });
  }
  const long = counted.reduce((sum, line) => sum + line.time, 0), sampled = lines.length > 0;
  const parts = counted.some((line) => line.self !== null);
  const clocked = counted.some((line) => line.timed);
  const heat = (line: number): [number, number] => {
    const times = by.get(line), own = hits.get(line);
    return own?.timed ? [own.time, long] : [times?.total ?? 0, whole];
  };
  const most = Math.max(...shown.map(({ line }) => heat(line)[0]));
  const ofCounted = (line?: CountedLine) => <>
    <td class="number">{line ? count(line.hits) : ''}</td>
    {clocked && <><td class="number">{line ? time(line.time) : ''}</td>
      <td class="number faint time">{!line ? ''
        : line.hits ? time(Math.round(line.time / line.hits)) : 'n/a'}</td>
      <td class="number">{line ? share(line.time, long) : ''}</td></>}
    {parts && <td class="number faint time">{line ? line.self === null ? 'n/a' : time(line.self)
      : ''}</td>}
    {parts && <td class="number faint time">{line ? line.native === null ? 'n/a'
      : time(line.native) : ''}</td>}
  </>;
  return <Scroll label="Lines"><table class="rows lines">
    <Heads of={['#Line', ...counted.length ? ['#Hits'] : [],
      ...clocked ? ['#Time', '~Per Hit', '#% Time'] : [], ...parts ? ['~self', '~in C'] : [],
      ...!sampled ? [] : counted.length ? ['#Sampled self', '#total'] : ['#Self', '#Total'],
      source ? 'Source' : 'Share']} />
    <tbody>{shown.map(({ line, text }) => {
      const times = by.get(line), [part, all] = heat(line);
      return <tr key={line} class={part ? part === most ? 'hottest' : '' : 'cold'}
        {...menuOf({ func, line }, 0)}>
        <td class="number">{line || '?'}</td>
        {counted.length > 0 && ofCounted(hits.get(line))}
        {sampled && <><td class="number">{times ? share(times.self, whole) : ''}</td>
          <td class="number">{times ? share(times.total, whole) : ''}</td></>}
        <td class="wide">{part > 0 && <Meter part={part} whole={all} />}
          {text && <code><bdi>{text.map((part) =>
            <i class={part[0]}>{part.slice(1)}</i>)}</bdi></code>}</td>
      </tr>;
    })}</tbody></table></Scroll>;
}

function Facts({ func, row, base }: { func: Func; row: Row; base: number }) {
  const { profile } = usePage();
  return <p>
    {func.file && <><Name text={func.firstLine ? `${func.file}:${func.firstLine}` : func.file} />
      {'. '}</>}
    Self <b>{share(row.self, base)}</b> ({time(row.self)}), total <b>{share(row.total, base)}</b>
    {' '}({time(row.total)}{profile.written.recording.inferred && ', inferred'}) of {time(base)}; {profile.written.notes.gain} {bound(row.self, base)} as fast.
  </p>;
}

// What its threads did while it stood on their stacks, and which threads these were.
function Threads({ func, whole, choice }: { func: number; whole: number; choice: Choice }) {
  const { profile } = usePage(), { threads, processes, threads_joined } = profile.written;
  const own = useMemo(() => ({ ...choice, within: func }), [choice, func]);
  const states = useMemo(() => stateTimes(profile, own), [profile, own]);
  const times = useMemo(() => threadTimes(profile, own), [profile, own]);
  return <div class="columns">
    <Section id="function-states" title="Below it, by state, wall time">
      <Bar label="States" parts={STATES.map((name, i) =>
        ({ name, value: states[i], kind: `state-${name}` }))} />
    </Section>
    {!threads_joined && threads.length > 1 && <Section id="function-threads" title="Its threads">
      <Scroll label="Threads"><table class="rows"><Heads of={['#Share', '~time', 'Thread']} />
      <tbody>{times.slice(0, SHOWN).map(({ thread, time: value }) => <tr key={thread}
        {...menuOf({ thread }, 0)}>
        <Times part={value} whole={whole} />
        <td class="wide"><Name text={`${threads[thread].name} ${threads[thread].tid}${
          processes.length > 1 ? ` of ${processes[threads[thread].process].pid}` : ''}`} /></td>
      </tr>)}</tbody></table>
      {times.length > SHOWN && <p class="faint">and {times.length - SHOWN} more</p>}</Scroll>
    </Section>}
  </div>;
}

// Lines are met by samples alone: of a metric that knows none, wall time's.
function useSamples(): { choice: Choice; sums: Sums } {
  const { profile, choice, sums } = usePage(), counted = choice.metric.name === 'counted';
  const own = useMemo(() => ({ ...choice, metric: profile.written.metrics[0] }), [choice]);
  const wall = useMemo(() => counted ? sumUp(profile, own) : sums, [profile, own, sums, counted]);
  return counted ? { choice: own, sums: wall } : { choice, sums };
}

export function FunctionView() {
  const { profile, view, sums, choice, metric } = usePage(), { written } = profile;
  const rows = useMemo(() => functionRows(profile, sums), [profile, sums]);
  const top = rows.reduce((best, row) => (row.self > (best?.self ?? -1) ? row : best),
    undefined as Row | undefined);
  const chosen = view.func >= 0 ? view.func
    : top?.func ?? written.lines?.[0]?.[0] ?? written.opcodes?.[0]?.[0] ?? -1;
  const row = rows.find((each) => each.func === chosen), calls = hasCalls(profile, choice);
  const edges = useMemo(() => neighbours(profile, sums, chosen), [profile, sums, chosen]);
  const counted = useMemo(() => callEdges(profile, choice, chosen), [profile, choice, chosen]);
  const samples = useSamples();
  const lines = useMemo(() => linesOf(profile, samples.sums, chosen), [profile, samples.sums,
    chosen]);
  const whole = useMemo(() => functionRows(profile, samples.sums)
    .find((each) => each.func === chosen)?.total ?? 0, [profile, samples.sums, chosen]);
  const hits = useMemo(() => countedLines(profile, choice, chosen), [profile, choice, chosen]);
  const opcodes = useMemo(() => opcodesOf(profile, choice, chosen), [profile, choice,
    chosen]);
  if (chosen < 0) return <p>{profile.written.notes.nothing}</p>;
  const func = profile.functions[chosen];
  return <>
    <h2 class="title" {...menuOf({ func: chosen })}><Name text={func.name} /></h2>
    {row ? <Facts func={func} row={row} base={sums.base} />
      : <p class="warn">{written.notes.absent}</p>}
    {(profile.calls || calls) && <CallFacts func={chosen} choice={choice} />}
    <div class="columns">
      <Section id="callers" title="Called by">
        {calls ? <CallEdges rows={counted.callers} label="Called by" none="Nobody that was counted."
        /> : <Edges rows={edges.callers} whole={row?.total ?? 0} label="Called by"
          none="Nobody." />}
      </Section>
      <Section id="callees" title="Calls">
        {calls ? <CallEdges rows={counted.callees} label="Calls" none="Nothing that was counted." />
          : <Edges rows={edges.callees} whole={row?.total ?? 0} label="Calls"
            none="Nothing that was seen." />}
      </Section>
    </div>
    {row && whole > 0 && <Threads func={chosen} whole={metric.name === 'counted' ? whole : row.total}
      choice={samples.choice} />}
    {row && whole > 0 && <Timeline within={chosen} title="When it was there" />}
    {lines.length + hits.length > 0 && <Section id="lines" title="Its lines">
      <Lines func={chosen} lines={lines} counted={hits} whole={whole} />
      {metric.name === 'counted' && lines.length > 0 && <p class="faint">{written.notes.sampled}</p>}
      {hits.length > 0 && <LetGo func={chosen} />}
      {hits.length > 0 && (hits.some((line) => line.timed)
        ? <><p class="faint">{written.notes.line}</p>
          <OfTheWhole what={written.notes.clocked} /></>
        : <OfTheWhole what={written.notes.unclocked} />)}
      {!written.source && <p class="faint">{written.notes.source}</p>}
    </Section>}
    {opcodes.length > 0 && <Section id="opcodes" title="Its instructions">
      <Opcodes rows={opcodes} /></Section>}
  </>;
}
