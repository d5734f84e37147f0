// The calls of a timeline on the screen, zoomed and moved by keys, wheel and buttons.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { chartOf, drawChart, pieceAt, threadOf, type Chart, type Piece } from './chart';
import { readLook } from './canvas';
import { placeOf, textOf } from './counts';
import { moments } from './data';
import { useDrawing, useWidth } from './drawing';
import { menuOf } from './menu';
import { Name, Section, usePage } from './parts';
import { keptBy } from './sums';
import { count, plural, time } from './words';

const ZOOM = 1.5, STEP = 0.15;

export function CallChart({ found }: { found: ((func: number) => boolean) | null }) {
  const { profile, view, choice } = usePage(), { threads, timeline, bands } = profile.written;
  const chart = useMemo(() => (timeline?.length || bands?.length) && chartOf(profile, (thread) =>
    (view.thread < 0 || thread === view.thread)
      && (view.process < 0 || threads[thread].process === view.process),
  keptBy(profile, choice)), [profile, view.thread, view.process, view.focus, view.hide]);
  return chart && chart.pieces.length ? <Calls chart={chart} found={found} /> : null;
}

function Calls({ chart, found }: { chart: Chart; found: ((func: number) => boolean) | null }) {
  const { profile, view, go, set } = usePage(), { written } = profile;
  const frame = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const whole = (): [number, number] => view.from < 0 ? [chart.first, chart.last]
    : moments(written.slices, view.from, view.to);
  const [span, setSpan] = useState<[number, number]>(whole);
  const [at, setAt] = useState<Piece | null>(null);
  useEffect(() => {
    setSpan(whole());
    setAt(null);
  }, [chart, view.from, view.to]);
  const selected = at && chart.pieces.includes(at) ? at : null;
  const seen = span[1] - span[0];

  useDrawing(canvas, width, chart.height, (surface, style) => drawChart(surface, readLook(style),
    { chart, profile, span, width, selected, found }), [chart, span, selected, found]);

  const zoom = (by: number, middle = 0.5) => {
    const next = Math.max(100, Math.min(seen / by, 2 * (chart.last - chart.first)));
    const first = span[0] + (seen - next) * middle;
    setSpan([first, first + next]);
  };
  const shift = (part: number) => setSpan([span[0] + seen * part, span[1] + seen * part]);
  const select = (piece: Piece | undefined) => {
    if (!piece) return;
    setAt(piece);
    const [first, last] = span;
    if (piece.last < first || piece.first > last)
      setSpan([piece.first - seen / 2, piece.first + seen / 2]);
  };
  // The next one of the row, or one that touches it in the row above or below.
  const neighbour = (key: string): Piece | undefined => {
    const { pieces } = chart;
    if (!selected) return pieces.find((piece) => piece.last >= span[0]);
    const row = pieces.filter((piece) => piece.row === selected.row);
    const index = row.indexOf(selected);
    if (key === 'ArrowLeft') return row[index - 1];
    if (key === 'ArrowRight') return row[index + 1];
    const to = selected.row + (key === 'ArrowUp' ? -1 : 1);
    return pieces.find((piece) => piece.row === to && piece.first < selected.last
      && piece.last > selected.first);
  };
  const open = (piece: Piece | null) => piece && piece.func >= 0
    && go({ tab: 'function', func: piece.func });
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const keys: Record<string, () => void> = {
      '+': () => zoom(ZOOM), '-': () => zoom(1 / ZOOM), '0': () => setSpan(whole()),
      '<': () => shift(-STEP), '>': () => shift(STEP), 'Enter': () => open(selected),
    };
    if (event.key.startsWith('Arrow')) select(neighbour(event.key));
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const find = (event: MouseEvent): Piece | null => {
    const edge = canvas.current!.getBoundingClientRect();
    return pieceAt(chart, span, width, event.clientX - edge.left, event.clientY - edge.top);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page is scrolled
    event.preventDefault();
    const edge = canvas.current!.getBoundingClientRect();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, (event.clientX - edge.left) / edge.width);
  };
  const drawn = (written.timeline?.length ?? 0) / 4, all = written.timeline_calls ?? 0;
  const menu = !selected ? {} : selected.func < 0 ? menuOf({ region: selected.text })
    : menuOf({ func: selected.func, node: selected.node });
  return <Section id="calls-in-time" title="Calls and regions, when they were">
    <div class="filters"><span class="buttons">
      <button type="button" aria-label="Zoom in to the time" onClick={() => zoom(ZOOM)}>+</button>
      <button type="button" aria-label="Zoom out of the time"
        onClick={() => zoom(1 / ZOOM)}>&minus;</button>
      <button type="button" aria-label="Earlier" onClick={() => shift(-STEP)}>‹</button>
      <button type="button" aria-label="Later" onClick={() => shift(STEP)}>›</button>
      <button type="button" onClick={() => setSpan(whole())}>All</button></span>
      <span class="faint">{time(span[0])} to {time(span[1])}{chart.lanes.map(({ thread }) =>
        ` · ${written.threads[thread].name} ${written.threads[thread].tid}`).join('')}
        {chart.threads > chart.lanes.length && ` and ${chart.threads - chart.lanes.length} more`}
      </span></div>
    <div ref={frame} class="flame high"><canvas ref={canvas} role="application" {...menu}
      tabIndex={0} class="call-chart" style={{ height: `${chart.height}px` }} aria-haspopup="menu"
      aria-label={written.notes.chart} aria-describedby="chart-detail" onKeyDown={press} onWheel={wheel}
      onMouseMove={(event) => setAt(find(event))} onDblClick={(event) => open(find(event))}
      onClick={(event) => {
        const piece = find(event);
        setAt(piece);
        if (piece && piece.func >= 0) set({ func: piece.func });
      }} /></div>
    <p id="chart-detail" class="detail" aria-live="polite">{selected
      ? <>{time(selected.last - selected.first)} at {time(selected.first)},{' '}
        {written.threads[threadOf(chart, selected)].name}: {selected.func < 0 && 'region '}
        <Name text={selected.func < 0 ? textOf(profile, selected.text)
          : placeOf(profile, selected.func)} /></>
      : <span class="faint">{written.notes.point}</span>}</p>
    {all > drawn && <p class="warn">The longest {count(drawn)} of {plural(all, 'call')}
      {' '}{written.notes.longest}</p>}
  </Section>;
}
