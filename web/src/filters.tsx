// The filters that all views share, and what is selected.
import { useState } from 'preact/hooks';
import { Name, usePage } from './parts';
import { quoted } from './words';

const WORDS: Record<string, string> = {
  'wall': 'wall time', 'cpu': 'CPU time', 'gil': 'holding the GIL',
  'gil-wait': 'waiting for the GIL', 'runq': 'waiting for a processor', 'blocked': 'blocked',
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function Chip({ kind, text, drop }: { kind: string; text: string; drop: () => void }) {
  return <li class="chip">{kind} <Name text={text} />
    <button type="button" class="plain" aria-label={`Undo ${kind}`} onClick={drop}>×</button></li>;
}

// The same choice on the command line.
function command(page: ReturnType<typeof usePage>): string {
  const { view, profile } = page, { threads, processes } = profile.written;
  const words = ['cairn report'];
  if (view.metric !== 'wall') words.push('--metric', view.metric);
  if (view.process >= 0) words.push('--process', String(processes[view.process].pid));
  if (view.thread >= 0) words.push('--thread', String(threads[view.thread].tid));
  if (view.focus) words.push('--focus', quoted(view.focus));
  if (view.hide) words.push('--ignore', quoted(view.hide));
  if (view.idle) words.push('--idle');
  return words.join(' ');
}

function Selected() {
  const { profile, view, go } = usePage();
  const [said, setSaid] = useState('');
  if (view.func < 0) return null;
  const func = profile.functions[view.func];
  const exactly = `^${escaped(func.text)}$`;
  const copy = () => navigator.clipboard.writeText(func.name)
    .then(() => setSaid('copied'), () => setSaid('the browser does not let this page copy'));
  return <div class="selected" role="group" aria-label="Selected function">
    <Name text={func.name} />
    <span class="buttons">
      <button type="button" onClick={() => go({ tab: 'function' })}>Open</button>
      <button type="button" onClick={() => go({ focus: exactly, zoom: 0 })}>Focus</button>
      <button type="button" onClick={() => go({ hide: exactly, zoom: 0 })}>Hide</button>
      <button type="button" onClick={copy}>Copy</button>
    </span>
    <span class="faint" role="status">{said}</span>
  </div>;
}

export function Filters() {
  const page = usePage();
  const { profile, view, go, set } = page;
  const { metrics, threads, processes } = profile.written;
  const choose = (change: (value: number) => object) => (event: Event) =>
    go(change(Number((event.currentTarget as HTMLSelectElement).value)));
  const sides = view.tab === 'compare'; // which has its own, of processes and threads
  const filtered = view.focus || view.hide || view.process >= 0 || view.thread >= 0;
  return <div class="filters">
    <label>Metric <select value={view.metric} onChange={(event) =>
      go({ metric: event.currentTarget.value })}>
      {metrics.map((metric) => <option key={metric.name} value={metric.name}>
        {WORDS[metric.name] ?? metric.name}{metric.known ? '' : ' (n/a)'}</option>)}
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
    <label>Search <input id="search" type="search" value={view.search} placeholder="a name"
      onInput={(event) => set({ search: event.currentTarget.value })} /></label>
    <label class="check"><input type="checkbox" checked={view.idle}
      onChange={(event) => go({ idle: event.currentTarget.checked })} /> Idle</label>
    <ul class="chips">
      {view.focus && <Chip kind="focus" text={view.focus} drop={() => go({ focus: '' })} />}
      {view.hide && <Chip kind="hide" text={view.hide} drop={() => go({ hide: '' })} />}
    </ul>
    {filtered && <code class="command" title="The same on the command line">
      <bdi>{command(page)}</bdi></code>}
    <Selected />
  </div>;
}
