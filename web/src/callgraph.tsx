// The call graph on the screen: moved and zoomed, by pointer and by keyboard, and taken along as
// SVG, PNG or DOT.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useColours, useWidth } from './drawing';
import { BOX_HIGH, BOXES_MAX, dotOf, drawGraph, graphOf, nameOf, pathOf, wordsIn, worth, type GraphLook,
  type Place } from './graph';
import { menuOf } from './menu';
import { usePage } from './parts';
import { count, plural, share, time } from './words';

const NODES = 0.005, CALLS_PART = 0.2; // gprof2dot's: calls from a fifth of what functions need
const HEIGHT = 560;
const ZOOM = 1.25, STEP = 60;

interface Window { x: number; y: number; width: number } // of the graph; the height follows

function readLook(): GraphLook {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return { back: value('--back'), ink: value('--ink'), faint: value('--faint'),
    line: value('--line'), cold: value('--raised'), hot: value('--hot') };
}

function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function CallGraph() {
  const { profile, sums, view, go, set } = usePage();
  const cutoff = view.cutoff / 1000 || NODES;
  const graph = useMemo(() => graphOf(profile, sums, cutoff, cutoff * CALLS_PART),
    [profile, sums, cutoff]);
  const colours = useColours(), look = useMemo(readLook, [colours]);
  const svg = useRef<SVGSVGElement>(null), held = useRef<[number, number] | null>(null);
  const frame = useRef<HTMLDivElement>(null), wide = Math.max(1, useWidth(frame));
  // All of it, not larger than it is; where that cannot be read the top of it, at half its size.
  const whole = (): Window => {
    const width = Math.max(wide, Math.min(graph.width, 2 * Math.max(wide, 600)));
    return { x: (graph.width - width) / 2, y: 0, width };
  };
  const [seen, setSeen] = useState<Window>(whole);
  useEffect(() => setSeen(whole()), [graph, wide]);
  const base = sums.base;
  const high = Math.min(HEIGHT, Math.max(160, graph.height));
  const scale = seen.width / wide;
  const zoom = (by: number, [atX, atY] = [0.5, 0.5]) => {
    const width = Math.max(200, Math.min(seen.width / by, graph.width * 4));
    const tall = high * scale, change = 1 - width / seen.width;
    setSeen({ width, x: seen.x + seen.width * change * atX, y: seen.y + tall * change * atY });
  };
  const shift = (x: number, y: number) =>
    setSeen({ ...seen, x: seen.x + x * scale, y: seen.y + y * scale });
  // What the keyboard came to is moved into sight.
  const show = (place: Place) => (event: FocusEvent) => {
    const within = (at: number, least: number, most: number) => Math.max(least, Math.min(at, most));
    if ((event.currentTarget as Element).matches(':focus-visible')) setSeen({ ...seen,
      x: within(seen.x, place.x + place.width / 2 - seen.width, place.x - place.width / 2),
      y: within(seen.y, place.y + BOX_HIGH - high * scale, place.y) });
  };
  const press = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowLeft: () => shift(-STEP, 0), ArrowRight: () => shift(STEP, 0),
      ArrowUp: () => shift(0, -STEP), ArrowDown: () => shift(0, STEP),
      '+': () => zoom(ZOOM), '-': () => zoom(1 / ZOOM), '0': () => setSeen(whole()),
    };
    const action = keys[event.key];
    if (!action || event.altKey || event.ctrlKey || event.metaKey) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page is scrolled
    event.preventDefault();
    const edge = svg.current!.getBoundingClientRect();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM,
      [(event.clientX - edge.left) / edge.width, (event.clientY - edge.top) / edge.height]);
  };
  const move = (event: PointerEvent) => {
    if (!held.current || !event.buttons) return;
    shift(held.current[0] - event.clientX, held.current[1] - event.clientY);
    held.current = [event.clientX, event.clientY];
  };
  const name = profile.written.recording.program.replace(/[^\w.-]+/g, '_') || 'calls';
  const savePng = () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [Math.ceil(graph.width), Math.ceil(graph.height)];
    drawGraph(canvas.getContext('2d')!, look, graph, profile, base);
    canvas.toBlob((blob) => blob && save(`${name}.png`, blob), 'image/png');
  };
  const saveSvg = () => {
    const copy = svg.current!.cloneNode(true) as SVGSVGElement;
    copy.setAttribute('viewBox', `0 0 ${graph.width} ${graph.height}`);
    copy.setAttribute('width', String(graph.width));
    copy.setAttribute('height', String(graph.height));
    save(`${name}.svg`, new Blob([new XMLSerializer().serializeToString(copy)],
      { type: 'image/svg+xml' }));
  };
  const box = (place: Place) => {
    return <g key={place.func} {...menuOf({ func: place.func })} role="button" tabindex={0}
      aria-label={nameOf(profile, place, base)} aria-pressed={place.func === view.func}
      onFocus={show(place)} onClick={() => set({ func: place.func })}
      onDblClick={() => go({ tab: 'function', func: place.func })}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        if (event.key === 'Enter' && place.func === view.func) go({ tab: 'function' });
        else set({ func: place.func });
      }}>
      <rect x={place.x - place.width / 2} y={place.y} width={place.width} height={BOX_HIGH} rx={6}
        fill={look.cold} stroke={place.func === view.func ? look.ink : look.line}
        stroke-width={place.func === view.func ? 2 : 1} />
      <rect x={place.x - place.width / 2} y={place.y} width={place.width} height={BOX_HIGH} rx={6}
        fill={look.hot} fill-opacity={worth(place.self, base) * 0.75} />
      {wordsIn(profile, place, base).map((text, i) => <>
        <text x={place.x} y={place.y + 15 + i * 13} fill={look.ink} font-size={i ? 10 : 12}
          font-family="ui-monospace, monospace" text-anchor="middle">{text}</text>
        {' ' /* parts what would be one word where the lines are read together */}</>)}
    </g>;
  };
  return <>
    <div class="filters"><span class="buttons">
      <button type="button" aria-label="Zoom in" onClick={() => zoom(ZOOM)}>+</button>
      <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / ZOOM)}>&minus;</button>
      <button type="button" onClick={() => setSeen(whole())}>All</button></span>
      <span class="buttons">
        <button type="button" onClick={saveSvg}>SVG</button>
        <button type="button" onClick={savePng}>PNG</button>
        <button type="button" onClick={() => save(`${name}.dot`,
          new Blob([dotOf(graph, profile, base)], { type: 'text/vnd.graphviz' }))}>DOT</button>
      </span></div>
    <div ref={frame}><svg ref={svg} class="calls" role="group" tabindex={0} xmlns="http://www.w3.org/2000/svg"
      aria-label={profile.written.notes.graph}
      viewBox={`${seen.x} ${seen.y} ${seen.width} ${high * scale}`}
      preserveAspectRatio="xMidYMin meet" style={{ height: `${high}px` }} onKeyDown={press}
      onWheel={wheel} onPointerMove={move}
      onPointerDown={(event) => { held.current = [event.clientX, event.clientY]; }}
      onPointerUp={() => { held.current = null; }}>
      {graph.lines.map((line) => <path key={`${line.caller}:${line.callee}`} d={pathOf(graph, line)}
        {...menuOf({ func: line.callee })}
        fill="none" stroke={look.faint} stroke-opacity={0.6}
        stroke-width={1 + 5 * line.total / base}><title>
          {`${profile.functions[line.caller].name} calls ${profile.functions[line.callee].name}: `
            + `${time(line.total)}, ${share(line.total, base)}`}</title></path>)}
      {graph.places.filter((place) => place.func >= 0).map(box)}
    </svg></div>
    <p class="detail faint">{profile.written.notes.red}{' '}
      {plural(graph.left.functions, 'function')} below the cutoff, {graph.left.more > 0
        && `${count(graph.left.more)} behind the first ${BOXES_MAX}, `}
      {plural(graph.left.calls, 'call')}.</p>
  </>;
}
