// The flame graph on the screen. All that it shows is in the tree below it as well.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ORIGINS } from './data';
import { boxAt, draw, layOut, ROW, type Box, type Look, type Rows } from './flame';
import { Name, usePage } from './parts';
import { share, time } from './words';

const HEIGHT_MAX = 460;

function readLook(element: Element): Look {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return {
    fills: Object.fromEntries(ORIGINS.map((origin) => [origin, value(`--${origin}`)])),
    ink: value('--box-ink'), edge: value('--back'), mark: value('--ink'),
    font: '12px ui-monospace, "DejaVu Sans Mono", monospace',
  };
}

// The width of an element, as it changes.
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

// Changes when the colours do.
function useColours(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map(matchMedia
      .bind(window));
    const change = () => setTurn((old) => old + 1);
    for (const query of queries) query.addEventListener('change', change);
    return () => queries.forEach((query) => query.removeEventListener('change', change));
  }, []);
  return turn;
}

const neighbour = (rows: Rows, depth: number, index: number, key: string):
  [number, number] | null => {
  const box = rows[depth][index];
  if (key === 'ArrowLeft') return index > 0 ? [depth, index - 1] : null;
  if (key === 'ArrowRight') return index + 1 < rows[depth].length ? [depth, index + 1] : null;
  if (key === 'ArrowUp' && depth > 0)
    return [depth - 1, Math.max(0, boxAt(rows[depth - 1], box.x + 0.01))];
  const below = key === 'ArrowDown' ? boxAt(rows[depth + 1], box.x + 0.01) : -1;
  return below >= 0 ? [depth + 1, below] : null;
};

export function FlameGraph({ totals, found }: {
  totals: { self: Float64Array; total: Float64Array };
  found: ((func: number) => boolean) | null;
}) {
  const { profile, view, go, set } = usePage();
  const frame = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame), colours = useColours();
  const [at, setAt] = useState<[number, number] | null>(null);
  const [top, setTop] = useState(0);
  const { flame, functions } = profile;
  const rows = useMemo(() => (width > 0 ? layOut(flame, totals.total, view.zoom, width) : []),
    [flame, totals, view.zoom, width]);
  const place = at && rows[at[0]]?.[at[1]] ? at : null;
  const selected: Box | null = place ? rows[place[0]][place[1]] : null;
  const height = Math.min(HEIGHT_MAX, rows.length * ROW);

  useEffect(() => {
    const element = canvas.current!, surface = element.getContext('2d')!;
    const request = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      surface.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(surface, readLook(element),
        { rows, flame, functions, zoom: view.zoom, selected, found, top, width, height });
    });
    return () => cancelAnimationFrame(request);
  }, [rows, selected, found, top, width, height, colours]);

  const zoomTo = (box: Box | null) =>
    go({ zoom: !box || box.node === view.zoom ? 0 : box.node,
      func: box && box.node > 0 ? flame.func[box.node] : view.func });
  const find = (event: MouseEvent): [number, number] | null => {
    const edge = canvas.current!.getBoundingClientRect();
    const depth = Math.floor((event.clientY - edge.top + top) / ROW);
    const index = boxAt(rows[depth], event.clientX - edge.left);
    return index >= 0 ? [depth, index] : null;
  };
  const select = (next: [number, number] | null) => {
    setAt(next);
    if (!next) return;
    const y = next[0] * ROW, box = frame.current!;
    if (y < box.scrollTop) box.scrollTop = y;
    else if (y + ROW > box.scrollTop + height) box.scrollTop = y + ROW - height;
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith('Arrow')) {
      select(place ? neighbour(rows, ...place, event.key) ?? place : [flame.depth[view.zoom], 0]);
    } else if (event.key === 'Enter' && selected) {
      zoomTo(selected);
    } else if (event.key === 'Escape' && view.zoom > 0) {
      go({ zoom: 0 });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const tell = (box: Box) => {
    const func = flame.func[box.node], whole = totals.total[0];
    const text = func < 0 ? 'all' : `${functions[func].name} ${functions[func].where}`;
    const value = `${time(box.value)}, ${share(box.value, whole)}`;
    return box.thin > 0
      ? <>{box.thin} frames too thin to show, {value}, below <Name text={text} /></>
      : <>{value}, self {time(totals.self[box.node])}: <Name text={text} /></>;
  };
  const choose = (event: MouseEvent) => {
    const next = find(event);
    select(next);
    const box = next && rows[next[0]][next[1]];
    if (box && box.thin === 0) zoomTo(box);
    else if (box) set({ func: box.node > 0 ? flame.func[box.node] : view.func });
  };
  return <>
    <div class="flame" ref={frame} style={{ height: `${height}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <canvas ref={canvas} role="application" tabIndex={0} style={{ height: `${height}px` }}
        aria-label="Flame graph. Arrows move, Enter zooms, Escape shows all. The tree below says the
          same." aria-describedby="flame-detail"
        onMouseMove={(event) => setAt(find(event))} onClick={choose} onKeyDown={press} />
      <div style={{ height: `${rows.length * ROW - height}px` }} />
    </div>
    <p id="flame-detail" class="detail" aria-live="polite">
      {selected ? tell(selected) : <span class="faint">Point at a box, or focus the graph and use
        the arrow keys. Click or Enter zooms.</span>}
    </p>
  </>;
}
