// The flame graph on the screen. All that it shows is in the tree below it as well.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ORIGINS } from './data';
import { useDrawing, useWidth, type Style } from './drawing';
import { boxAt, draw, layOut, ROW, rowTop, type Box, type Look, type Rows, type Scene } from './flame';
import { menuOf } from './menu';
import { Name, usePage } from './parts';
import { drawRings, ringAt, ringRoom, ringsOf } from './sunburst';
import type { Totals } from './sums';
import { share, time } from './words';

const HEIGHT_MAX = 460;
const SUNBURST_MAX = 560; // across

export function readLook(value: Style): Look {
  return {
    fills: Object.fromEntries(ORIGINS.map((origin) => [origin, value(`--${origin}`)])),
    ink: value('--box-ink'), edge: value('--back'), mark: value('--ink'),
    font: '12px ui-monospace, "DejaVu Sans Mono", monospace',
  };
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

export function FlameGraph({ totals, zoom, found, changed }: {
  totals: Totals;
  zoom: number;
} & Pick<Scene, 'found' | 'changed'>) {
  const { profile, view, go, set } = usePage();
  const frame = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const [at, setAt] = useState<[number, number] | null>(null);
  const [top, setTop] = useState(0);
  const { flame, functions } = profile;
  const round = view.shape === 'sunburst', up = view.shape === 'flame';
  const size = Math.min(width, SUNBURST_MAX), first = round ? flame.depth[zoom] : 0;
  const rows = useMemo(() => {
    const room = round ? ringRoom(size) : Infinity;
    const depth = Math.min(view.depth || Infinity, room);
    return width > 0 ? layOut(flame, totals.total, zoom, round ? Math.PI * size : width,
      { depth: depth === Infinity ? 0 : depth, cutoff: view.cutoff / 1000 }) : [];
  }, [flame, totals, zoom, view.depth, view.cutoff, round, size, width]);
  const rings = ringsOf(rows, first, size);
  const cut = rows.at(-1)?.some((box) => !box.thin && totals.self[box.node] < box.value);
  // Of a recording that has grown the same box stays the one that is looked at.
  const shown = useRef(profile), last = useRef(-1);
  const grown = !changed && shown.current !== profile;
  const again = grown && at ? rows[at[0]]?.findIndex((box) =>
    !box.thin && profile.names.box[box.node] === last.current) ?? -1 : -1;
  const here: typeof at = at && grown ? (again < 0 ? null : [at[0], again]) : at;
  const place = here && rows[here[0]]?.[here[1]] ? here : null;
  const selected: Box | null = place ? rows[place[0]][place[1]] : null;
  const high = rows.length * ROW, height = round ? size : Math.min(HEIGHT_MAX, high);
  const wide = round ? size : width;

  useDrawing(canvas, wide, height, (surface, style) => {
    const scene = { rows, flame, functions, zoom, selected, found, changed, width: wide, height };
    if (round) drawRings(surface, readLook(style), scene, rings, place?.[0]);
    else draw(surface, readLook(style), { ...scene, up, top });
  }, [rows, selected, found, changed, top, round, up]);
  // A flame grows from the foot.
  useEffect(() => {
    if (!grown) frame.current!.scrollTop = up ? high - height : 0;
  }, [rows, up]);
  last.current = selected && !selected.thin ? profile.names.box[selected.node] : -1;
  useEffect(() => {
    if (changed) setAt(null);
    else if (grown) setAt(place);
    shown.current = profile;
  }, [profile]);

  const zoomTo = (box: Box | null) =>
    go({ zoom: !box || box.node === zoom ? 0 : box.node,
      func: box && box.node > 0 ? flame.func[box.node] : view.func });
  const find = (event: MouseEvent): [number, number] | null => {
    const edge = canvas.current!.getBoundingClientRect();
    if (round)
      return ringAt(rows, rings, event.clientX - edge.left - size / 2,
        event.clientY - edge.top - size / 2);
    const row = Math.floor((event.clientY - edge.top + top) / ROW);
    const depth = up ? rows.length - 1 - row : row;
    const index = boxAt(rows[depth], event.clientX - edge.left);
    return index >= 0 ? [depth, index] : null;
  };
  const select = (next: [number, number] | null) => {
    setAt(next);
    if (!next) return;
    const y = rowTop(rows, next[0], up), box = frame.current!;
    if (y < box.scrollTop) box.scrollTop = y;
    else if (y + ROW > box.scrollTop + height) box.scrollTop = y + ROW - height;
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith('Arrow')) {
      const key = !up ? event.key : event.key === 'ArrowUp' ? 'ArrowDown'
        : event.key === 'ArrowDown' ? 'ArrowUp' : event.key;
      const next = place && neighbour(rows, ...place, key);
      select(next && next[0] >= first ? next : place ?? [flame.depth[zoom], 0]);
    } else if (event.key === 'Enter' && selected) {
      zoomTo(selected);
    } else if (event.key === 'Escape' && zoom > 0) {
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
      ? <>{box.thin} frames too thin to show, {!changed && `${value}, `}below <Name text={text} /></>
      : changed ? <>{changed(box.node).words}: <Name text={text} /></>
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
    <div class={round ? 'flame round' : 'flame'} ref={frame} style={{ height: `${height}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <canvas ref={canvas} role="application"
        style={{ height: `${height}px`, width: `${wide}px` }}
        aria-label={profile.written.notes[changed ? 'changes' : 'tree']}
        aria-describedby="flame-detail" {...selected && selected.node > 0 && menuOf(changed
          ? changed(selected.node).target
          : { func: flame.func[selected.node], node: selected.node })} tabIndex={0} aria-haspopup="menu"
        onMouseMove={(event) => setAt(find(event))} onClick={choose} onKeyDown={press} />
      {!round && <div style={{ height: `${high - height}px` }} />}
    </div>
    <p id="flame-detail" class="detail" aria-live="polite">
      {selected ? tell(selected) : <span class="faint">{cut && `${profile.written.notes.deeper} `}
        {profile.written.notes.arrows}</span>}
    </p>
  </>;
}
