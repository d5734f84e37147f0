// Overview: where the time went, in words, and how far the numbers can be trusted.
import { useMemo } from 'preact/hooks';
import { PHASES, PROGRAM, STATES } from './data';
import { FunctionName, opens, Scroll, Section, Times, usePage, type Page } from './parts';
import { functionRows, sumUp } from './sums';
import { bound, share, time } from './words';

const TOP = 10;
const BY_STATE: Record<string, (typeof STATES)[number]> = {
  'cpu': 'running', 'gil-wait': 'gil_wait', 'runq': 'runnable', 'blocked': 'blocked',
};

const isFiltered = ({ view }: Page): boolean =>
  view.process >= 0 || view.thread >= 0 || view.focus !== '' || view.hide !== '';

// Wall time by state. Where all is chosen it is the report's; else the metrics are the states, and
// what they leave of wall time was stopped or is not known.
function stateTimes(page: Page): number[] {
  const { profile, choice } = page;
  const metrics = profile.written.metrics;
  if (!isFiltered(page)) return metrics[0].states;
  const times = STATES.map(() => 0);
  const sum = (index: number) => {
    const sums = sumUp(profile, { ...choice, metric: metrics[index], idle: true,
      programOnly: false });
    return sums.base;
  };
  let rest = sum(0);
  metrics.forEach((metric, index) => {
    const state = BY_STATE[metric.name];
    if (!state || !metric.known) return;
    const value = sum(index);
    times[STATES.indexOf(state)] = value;
    rest -= value;
  });
  times[STATES.indexOf('unknown')] = Math.max(0, rest);
  return times;
}

interface Part { name: string; value: number; kind: string }

function Bar({ parts, label }: { parts: Part[]; label: string }) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0);
  const shown = parts.filter((part) => part.value > 0);
  const words = shown.map((part) => `${part.name} ${share(part.value, whole)}`);
  return <div class="bar-block">
    <div class="bar" role="img" aria-label={`${label}: ${words.join(', ') || 'none'}`}>
      {shown.map((part) => <i key={part.name} class={`part ${part.kind}`}
        style={{ flexGrow: part.value / whole }} />)}
    </div>
    <ul class="legend">
      {shown.map((part) => <li key={part.name}><i class={`part ${part.kind}`} />
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
      <thead><tr><th scope="col" class="number">Self</th>
        <th scope="col" class="number time">time</th><th scope="col" class="number">Total</th>
        <th scope="col" class="number bound">At most</th><th scope="col">Function</th></tr></thead>
      <tbody>{rows.map((row) => <tr key={row.func}>
        <Times part={row.self} whole={base} />
        <td class="number">{share(row.total, base)}</td>
        <td class="number bound">{bound(row.self, base)}</td>
        <td class="wide"><a href="#" {...opens(() => go({ tab: 'function', func: row.func }))}>
          <FunctionName func={row.func} /></a></td>
      </tr>)}</tbody></table></Scroll>}
    {rows.length > 0 && <p class="faint">At most: how much faster the whole would be if the function
      itself cost nothing.</p>}
  </Section>;
}

function Contents() {
  const { profile } = usePage();
  const { written, functions, count } = profile;
  const environment = Object.entries(written.recording.environment);
  const chosen = Object.entries(written.chosen);
  const cells = written.metrics[0].cells[0].length;
  return <details><summary>What is in this file</summary>
    <ul>
      <li>Sums of {count - 1} stacks of {functions.length} functions, {cells} by{' '}
        {written.threads_joined ? 'process' : 'thread'} and phase, for each metric; no samples.</li>
      {written.threads_joined && <li>Threads are added up: there are too many stacks to keep each
        thread&rsquo;s.</li>}
      <li>{written.source ? 'Lines of source of functions that ran.' : 'No source.'}</li>
      <li>{written.redacted
        ? 'Redacted: no environment, no command line; home folder and user name are taken out, '
          + 'paths cut.'
        : 'Names and paths as they were recorded, the command line, and these facts.'}</li>
      {chosen.length > 0 && <li>Only what was chosen when it was made: {chosen.map(([key, value]) =>
        `--${key}${value === true ? '' : ` ${value}`}`).join(' ')}</li>}
    </ul>
    <dl class="facts">
      {written.recording.command && <><dt>command</dt>
        <dd><bdi>{written.recording.command}</bdi></dd></>}
      {environment.map(([key, value]) => <><dt>{key}</dt><dd><bdi>{value}</bdi></dd></>)}
      <dt>made by</dt><dd>Cairn {written.version}</dd>
    </dl>
  </details>;
}

export function Overview() {
  const page = usePage();
  const { metric, sums, view } = page;
  const states = useMemo(() => stateTimes(page), [page.choice]);
  const phases = PHASES.map((name, i) => ({ name, value: sums.phases[i], kind: `phase${i}` }));
  return <>
    <Section id="verdict" title="Where the time went">
      {metric.head.map((text) => <p key={text} class="verdict"><bdi>{text}</bdi></p>)}
      {isFiltered(page) && <p class="warn">This sentence is about the whole recording; what stands
        below, about what is chosen above.</p>}
      {!metric.known && <p class="warn">{metric.name}: n/a, {metric.why}.</p>}
    </Section>
    <div class="columns">
      <Section id="phases" title="Phases"><Bar parts={phases} label="Phases" /></Section>
      <Section id="states" title="States of the threads, wall time">
        <Bar label="States" parts={STATES.map((name, i) =>
          ({ name, value: states[i], kind: `state-${name}` }))} />
      </Section>
    </div>
    {sums.idle > 0 && <p>{time(sums.idle)} of waiting for work {view.idle ? 'is counted in.'
      : 'is set apart (Idle counts it in).'}</p>}
    {metric.known && <Top />}
    <Section id="quality" title="Data quality">
      {metric.trust.map((text) => <p key={text}>{text}</p>)}
    </Section>
    <Contents />
  </>;
}
