// The timeline on the screen: what threads did when, and the part of the time that is chosen, by
// drawing over it or by its two ends below.
import { useMemo, useRef, useState } from 'preact/hooks';
import { moments, STATES } from './data';
import { useDrawing, useWidth, type Style } from './drawing';
import { drawLanes, LANE, lanesOf, statesIn, type LaneLook } from './lanes';
import { menuOf } from './menu';
import { Name, Section, usePage } from './parts';
import { time } from './words';

const FILLS: Record<(typeof STATES)[number], string> = {
  running: '--running', gil_wait: '--gil', runnable: '--runnable', blocked: '--blocked',
  stopped: '--stopped', unknown: '--none',
};

function readLook(value: Style): LaneLook {
  return { fills: STATES.map((state) => value(FILLS[state])), back: value('--back'),
    shade: value('--back'), mark: value('--ink') };
}

// Two ends of a part of 0..count, in any order; at least one slice.
const ordered = (a: number, b: number): [number, number] => [Math.min(a, b), Math.max(a, b) + 1];

function Lanes({ within, title }: { within: number; title: string }) {
  const { profile, view, choice, go } = usePage();
  const { slices } = profile.written, { count } = slices;
  const frame = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const lanes = useMemo(() => lanesOf(profile, { ...choice, within }),
    [profile, choice.process, choice.thread, choice.idle, within,
      ...profile.written.lanes ? ['', ''] : [choice.focus, choice.hide]]);
  const [drawn, setDrawn] = useState<[number, number] | null>(null); // while the pointer is down
  const [at, setAt] = useState<[number, number] | null>(null); // lane and slice pointed at
  const chosen: [number, number] | null = view.from < 0 ? null : [view.from, view.to];
  const part = drawn ? ordered(...drawn) : chosen, height = lanes.length * LANE;

  useDrawing(canvas, width, height, (surface, style) =>
    drawLanes(surface, readLook(style), { lanes, width, count, full_ns: slices.width_ns, part }),
  [lanes, part?.[0], part?.[1]]);

  const place = (event: MouseEvent): [number, number] => {
    const edge = canvas.current!.getBoundingClientRect();
    const slice = Math.floor((event.clientX - edge.left) / edge.width * count);
    const lane = Math.floor((event.clientY - edge.top) / LANE);
    return [Math.max(0, Math.min(lanes.length - 1, lane)), Math.max(0, Math.min(count - 1, slice))];
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return; // the menu's
    const [, slice] = place(event);
    canvas.current!.setPointerCapture(event.pointerId);
    setDrawn([slice, slice]);
  };
  const move = (event: PointerEvent) => {
    const next = place(event);
    setAt(next);
    if (drawn) setDrawn([drawn[0], next[1]]);
  };
  const up = (event: PointerEvent) => {
    if (!drawn) return;
    const [from, to] = ordered(drawn[0], place(event)[1]);
    setDrawn(null);
    // A click chooses nothing: all of the time again.
    if (to - from > 1) go({ from, to });
    else if (chosen) go({ from: -1, to: -1 });
  };
  const end = (key: 'from' | 'to', label: string) => {
    const value = chosen ? chosen[key === 'from' ? 0 : 1] : key === 'from' ? 0 : count;
    const change = (event: Event) => {
      const wanted = Number((event.currentTarget as HTMLInputElement).value);
      const from = key === 'from' ? Math.min(wanted, (chosen?.[1] ?? count) - 1) : chosen?.[0] ?? 0;
      const to = key === 'to' ? Math.max(wanted, from + 1) : chosen?.[1] ?? count;
      go(from === 0 && to === count ? { from: -1, to: -1 } : { from, to });
    };
    return <label class="end"><span>{label}</span><input type="range" min={0} max={count} step={1}
      value={value} aria-valuetext={time(moments(slices, value, value)[0])} onChange={change} />
    </label>;
  };
  const tell = () => {
    const [from, to] = part ?? (at ? [at[1], at[1] + 1] : [0, count]);
    const [begin, stop] = moments(slices, from, to);
    const lane = at && lanes[at[0]];
    const words = lane && statesIn(lane, from, to).map(([state, value]) =>
      `${state} ${time(value)}`).join(', ');
    return <>{time(begin)} to {time(stop)}{lane && <>: <Name text={lane.title} /> {words
      || 'not there'}</>}</>;
  };
  return <Section id="timeline" title={title}>
    <ul class="legend">{STATES.filter((_, i) => lanes.some((lane) => lane.states[i].some(Boolean)))
      .map((state) => <li key={state}><i class={`part state-${state}`} />{state}</li>)}</ul>
    <div class="lanes">
      <ol class="lane-names">{lanes.map((lane, i) => <li key={i} style={{ height: `${LANE}px` }}
        {...lane.thread >= 0 && menuOf({ thread: lane.thread }, 0)}>
        <Name text={lane.title} /></li>)}</ol>
      <div ref={frame} class="lane-strip">
        <canvas ref={canvas} role="img" style={{ height: `${height}px` }}
          aria-label={`What ${lanes.length === 1 ? 'one thread' : `${lanes.length} threads`} did over
            ${time(count * slices.width_ns)}. ${profile.written.notes.lanes}`}
          {...at && (lanes[at[0]]?.thread ?? -1) >= 0 && menuOf({ thread: lanes[at[0]].thread,
            from: at[1], to: at[1] + 1 })}
          onPointerDown={down} onPointerMove={move} onPointerUp={up}
          onPointerCancel={() => setDrawn(null)} onPointerLeave={() => setAt(null)} />
      </div>
    </div>
    {end('from', 'From')}{end('to', 'To')}
    {chosen && <div class="filters buttons">
      <button type="button" onClick={() => go({ from: -1, to: -1 })}>All time</button>
      {!profile.written.asked && <button type="button" onClick={() => go({ tab: 'compare',
        left: `x${chosen[0]}-${chosen[1]}`, right: `r${chosen[0]}-${chosen[1]}` })}>
        Compare with the rest</button>}</div>}
    {profile.written.lanes && (view.focus || view.hide) && <p class="faint">
      {profile.written.notes.drawn}</p>}
    <p class="detail">{at || chosen ? tell() : <span class="faint">
      {profile.written.notes.draw}</span>}</p>
  </Section>;
}

// Of all, or of the stacks that hold a function, whose times are not known where they have to be
// asked for, nor those of what has none.
export function Timeline({ within = -1, title = 'Timeline of states' }: { within?: number;
  title?: string }) {
  const { profile } = usePage();
  const { slices, asked, notes } = profile.written;
  return slices.count > 1 && !profile.cells.timeless && (within < 0 || !asked) ? <Lanes within={within} title={title} />
    : <p class="faint">{title}: {notes.moments}</p>;
}
