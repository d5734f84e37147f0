// The calls of a timeline without a screen: each thread a lane, each call a box from when it began to
// when it was over, callees below their callers; and the regions that the program named, above.
import { ORIGINS, type Profile } from './data';
import { cut, type Look, type Surface } from './flame';
import { textOf } from './counts';

export const CALL_ROW = 16, BAND_ROW = 14;
const DEPTH_MAX = 40; // rows of one thread
const LANES_MAX = 8;
const GAP = 6;

export interface Piece {
  first: number; // moments of the recording, ns
  last: number;
  row: number; // of all rows of the chart
  func: number; // of a call; -1: a region
  node: number; // of the flame graph
  text: number; // of a region
}

export interface ChartLane { thread: number; bands: number; rows: number; top: number }

export interface Chart {
  pieces: Piece[];
  lanes: ChartLane[];
  height: number; // px
  first: number;
  last: number;
  threads: number; // that have calls or regions, drawn or not
}

// Where a row lies, from the top, and how high it is.
export function rowAt(lane: ChartLane, row: number): [number, number] {
  return row < lane.bands ? [lane.top + row * BAND_ROW, BAND_ROW]
    : [lane.top + lane.bands * BAND_ROW + (row - lane.bands) * CALL_ROW, CALL_ROW];
}

// Of some threads and stacks; `kept`: which of those that were seen, null for all.
export function chartOf(profile: Profile, threads: (thread: number) => boolean,
  kept: Uint8Array | null): Chart {
  const { timeline = [], bands = [] } = profile.written, { flame } = profile;
  const lanes = new Map<number, { calls: Piece[]; bands: Piece[] }>();
  const lane = (thread: number) => {
    const found = lanes.get(thread) ?? { calls: [], bands: [] };
    lanes.set(thread, found);
    return found;
  };
  for (let i = 0; i < timeline.length; i += 4) {
    const [thread, node, first, length] = timeline.slice(i, i + 4), box = flame.of[node];
    if (profile.folded?.[node] || !threads(thread) || flame.depth[box] > DEPTH_MAX
      || (kept && !kept[profile.seen.of[node]])) continue;
    lane(thread).calls.push({ first, last: first + length, row: flame.depth[box] - 1,
      func: profile.func[node], node: box, text: 0 });
  }
  for (const [text, thread, first, length] of bands)
    if (threads(thread))
      lane(thread).bands.push({ first, last: first + length, row: 0, func: -1, node: 0, text });
  return place([...lanes].sort(([a], [b]) => a - b));
}

// Regions within each other stand below each other; what begins one, in order of time.
function stack(bands: Piece[]): number {
  const ends: number[] = [];
  bands.sort((a, b) => a.first - b.first || b.last - a.last);
  for (const band of bands) {
    let row = ends.findIndex((end) => end <= band.first);
    if (row < 0) row = ends.length;
    ends[row] = band.last;
    band.row = row;
  }
  return ends.length;
}

function place(all: [number, { calls: Piece[]; bands: Piece[] }][]): Chart {
  const chart: Chart = { pieces: [], lanes: [], height: 0, first: Infinity, last: 0,
    threads: all.length };
  for (const [thread, { calls, bands }] of all.slice(0, LANES_MAX)) {
    const least = calls.reduce((row, call) => Math.min(row, call.row), Infinity);
    const most = calls.reduce((row, call) => Math.max(row, call.row), least - 1);
    const lane = { thread, bands: stack(bands), rows: 0, top: chart.height };
    lane.rows = lane.bands + (calls.length ? most - least + 1 : 0);
    for (const call of calls) call.row += lane.bands - least;
    chart.lanes.push(lane);
    chart.height = rowAt(lane, lane.rows)[0] + GAP;
    for (const piece of [...bands, ...calls]) {
      chart.pieces.push({ ...piece, row: (chart.lanes.length - 1) * 1000 + piece.row });
      chart.first = Math.min(chart.first, piece.first);
      chart.last = Math.max(chart.last, piece.last);
    }
  }
  return chart;
}

const laneOf = (piece: Piece): [number, number] => [Math.floor(piece.row / 1000), piece.row % 1000];
export const threadOf = (chart: Chart, piece: Piece): number => chart.lanes[laneOf(piece)[0]].thread;

// The piece drawn at a point; the shortest, where several are less than a pixel.
export function pieceAt(chart: Chart, span: [number, number], width: number, x: number, y: number):
  Piece | null {
  const scale = (span[1] - span[0]) / width, at = span[0] + x * scale;
  let found: Piece | null = null;
  for (const piece of chart.pieces) {
    const [lane, row] = laneOf(piece), [top, high] = rowAt(chart.lanes[lane], row);
    if (y < top || y >= top + high || at < piece.first || at > Math.max(piece.last,
      piece.first + scale)) continue;
    if (!found || piece.last - piece.first < found.last - found.first) found = piece;
  }
  return found;
}

export interface ChartScene {
  chart: Chart;
  profile: Profile;
  span: [number, number]; // what of the time is seen
  width: number;
  selected: Piece | null;
  found: ((func: number) => boolean) | null;
}

export function drawChart(surface: Surface, look: Look, scene: ChartScene): void {
  const { chart, profile, span: [from, to], width, selected, found } = scene;
  const scale = width / Math.max(1, to - from), ends = new Map<number, number>();
  surface.clearRect(0, 0, width, chart.height);
  surface.font = look.font;
  surface.textBaseline = 'middle';
  const letter = surface.measureText('nnnnnnnnnn').width / 10;
  for (const piece of chart.pieces) {
    if (piece.last < from || piece.first > to) continue;
    const x = Math.max(0, (piece.first - from) * scale);
    const end = Math.min(width, Math.max((piece.last - from) * scale, x + 1));
    // What ends within a pixel that is drawn is drawn.
    if (end <= (ends.get(piece.row) ?? -1) && piece !== selected) continue;
    ends.set(piece.row, Math.ceil(end));
    const [lane, row] = laneOf(piece), [y, high] = rowAt(chart.lanes[lane], row), region = piece.func < 0;
    surface.globalAlpha = found && (region || !found(piece.func)) ? 0.45 : 1;
    surface.fillStyle = region ? look.edge : look.fills[ORIGINS[profile.functions[piece.func].origin]];
    surface.fillRect(x, y, Math.max(1, end - x - (end - x > 3 ? 1 : 0)), high - 1);
    surface.globalAlpha = 1;
    if (region || piece === selected) {
      surface.strokeStyle = look.mark;
      surface.lineWidth = region && piece !== selected ? 1 : 2;
      surface.strokeRect(x + 0.5, y + 0.5, Math.max(1, end - x - 2), high - 2);
    }
    if (end - x < 30) continue;
    const words = region ? textOf(profile, piece.text) : profile.functions[piece.func].name;
    surface.fillStyle = region ? look.mark : look.ink;
    surface.fillText(cut(words, Math.floor((end - x - 8) / letter)), x + 4, y + high / 2);
  }
}
