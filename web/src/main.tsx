import { render, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Compare } from './compare';
import { loadProfile, visible, type Profile } from './data';
import { Explore } from './explore';
import { Filters } from './filters';
import { FunctionView } from './function';
import { Help } from './help';
import { Overview } from './overview';
import { Name, PageContext } from './parts';
import { sumUp, type Choice } from './sums';
import { readView, START, TABS, writeView, type Limits, type Tab, type View } from './view';

const TITLES: Record<Tab, string> = {
  overview: 'Overview', explore: 'Explore', function: 'Function', compare: 'Compare',
};
const VIEWS: Record<Tab, () => JSX.Element> = {
  overview: Overview, explore: Explore, function: FunctionView, compare: Compare,
};

function Tabs({ tab, go }: { tab: Tab; go: (tab: Tab) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    go(next);
    list.current!.querySelector<HTMLElement>(`#tab-${next}`)!.focus();
    event.preventDefault();
  };
  return <div role="tablist" aria-label="Views" class="tabs" ref={list} onKeyDown={press}>
    {TABS.map((each) => <button key={each} type="button" role="tab" id={`tab-${each}`}
      aria-selected={each === tab} aria-controls="panel" tabIndex={each === tab ? 0 : -1}
      onClick={() => go(each)}>{TITLES[each]}</button>)}
  </div>;
}

// The view and the address, each after the other's changes.
function useView(limits: Limits, start: View) {
  const [view, setView] = useState(() => readView(location.hash, limits, start));
  const latest = useRef(view);
  latest.current = view;
  useEffect(() => {
    const change = () => setView(readView(location.hash, limits, start));
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  const move = (change: Partial<View>, replace: boolean) => {
    const next = { ...latest.current, ...change };
    const hash = writeView(next, start);
    latest.current = next;
    setView(next);
    if (hash === (location.hash || '#')) return;
    if (replace) location.replace(hash);
    else location.hash = hash;
  };
  return {
    view,
    go: (change: Partial<View>) => move(change, false),
    set: (change: Partial<View>) => move(change, true),
  };
}

function App({ profile, before }: { profile: Profile; before: Profile | null }) {
  const { written } = profile;
  const start = useMemo(() => ({ ...START, metric: written.metric }), []);
  const limits: Limits = useMemo(() => ({
    metrics: written.metrics.map((metric) => metric.name), processes: written.processes.length,
    threads: written.threads.length, functions: profile.functions.length,
    boxes: profile.flame.count,
  }), []);
  const { view, go, set } = useView(limits, start);
  const [help, setHelp] = useState(false);
  const metric = written.metrics.find((each) => each.name === view.metric)!;
  const choice: Choice = useMemo(() => ({
    metric, process: view.process, thread: view.thread, focus: view.focus, hide: view.hide,
    idle: view.idle, programOnly: false,
  }), [metric, view.process, view.thread, view.focus, view.hide, view.idle]);
  const sums = useMemo(() => sumUp(profile, choice), [profile, choice]);

  useEffect(() => {
    const exactly = () => view.func < 0 ? ''
      : `^${profile.functions[view.func].text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
    const keys: Record<string, () => void> = {
      '1': () => go({ tab: 'overview' }),
      '2': () => go({ tab: 'explore' }),
      '3': () => go({ tab: 'function' }),
      '4': () => go({ tab: 'compare' }),
      '/': () => document.getElementById('search')!.focus(),
      'm': () => go({ metric: limits.metrics[(limits.metrics.indexOf(view.metric) + 1)
        % limits.metrics.length] }),
      'i': () => go({ idle: !view.idle }),
      'f': () => exactly() && go({ focus: exactly(), zoom: 0 }),
      'h': () => exactly() && go({ hide: exactly(), zoom: 0 }),
      'o': () => view.func >= 0 && go({ tab: 'function' }),
      'x': () => go({ focus: '', hide: '', search: '', process: -1, thread: -1, zoom: 0 }),
      '[': () => history.back(),
      ']': () => history.forward(),
      '?': () => setHelp(true),
    };
    const press = (event: KeyboardEvent) => {
      const within = event.target as HTMLElement;
      const writing = within.matches('input[type=search], select, dialog *');
      if (writing || event.altKey || event.ctrlKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });

  const Shown = VIEWS[view.tab];
  const program = visible(written.recording.program) || 'recording';
  return <PageContext.Provider value={{ profile, before, view, metric, choice, sums, go, set }}>
    <header>
      <div class="headline">
        <h1><span class="faint">Cairn</span> <Name text={program} /></h1>
        <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => setHelp(true)}>?
        </button>
      </div>
      <Tabs tab={view.tab} go={(tab) => go({ tab })} />
      <Filters />
    </header>
    <main>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${view.tab}`} tabIndex={-1}>
        <Shown key={view.tab} />
      </div>
    </main>
    <Help open={help} close={() => setHelp(false)} />
  </PageContext.Provider>;
}

const place = document.getElementById('page')!;
Promise.all([loadProfile('data'), loadProfile('before')]).then(
  ([profile, before]) => render(<App profile={profile!} before={before} />, place),
  (error) => {
    place.textContent = `This page cannot be shown: ${String(error)}`;
  });
