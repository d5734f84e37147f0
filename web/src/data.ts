// What the page is about, as `cairn html` wrote it (src/present/html_data.c), in arrays that are
// quick to go through. Node 0 is the empty stack; a node's parent is smaller than the node.

export const SCHEMA = 1;
export const STATES = ['running', 'gil_wait', 'runnable', 'blocked', 'stopped', 'unknown'] as const;
export const PHASES = ['start-up+exit', 'import', 'program'] as const;
export const PROGRAM = 2;
export const ORIGINS = ['user', 'library', 'stdlib', 'import', 'none'] as const;

export interface Metric {
  name: string;
  known: boolean;
  why: string | null;
  head: string[];
  trust: string[];
  no_table: string[];
  total_ns: number;
  idle_ns: number;
  draws: number; // that shares rest on, waiting for work left out; 0: not known
  states: number[];
  cells: number[][]; // columns: thread, node, phase, time, of it idle
}

interface Written {
  schema: number;
  version: string;
  redacted: boolean;
  threads_joined: boolean;
  metric: string;
  chosen: Record<string, string | number | boolean>;
  recording: {
    mode: string;
    program: string;
    command: string | null;
    wall_ns: number;
    environment: Record<string, string>;
  };
  processes: { pid: number; role: string }[];
  threads: { process: number; tid: number; name: string }[];
  functions: [number, number, number, number, number, number][];
  frames: number[];
  nodes: number[];
  source: ([number, ...string[]] | null)[] | null;
  metrics: Metric[];
  strings: string[];
}

export interface Func {
  name: string;
  file: string;
  module: string;
  origin: number;
  firstLine: number;
  text: string; // what --focus and --ignore are held against
  where: string; // "gil.py:16"
}

export interface Profile {
  written: Written;
  functions: Func[];
  count: number; // of nodes
  parent: Int32Array;
  func: Int32Array; // of each node; -1 of node 0
  line: Int32Array;
  first: Int32Array; // child, 0: none
  next: Int32Array; // sibling
  flame: Flame;
}

// The stacks by function, in depth-first order, siblings by name: an order that does not depend on
// times, so that a box stays where it is whatever is filtered.
export interface Flame {
  count: number;
  of: Int32Array; // of each node of the profile
  parent: Int32Array;
  func: Int32Array;
  depth: Int32Array;
  end: Int32Array; // the nodes below n are n+1..end-1
}

// A name as it may be shown: control characters and what turns the direction of writing are
// written out, as on the terminal.
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]/g,
    (letter) => {
      const code = letter.charCodeAt(0);
      return code < 0x100 ? '\\x' + code.toString(16).padStart(2, '0')
        : '\\u' + code.toString(16).padStart(4, '0');
    });
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function readFunction(written: Written, row: Written['functions'][number]): Func {
  const [name, file, module] = row.slice(0, 3).map((id) => visible(written.strings[id]));
  const firstLine = row[5];
  const where = file ? lastPart(file) + (firstLine ? `:${firstLine}` : '') : module;
  return { name, file, module, origin: row[4], firstLine, text: `${name} ${file}`, where };
}

// Numbers the pairs {parent, function} and puts them in depth-first order.
function makeFlame(count: number, parent: Int32Array, func: Int32Array, functions: Func[]): Flame {
  const made: number[][] = [[]]; // children of each
  const madeFunc = [-1];
  const numbers = new Map<number, number>();
  const of = new Int32Array(count);
  for (let n = 1; n < count; n++) {
    const above = of[parent[n]], key = above * functions.length + func[n];
    let id = numbers.get(key);
    if (id === undefined) {
      id = made.length;
      numbers.set(key, id);
      made.push([]);
      made[above].push(id);
      madeFunc.push(func[n]);
    }
    of[n] = id;
  }
  const order = functions.map((_, i) => i)
    .sort((a, b) => (functions[a].text < functions[b].text ? -1 : 1));
  const rank = new Int32Array(functions.length);
  order.forEach((index, place) => { rank[index] = place; });

  const total = made.length;
  const flame: Flame = {
    count: total, of, parent: new Int32Array(total), func: new Int32Array(total),
    depth: new Int32Array(total), end: new Int32Array(total),
  };
  const place = new Int32Array(total);
  const waiting: [number, number][] = [[0, 0]];
  let at = 0;
  while (waiting.length) {
    const [id, above] = waiting.pop()!;
    place[id] = at;
    flame.parent[at] = above;
    flame.func[at] = madeFunc[id];
    flame.depth[at] = at ? flame.depth[above] + 1 : 0;
    const children = made[id].sort((a, b) => rank[madeFunc[b]] - rank[madeFunc[a]]);
    for (const child of children) waiting.push([child, at]);
    at++;
  }
  for (let n = total; n-- > 0;) {
    if (flame.end[n] === 0) flame.end[n] = n + 1;
    const above = flame.parent[n];
    if (n && flame.end[n] > flame.end[above]) flame.end[above] = flame.end[n];
  }
  for (let n = 0; n < count; n++) of[n] = place[of[n]];
  return flame;
}

export function readProfile(written: Written): Profile {
  if (written.schema !== SCHEMA) throw new Error(`data of another version: ${written.schema}`);
  const functions = written.functions.map((row) => readFunction(written, row));
  const count = written.nodes.length / 2;
  const parent = new Int32Array(count), func = new Int32Array(count), line = new Int32Array(count);
  const first = new Int32Array(count), next = new Int32Array(count);
  func[0] = -1;
  for (let n = 1; n < count; n++) {
    const frame = written.nodes[2 * n + 1];
    parent[n] = written.nodes[2 * n];
    func[n] = written.frames[2 * frame];
    line[n] = written.frames[2 * frame + 1];
  }
  for (let n = count; n-- > 1;) {
    next[n] = first[parent[n]];
    first[parent[n]] = n;
  }
  const flame = makeFlame(count, parent, func, functions);
  return { written, functions, count, parent, func, line, first, next, flame };
}

// Calls `each` for every cell of a metric.
export function eachCell(metric: Metric, each: (thread: number, node: number, phase: number,
  time: number, idle: number) => void): void {
  const [threads, steps, phases, times, idles] = metric.cells;
  for (let i = 0, node = 0; i < threads.length; i++) {
    node += steps[i];
    each(threads[i], node, phases[i], times[i], idles[i]);
  }
}

// The recording of the page, or the one before it that it is to be compared with: null without one.
export async function loadProfile(id: 'data' | 'before'): Promise<Profile | null> {
  const text = document.getElementById(id)?.textContent;
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return readProfile(JSON.parse(await new Response(stream).text()) as Written);
}
