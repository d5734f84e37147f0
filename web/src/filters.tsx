// The filters that all views share, and what is selected.
import { KINDS, moments, type Flags } from './data';
import { patternOf } from './menu';
import { Name, useCopy, usePage, type Page } from './parts';
import { START, type View } from './view';
import { exactly, literally, quoted, time } from './words';

const WORDS: Record<string, string> = {
  'wall': 'wall time', 'cpu': 'CPU time', 'gil': 'holding the GIL',
  'gil-wait': 'waiting for the GIL', 'runq': 'waiting for a CPU', 'blocked': 'blocked',
  'counted': 'counted calls',
};

function Chip({ kind, text, drop }: { kind: string; text: string; drop: () => void }) {
  return <li class="chip">{kind} <Name text={text} />
    <button type="button" class="plain" aria-label={`Undo ${kind}`} onClick={drop}>×</button></li>;
}

// As on the command line; numbers are moments.
export const flagsOf = (flags: Flags): string => Object.entries(flags).flatMap(([key, value]) =>
  (Array.isArray(value) ? value : [value]).map((one) => ` --${key}${one === true ? ''
    : ` ${quoted(typeof one === 'number' ? exactly(one) : String(one))}`}`)).join('');

const kindOf = ({ profile: { inside } }: Page, { region }: View): string | undefined =>
  KINDS[inside[region]?.[2]]?.toLowerCase();

// The same choice on the command line, of what the page was made of. When calls were, and in
// which regions, is not in their sums; when tasks were, neither.
export function commandOf(page: Page, view: View): string {
  const { profile } = page, kind = kindOf(page, view);
  const { threads, processes, slices, chosen } = profile.written, flags = { ...chosen };
  const add = (key: string, pattern: string) => {
    if (pattern) flags[key] = [...(flags[key] as string[] | undefined) ?? [], pattern];
  };
  if (view.metric !== 'wall') flags.metric = view.metric;
  if (view.process >= 0) {
    const { pid, role } = processes[view.process];
    flags.process = pid ? String(pid) : literally(role);
  }
  if (view.thread >= 0) flags.thread = String(threads[view.thread].tid || literally(threads[view.thread].name));
  const timed = view.metric !== 'counted';
  if (kind && timed) flags[kind] = literally(profile.inside[view.region][0]);
  add('focus', view.focus);
  add('ignore', view.hide);
  if (view.idle) flags.idle = true;
  if (view.mine) flags['only-my-code'] = true;
  if (view.from >= 0 && timed && kind !== 'task')
    [flags.from, flags.to] = moments(slices, view.from, view.to);
  return `cairn report${flagsOf(flags)}`;
}

function Selected() {
  const page = usePage(), { profile, view, go } = page;
  const [said, copy] = useCopy();
  if (view.func < 0) return null;
  const func = profile.functions[view.func];
  const exactly = patternOf(profile, view.func);
  return <div class="selected" role="group" aria-label="Selected function">
    <Name text={func.name} />
    <span class="buttons">
      <button type="button" onClick={() => go({ tab: 'function' })}>Open</button>
      <button type="button" onClick={() => go({ focus: exactly, zoom: 0 })}>Focus</button>
      <button type="button" onClick={() => go({ hide: exactly, zoom: 0 })}>Hide</button>
      <button type="button" onClick={() => copy(func.name)}>Copy</button>
      <button type="button" aria-haspopup="menu" aria-label="More to do with it"
        title="Focus, Filter, Drill, Copy (.)" onClick={(event) => event.currentTarget.dispatchEvent(
          new CustomEvent('cairn-menu', { bubbles: true, detail: { func: view.func } }))}>⋯</button>
    </span>
    <span class="faint" role="status">{said}</span>
  </div>;
}

export function Filters() {
  const page = usePage();
  const { profile, view, go, set } = page;
  const { metrics, threads, processes, recording } = profile.written;
  const choose = (change: (value: number) => object) => (event: Event) =>
    go(change(Number((event.currentTarget as HTMLSelectElement).value)));
  const sides = view.tab === 'compare'; // which has its own, of processes and threads
  const [said, copy] = useCopy();
  const command = commandOf(page, view);
  const filtered = command !== commandOf(page, { ...START, metric: profile.written.metric });
  const [from, to] = moments(profile.written.slices, view.from, view.to), kind = kindOf(page, view);
  return <div class="filters">
    <label>Metric <select value={view.metric} onChange={(event) =>
      go({ metric: event.currentTarget.value })}>
      {metrics.map((metric) => <option key={metric.name} value={metric.name}>
        {recording.each_ns && metric.name === 'wall' ? 'numbers, no time'
          : WORDS[metric.name] ?? metric.name}{metric.known ? '' : ' (n/a)'}</option>)}
    </select></label>
    {processes.length > 1 && !sides && <label>Process <select value={view.process}
      onChange={choose((process) => ({ process, thread: -1 }))}>
      <option value={-1}>all {processes.length}</option>
      {processes.map(({ pid, role }, i) => <option key={i} value={i}>{role} {pid}</option>)}
    </select></label>}
    {threads.length > 1 && !sides && !profile.written.threads_joined && <label>Thread <select
      value={view.thread}
      onChange={choose((thread) => ({ thread }))}>
      <option value={-1}>all</option>
      {threads.map(({ process, tid, name }, i) => view.process < 0 || process === view.process
        ? <option key={i} value={i}>{name} {tid}</option> : null)}
    </select></label>}
    {KINDS.map((label, of) => profile.inside.some(([, , one]) => one === of) && <label key={of}>
      {label} <select value={profile.inside[view.region]?.[2] === of ? view.region : -1}
        onChange={choose((region) => ({ region }))}>
        <option value={-1}>all</option>
        {profile.inside.map(([name, , one], i) =>
          one === of && <option key={i} value={i}>{name}</option>)}
      </select></label>)}
    <label>Search <input id="search" type="search" value={view.search} placeholder="a name"
      onInput={(event) => set({ search: event.currentTarget.value })} /></label>
    <label class="check"><input type="checkbox" checked={view.idle}
      onChange={(event) => go({ idle: event.currentTarget.checked })} /> Idle</label>
    <label class="check"><input type="checkbox" checked={view.mine}
      onChange={(event) => go({ mine: event.currentTarget.checked, zoom: 0 })} /> Only my code</label>
    <ul class="chips">
      {view.focus && <Chip kind="focus" text={view.focus} drop={() => go({ focus: '' })} />}
      {view.hide && <Chip kind="hide" text={view.hide} drop={() => go({ hide: '' })} />}
      {view.from >= 0 && !sides && <Chip kind="time" text={`${time(from)} to ${time(to)}`}
        drop={() => go({ from: -1, to: -1 })} />}
    </ul>
    {filtered && <div class="commands"><code class="command" title="The same on the command line">
      <bdi>{command}</bdi></code> <button type="button" class="plain"
      onClick={() => copy(command)}>
      Copy as command</button> <span role="status">{said}</span></div>}
    {view.metric === 'counted' && (view.from >= 0 || view.region >= 0) && <p class="warn note">
      {profile.written.notes.calls} {view.from >= 0 && 'time '}{kind} is left out of them.</p>}
    {view.from >= 0 && profile.cells.timeless && <p class="warn note">
      {profile.written.notes.untimed}</p>}
    {kind === 'task' && <p class="note">{profile.written.notes.task}</p>}
    <Selected />
  </div>;
}
