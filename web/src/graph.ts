// The call graph without a screen: which functions and calls are in it, and where they stand, in
// layers, callers above (Sugiyama, Tagawa and Toda 1981; crossings by barycentres).
import { type Profile } from './data';
import { cut, type Surface } from './flame';
import { functionRows, groupTotals, type Sums } from './sums';
import { share } from './words';

export const BOX_HIGH = 46;
const BOX_MIN = 136, BOX_MAX = 240, LETTER = 7, PAD = 16;
const GAP_X = 24, GAP_Y = 44;
const SWEEPS = 12;
export const BOXES_MAX = 150; // more nobody reads

export interface Call {
  caller: number; // functions
  callee: number;
  total: number; // time below the caller's calls of it, on a stack counted once
}

export interface Place {
  func: number; // -1: a bend of a long call
  layer: number;
  x: number; // middle
  y: number; // top
  width: number;
  self: number;
  total: number;
  again: number; // time in which it stood above itself: recursion
}

export interface Line extends Call {
  by: number[]; // places, from the caller to the callee
}

export interface Graph {
  places: Place[];
  lines: Line[];
  width: number;
  height: number;
  left: { functions: number; more: number; calls: number }; // out: below the cutoff, and of too many
}

export function callsOf(profile: Profile, sums: Sums): Call[] {
  const numbers = new Map<number, number>(), calls: Call[] = [];
  const groupOf = new Int32Array(profile.count).fill(-1);
  for (let n = 1; n < profile.count; n++) {
    const caller = profile.func[profile.parent[n]], callee = profile.func[n];
    if (caller < 0) continue;
    const key = caller * profile.functions.length + callee;
    let id = numbers.get(key);
    if (id === undefined) {
      numbers.set(key, id = calls.length);
      calls.push({ caller, callee, total: 0 });
    }
    groupOf[n] = id;
  }
  const { total } = groupTotals(profile, sums.self, groupOf, calls.length);
  calls.forEach((call, i) => { call.total = total[i]; });
  return calls.filter((call) => call.total > 0);
}

// Calls that lead back to who is being gone through are turned round for the layers.
function turned(count: number, calls: [number, number][]): Set<number> {
  const below: number[][] = Array.from({ length: count }, () => []), back = new Set<number>();
  calls.forEach(([caller], i) => below[caller].push(i));
  const state = new Uint8Array(count); // 1: being gone through, 2: done
  for (let start = 0; start < count; start++) {
    if (state[start]) continue;
    const way: [number, number][] = [[start, 0]];
    state[start] = 1;
    while (way.length) {
      const top = way[way.length - 1], [node, next] = top;
      if (next === below[node].length) {
        state[node] = 2;
        way.pop();
        continue;
      }
      top[1]++;
      const call = below[node][next], callee = calls[call][1];
      if (state[callee] === 1) back.add(call);
      else if (!state[callee]) {
        state[callee] = 1;
        way.push([callee, 0]);
      }
    }
  }
  return back;
}

// The length of the longest way to each, along calls that make no circle.
function layersOf(count: number, calls: [number, number][]): Int32Array {
  const layers = new Int32Array(count), waiting = new Int32Array(count);
  const below: number[][] = Array.from({ length: count }, () => []);
  for (const [upper, lower] of calls) {
    below[upper].push(lower);
    waiting[lower]++;
  }
  const ready = [...layers.keys()].filter((node) => waiting[node] === 0);
  while (ready.length) {
    const node = ready.pop()!;
    for (const lower of below[node]) {
      layers[lower] = Math.max(layers[lower], layers[node] + 1);
      if (--waiting[lower] === 0) ready.push(lower);
    }
  }
  return layers;
}

// Neighbours in one layer keep their distance; each is as near to where it wants to be as those
// before it allow, from both sides, and the middle of the two is taken.
function spread(places: Place[], wanted: number[]): void {
  const half = (a: Place, b: Place) => (a.width + b.width) / 2 + GAP_X;
  const right = wanted.slice(), left = wanted.slice();
  for (let i = 1; i < places.length; i++)
    right[i] = Math.max(right[i], right[i - 1] + half(places[i - 1], places[i]));
  for (let i = places.length - 1; i-- > 0;)
    left[i] = Math.min(left[i], left[i + 1] - half(places[i], places[i + 1]));
  places.forEach((place, i) => { place.x = (right[i] + left[i]) / 2; });
}

function arrange(places: Place[], near: [number[], number[]][], depth: number): void {
  const layers: number[][] = Array.from({ length: depth }, () => []);
  places.forEach((place, i) => layers[place.layer].push(i));
  const mean = (list: number[], value: (i: number) => number, otherwise: number) =>
    list.length ? list.reduce((sum, i) => sum + value(i), 0) / list.length : otherwise;
  const rank = new Float64Array(places.length);
  for (const layer of layers) layer.forEach((i, at) => { rank[i] = at; });
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const centre = new Map(layer.map((i) =>
        [i, mean(near[i][down ? 0 : 1], (other) => rank[other], rank[i])]));
      layer.sort((a, b) => centre.get(a)! - centre.get(b)! || rank[a] - rank[b]);
      layer.forEach((i, at) => { rank[i] = at; });
    }
  }
  for (const layer of layers) spread(layer.map((i) => places[i]), layer.map(() => 0));
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const layer of sweep % 2 ? [...layers].reverse() : layers)
      spread(layer.map((i) => places[i]), layer.map((i) =>
        mean([...near[i][0], ...near[i][1]], (other) => places[other].x, places[i].x)));
}

export function graphOf(profile: Profile, sums: Sums, nodeCutoff: number, edgeCutoff: number): Graph {
  const rows = functionRows(profile, sums), all = callsOf(profile, sums);
  const large = rows.filter((row) => row.total >= nodeCutoff * sums.base)
    .sort((a, b) => b.total - a.total || a.func - b.func), kept = large.slice(0, BOXES_MAX);
  const at = new Map(kept.map((row, i) => [row.func, i]));
  const calls = all.filter((call) => call.total >= edgeCutoff * sums.base && at.has(call.caller)
    && at.has(call.callee));
  const others = calls.filter((call) => call.caller !== call.callee);
  const ends = others.map(({ caller, callee }): [number, number] =>
    [at.get(caller)!, at.get(callee)!]);
  const back = turned(kept.length, ends);
  const upright = ends.map(([a, b], i): [number, number] => (back.has(i) ? [b, a] : [a, b]));
  const layers = layersOf(kept.length, upright);
  const places: Place[] = kept.map((row, i) => {
    const { name, where } = profile.functions[row.func];
    const letters = Math.max(name.length, where.length, 12);
    const again = calls.find((call) => call.caller === row.func && call.callee === row.func);
    return { func: row.func, layer: layers[i], x: 0, y: 0, self: row.self, total: row.total,
      width: Math.min(BOX_MAX, Math.max(BOX_MIN, letters * LETTER + PAD)),
      again: again?.total ?? 0 };
  });
  const near: [number[], number[]][] = places.map(() => [[], []]);
  const lines = others.map((call, i): Line => {
    const [upper, lower] = upright[i], by = [upper];
    for (let layer = layers[upper] + 1; layer < layers[lower]; layer++) {
      by.push(places.length);
      places.push({ func: -1, layer, x: 0, y: 0, width: 4, self: 0, total: 0, again: 0 });
      near.push([[], []]);
    }
    by.push(lower);
    for (let step = 1; step < by.length; step++) {
      near[by[step]][0].push(by[step - 1]);
      near[by[step - 1]][1].push(by[step]);
    }
    return { ...call, by: back.has(i) ? by.reverse() : by };
  });
  arrange(places, near, Math.max(0, ...layers) + 1);
  const least = Math.min(0, ...places.map((place) => place.x - place.width / 2));
  for (const place of places) {
    place.x += PAD - least;
    place.y = PAD + place.layer * (BOX_HIGH + GAP_Y);
  }
  return { places, lines,
    width: Math.max(0, ...places.map((place) => place.x + place.width / 2)) + PAD,
    height: Math.max(0, ...places.map((place) => place.y)) + BOX_HIGH + PAD,
    left: { functions: rows.length - large.length, more: large.length - kept.length,
      calls: all.length - calls.length } };
}

// A line's points: out of the caller's foot, into the callee's head; a call back up leaves at the
// head and comes in at the foot.
export function pointsOf(graph: Graph, line: Line): [number, number][] {
  const places = line.by.map((i) => graph.places[i]);
  const down = places[0].layer < places[places.length - 1].layer;
  return places.map((place, i) => {
    const first = i === 0, last = i === places.length - 1;
    const y = first ? (down ? BOX_HIGH : 0) : last ? (down ? 0 : BOX_HIGH) : BOX_HIGH / 2;
    return [place.x, place.y + y];
  });
}

// The line as a path of SVG: through its bends in curves, straight down at both ends.
export function curvesOf(graph: Graph, line: Line): number[][] {
  const points = pointsOf(graph, line), curves: number[][] = [];
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1], [x, y] = points[i], middle = (y0 + y) / 2;
    curves.push([x0, y0, x0, middle, x, middle, x, y]);
  }
  return curves;
}

export const pathOf = (graph: Graph, line: Line): string =>
  curvesOf(graph, line).map(([x0, y0, ...rest], i) =>
    `${i ? '' : `M${x0.toFixed(1)} ${y0.toFixed(1)}`}C${rest.map((v) => v.toFixed(1)).join(' ')}`)
    .join('');

export interface GraphLook {
  back: string;
  ink: string;
  faint: string;
  line: string;
  cold: string;
  hot: string;
}

// What stands in a box, by line.
export function wordsIn(profile: Profile, place: Place, base: number): [string, string, string] {
  const { name, where } = profile.functions[place.func];
  const letters = Math.floor((place.width - 12) / 6.6);
  return [cut(name, letters), cut(where, letters), `self ${share(place.self, base)} of ${
    share(place.total, base)}${place.again > 0 ? ' \u21ba' : ''}`];
}

// What a box is called: what stands in it, so that who says that is understood, and all of the name.
export function nameOf(profile: Profile, place: Place, base: number): string {
  const { name, where } = profile.functions[place.func];
  const [first, second, times] = wordsIn(profile, place, base), whole = `${name} ${where}, ${times}`;
  return first === name && second === where ? whole : `${whole} (${first} ${second} ${times})`;
}

export function drawGraph(surface: Surface, look: GraphLook, graph: Graph, profile: Profile,
  base: number): void {
  surface.fillStyle = look.back;
  surface.fillRect(0, 0, graph.width, graph.height);
  surface.strokeStyle = look.faint;
  for (const line of graph.lines) {
    surface.lineWidth = 1 + 5 * line.total / base;
    surface.globalAlpha = 0.6;
    surface.beginPath();
    for (const [x0, y0, x1, y1, x2, y2, x, y] of curvesOf(graph, line)) {
      surface.moveTo(x0, y0);
      surface.bezierCurveTo(x1, y1, x2, y2, x, y);
    }
    surface.stroke();
  }
  surface.textBaseline = 'alphabetic';
  for (const place of graph.places) {
    if (place.func < 0) continue;
    const left = place.x - place.width / 2;
    surface.globalAlpha = 1;
    surface.fillStyle = look.cold;
    surface.fillRect(left, place.y, place.width, BOX_HIGH);
    surface.globalAlpha = worth(place.self, base) * 0.75;
    surface.fillStyle = look.hot;
    surface.fillRect(left, place.y, place.width, BOX_HIGH);
    surface.globalAlpha = 1;
    surface.strokeStyle = look.line;
    surface.lineWidth = 1;
    surface.strokeRect(left, place.y, place.width, BOX_HIGH);
    surface.fillStyle = look.ink;
    wordsIn(profile, place, base).forEach((text, i) => {
      surface.font = `${i ? 10 : 12}px ui-monospace, monospace`;
      surface.fillText(text, place.x - surface.measureText(text).width / 2, place.y + 15 + i * 13);
    });
  }
}

// How much is worth to be made faster there: 0..1, by what the whole would gain at most.
export const worth = (self: number, base: number): number =>
  base ? Math.min(1, self / base / 0.5) : 0;

// Graphviz' text of the same graph.
export function dotOf(graph: Graph, profile: Profile, base: number): string {
  const quote = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`;
  const percent = (value: number) => `${(100 * value / base).toFixed(1)} %`;
  const nodes = graph.places.filter((place) => place.func >= 0).map((place) => {
    const { name, where } = profile.functions[place.func];
    const red = Math.round(255 - 160 * worth(place.self, base)).toString(16).padStart(2, '0');
    return `  f${place.func} [label=${quote(`${name}\n${where}\nself ${percent(place.self)} total `
      + percent(place.total))}, fillcolor="#ff${red}${red}"];`;
  });
  const again = graph.places.filter((place) => place.again > 0).map((place) =>
    `  f${place.func} -> f${place.func} [label=${quote(percent(place.again))}];`);
  const lines = graph.lines.map((line) =>
    `  f${line.caller} -> f${line.callee} [label=${quote(percent(line.total))}];`);
  return ['digraph calls {', '  node [shape=box, style=filled, fontname="sans-serif"];', ...nodes,
    ...again, ...lines, '}', ''].join('\n');
}
