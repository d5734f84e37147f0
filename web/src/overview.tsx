// Overview: where the time went, in words, and how far the numbers can be trusted.
import { useMemo } from 'preact/hooks';
import { PHASES, PROGRAM, STATE_OF, STATES, type Metric } from './data';
import { CallTable, HotLines, Regions, Tasks } from './counted';
import { hasCalls, isTold } from './counts';
import { flagsOf } from './filters';
import { menuOf } from './menu';
import { FunctionName, Heads, opens, Scroll, Section, Times, usePage, type Page } from './parts';
import { functionRows, stateTimes, sumUp } from './sums';
import { bound, share, time } from './words';

const TOP = 10;

const isFiltered = ({ view }: Page): boolean =>
  view.process >= 0 || view.thread >= 0 || view.focus !== '' || view.hide !== ''
  || view.from >= 0 || view.region >= 0 || view.mine;

export interface Part { name: string; value: number; kind: string }

const stateMenu = (name: string) => {
  const metric = Object.keys(STATE_OF).find((key) => STATE_OF[key] === name);
  return metric && menuOf({ name, metric }, 0);
};

export function Bar({ parts, label }: { parts: Part[]; label: string }) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0);
  const shown = parts.filter((part) => part.value > 0);
  const words = shown.map((part) => `${part.name} ${share(part.value, whole)}`);
  return <div class="bar-block">
    <div class="bar" role="img" aria-label={`${label}: ${words.join(', ') || 'none'}`}>
      {shown.map((part) => <i key={part.name} class={`part ${part.kind}`}
        style={{ flexGrow: part.value / whole }} />)}
    </div>
    <ul class="legend">
      {shown.map((part) => <li key={part.name} {...stateMenu(part.name)}>
        <i class={`part ${part.kind}`} />
        {part.name} <b>{share(part.value, whole)}</b> <span class="faint">{time(part.value)}</span>
      </li>)}
    </ul>
  </div>;
}

function Top() {
  const page = usePage();
  const { profile, choice, go, sums } = page;
  const programOnly = sums.phases[PROGRAM] > 0;
  const [rows, base] = useMemo(() => {
    const chosen = programOnly ? sumUp(profile, { ...choice, programOnly }) : sums;
    const sorted = functionRows(profile, chosen)
      .sort((a, b) => b.self - a.self || b.total - a.total);
    return [sorted.filter((row) => row.self > 0).slice(0, TOP), chosen.base] as const;
  }, [profile, choice, sums, programOnly]);
  const why = isFiltered(page) ? [] : page.metric.no_table;
  const whole = programOnly ? 'program' : 'all';
  return <Section id="top" title={`Top functions: ${whole} ${time(base)}`}>
    {why.map((text) => <p key={text} class="warn">{text}</p>)}
    {rows.length > 0 && <Scroll label="Top functions"><table class="rows">
      <Heads of={['#Self', '~time', '#Total', '-At most', 'Function']} />
      <tbody>{rows.map((row) => <tr key={profile.names.func[row.func]}
        {...menuOf({ func: row.func })}>
        <Times part={row.self} whole={base} />
        <td class="number">{share(row.total, base)}</td>
        <td class="number bound">{bound(row.self, base)}</td>
        <td class="wide"><a href="#" {...opens(() => go({ tab: 'function', func: row.func }))}>
          <FunctionName func={row.func} /></a></td>
      </tr>)}</tbody></table></Scroll>}
    {rows.length > 0 && <p class="faint">{profile.written.notes.bound}</p>}
  </Section>;
}

// Of the program, once it runs: start-up and imports are in the table of Explore.
function TopCalls() {
  const { profile, choice, sums } = usePage();
  const program = isTold(profile, choice) ? 0 : sums.phases[PROGRAM]; // a table knows no phases
  const own = useMemo(() => ({ ...choice, programOnly: program > 0 }), [choice, program]);
  return <Section id="top" title={`Top functions: ${program > 0 ? `program ${time(program)}`
    : `all ${time(sums.base)}`}`}><CallTable found={null} most={TOP} choice={own} /></Section>;
}

const Facts = ({ of }: { of: Metric['trust'] }) => <dl class="facts">
  {of.map(([label, ...lines]) => <><dt>{label}</dt>
    <dd>{lines.map((text) => <div><bdi>{text}</bdi></div>)}</dd></>)}</dl>;

// What there may be beside sums: keys of the data.
const HELD = ['calls', 'table', 'lines', 'opcodes', 'tasks', 'regions', 'marks', 'timeline', 'source'] as const;

function Contents() {
  const { profile } = usePage(), { written } = profile, { recording } = written;
  const chosen = flagsOf(written.chosen);
  return <details><summary>What is in this file</summary>
    <ul>
      <li>Sums of {profile.count - 1} stacks by {written.threads_joined ? 'process (there are too '
        + 'many for threads)' : 'thread'}, phase and time; no samples
        {HELD.map((key) => `, ${written[key] ? '' : 'no '}${key}`)}.</li>
      <li>{written.notes[written.redacted ? 'redacted' : 'held']}</li>
      {chosen && <li>{written.notes.made}{chosen}</li>}
    </ul>
    <Facts of={[...recording.command ? [['command', recording.command]] : [],
      ...Object.entries(recording.environment), ['made by', `Cairn ${written.version}`]
    ] as Metric['trust']} />
  </details>;
}

export function Overview() {
  const page = usePage();
  const { metric, sums, view, profile } = page;
  const states = useMemo(() => stateTimes(profile, page.choice), [page.choice]);
  const phases = PHASES.map((name, i) => ({ name, value: sums.phases[i], kind: `phase${i}` }));
  return <>
    <Section id="verdict" title="Where the time went">
      {metric.head.map((text) => <p key={text} class="verdict"><bdi>{text}</bdi></p>)}
      {isFiltered(page) && <p class="warn">{profile.written.notes.about}</p>}
      {!metric.known && <p class="warn">{metric.name}: n/a, {metric.why}.</p>}
    </Section>
    <div class="columns">
      <Section id="phases" title="Phases"><Bar parts={phases} label="Phases" /></Section>
      <Section id="states" title="States of the threads, wall time">
        {states.some(Boolean) ? <Bar label="States" parts={STATES.map((name, i) =>
          ({ name, value: states[i], kind: `state-${name}` }))} />
          : <p class="faint">{profile.written.notes.unsampled}</p>}
      </Section>
    </div>
    {metric.beside.length > 0 && !isFiltered(page) && <Section id="findings" title="Waits and overlays">
      <Facts of={metric.beside} /></Section>}
    {sums.idle > 0 && <p>{time(sums.idle)} {profile.written.notes[view.idle ? 'idle' : 'apart']}</p>}
    {metric.known && (hasCalls(profile, page.choice) ? <TopCalls /> : <Top />)}
    <HotLines />
    <Tasks />
    <Regions />
    <Section id="quality" title="Data quality">
      <Facts of={metric.trust} />
    </Section>
    <Contents />
  </>;
}
