import { render, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Compare } from './compare';
import { loadProfile, readInside, visible, type Profile } from './data';
import { Explore } from './explore';
import { Filters } from './filters';
import { Following, FOLLOWS, useFocusKept, useFollow } from './follow';
import { FunctionView } from './function';
import { Help } from './help';
import { Menu, patternOf } from './menu';
import { onlyMine } from './mine';
import { Overview } from './overview';
import { usePart } from './part';
import { Name, PageContext } from './parts';
import { placeOf, viewAt, type Place } from './places';
import { sumUp, type Choice } from './sums';
import { readView, SHAPES, START, TABS, writeView, type Limits, type Tab, type View }
  from './view';
import { countBy } from './words';

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

// A frame made of text, as in a notebook: it has no address that could change.
const FRAMED = location.protocol === 'about:';

// The view and the address, each after the other's changes. Where the recording is read again and
// again, an entry of the history holds in words what its address has in numbers.
function useView(profile: Profile, limits: Limits, start: View) {
  const read = (): View => {
    const view = readView(FRAMED ? history.state ?? '' : location.hash, limits, start);
    return FOLLOWS && history.state ? viewAt(profile, history.state as Place, view) : view;
  };
  const [view, setView] = useState(read);
  const latest = useRef(view), shown = useRef(profile), reading = useRef(read);
  reading.current = read;
  if (shown.current === profile) {
    latest.current = view;
  } else {
    latest.current = viewAt(profile, placeOf(shown.current, latest.current), latest.current);
    shown.current = profile;
  }
  const current = latest.current;
  const write = (next: View, replace: boolean) => {
    const hash = writeView(next, start);
    if (FRAMED || FOLLOWS) {
      const state = FRAMED ? hash : placeOf(shown.current, next), address = FRAMED ? undefined : hash;
      if (replace) history.replaceState(state, '', address);
      else history.pushState(state, '', address);
      return;
    }
    if (hash === (location.hash || '#')) return;
    if (replace) location.replace(hash);
    else location.hash = hash;
  };
  useEffect(() => {
    const change = () => setView(reading.current());
    const event = FRAMED || FOLLOWS ? 'popstate' : 'hashchange';
    addEventListener(event, change);
    return () => removeEventListener(event, change);
  }, []);
  useEffect(() => {
    if (!FOLLOWS) return;
    setView(current);
    write(current, true);
  }, [profile]);
  const move = (change: Partial<View>, replace: boolean) => {
    const next = { ...latest.current, ...change };
    latest.current = next;
    setView(next);
    write(next, replace);
  };
  return {
    view: current,
    go: (change: Partial<View>) => move(change, false),
    set: (change: Partial<View>) => move(change, true),
  };
}

function App({ first, before: other }: { first: Profile; before: Profile | null }) {
  const { profile: all, follow, pause } = useFollow(first);
  const { written } = all;
  const start = useMemo(() => ({ ...START, metric: written.metric }), []);
  const limits: Limits = useMemo(() => ({
    metrics: written.metrics.map((metric) => metric.name), processes: written.processes.length,
    threads: written.threads.length, functions: all.functions.length,
    boxes: all.flame.count, slices: written.slices.count, regions: all.inside.length,
  }), [all]);
  const { view, go, set } = useView(all, limits, start);
  useFocusKept(all);
  const region = Math.min(view.region, all.inside.length - 1);
  const seen = (whole: Profile, region: number): Profile => {
    const inside = readInside(whole, region);
    return view.mine ? onlyMine(inside) : inside;
  };
  const profile = useMemo(() => seen(all, region), [all, region, view.mine]);
  // Beside what was done in a region stands what was done in one of that name, or nothing.
  const before = useMemo(() => {
    if (!other) return other;
    const same = region < 0 ? -1
      : other.inside.findIndex(([name, , kind]) =>
        name === all.inside[region][0] && kind === all.inside[region][2]);
    return region >= 0 && same < 0 ? null : seen(other, same);
  }, [other, all, region, view.mine]);
  const [help, setHelp] = useState(false);
  const [{ tab, metric, time }, waits, lacks, failed] = usePart(profile, view,
    profile.written.metrics.find((each) => each.name === view.metric)!, follow !== 'no');
  const choice: Choice = useMemo(() => ({
    metric, process: view.process, thread: view.thread, focus: view.focus, hide: view.hide,
    idle: view.idle, within: -1, programOnly: false, ...time,
  }), [profile, metric, view.process, view.thread, view.focus, view.hide, view.idle, time]);
  const sums = useMemo(() => sumUp(profile, choice), [profile, choice]);

  // With what is drawn, not behind it: the next key is for what stands there.
  useLayoutEffect(() => {
    const exactly = () => view.func < 0 ? '' : patternOf(profile, view.func);
    const keys: Record<string, () => void> = {
      '/': () => document.getElementById('search')!.focus(),
      'm': () => go({ metric: limits.metrics[(limits.metrics.indexOf(view.metric) + 1)
        % limits.metrics.length] }),
      'i': () => go({ idle: !view.idle }),
      'c': () => go({ mine: !view.mine, zoom: 0 }),
      'f': () => exactly() && go({ focus: exactly(), zoom: 0 }),
      'h': () => exactly() && go({ hide: exactly(), zoom: 0 }),
      'o': () => view.func >= 0 && go({ tab: 'function' }),
      't': () => go({ from: -1, to: -1 }),
      's': () => go({ shape: SHAPES[(SHAPES.indexOf(view.shape) + 1) % SHAPES.length] }),
      'x': () => go({ focus: '', hide: '', search: '', process: -1, thread: -1, from: -1, to: -1,
        region: -1, mine: false, zoom: 0 }),
      'Enter': () => {
        document.querySelector<HTMLElement>('#top ~ * a, #lines ~ * .hottest')?.[
          view.tab === 'function' ? 'focus' : 'click']();
      },
      '[': () => history.back(),
      ']': () => history.forward(),
      '?': () => setHelp(true),
    };
    TABS.forEach((tab, i) => { keys[i + 1] = () => go({ tab }); });
    const press = (event: KeyboardEvent) => {
      const within = event.target as HTMLElement;
      const writing = within.matches('input[type=search], input[type=range], select, dialog *');
      if (writing || event.altKey || event.ctrlKey || event.metaKey || !keys[event.key]) return;
      // What has the focus has its own.
      if (event.key === 'Enter' && within !== document.body && within.id !== 'panel') return;
      event.preventDefault();
      keys[event.key]();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });

  const Shown = VIEWS[tab];
  const program = visible(written.recording.program) || 'recording';
  const zoomed = view.zoom < profile.flame.count ? view : { ...view, zoom: 0 };
  const page = { profile, before, view: zoomed, metric, choice, sums, waits, go, set };
  return <PageContext.Provider value={page}>
    <header>
      <div class="headline">
        <h1><span class="faint">Cairn</span> <Name text={program} /></h1>
        <Following follow={follow} pause={pause} />
        <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => setHelp(true)}>?
        </button>
      </div>
      <Tabs tab={view.tab} go={(tab) => go({ tab })} />
      <Filters />
      {failed && <p class="warn note" role="alert">{profile.written.notes.failed}</p>}
    </header>
    <main>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={-1}
        aria-busy={waits} class={lacks ? 'late' : ''}>
        <Shown key={tab} />
      </div>
      <Menu />
    </main>
    <Help open={help} close={() => setHelp(false)} />
  </PageContext.Provider>;
}

const place = document.getElementById('page')!;
Promise.all([loadProfile('data'), loadProfile('before')]).then(
  ([profile, before]) => {
    countBy(profile!.written.recording.each_ns);
    render(<App first={profile!} before={before} />, place);
  },
  (error) => {
    place.textContent = `This page cannot be shown: ${String(error)}`;
  });
