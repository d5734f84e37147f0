// What the page is about, as `cairn html` wrote it (src/present/html_data.c), in arrays that are
// quick to go through. Node 0 is the empty stack; a node's parent is smaller than the node.

import { readCalls, type Calls, type WrittenCounts } from './counts';

export const SCHEMA = 2;
export const STATES = ['running', 'gil_wait', 'runnable', 'blocked', 'stopped', 'unknown'] as const;
export const PHASES = ['start-up+exit', 'import', 'program'] as const;
export const PROGRAM = 2;
export const ORIGINS = ['user', 'library', 'stdlib', 'import', 'none'] as const;

export interface Metric {
  name: string;
  known: boolean;
  why: string | null;
  head: string[];
  trust: [string, ...string[]][]; // a label, and its lines
  beside: [string, ...string[]][]; // what was waited for, what lay over the states
  no_table: string[];
  total_ns: number;
  idle_ns: number;
  draws: number; // that shares rest on, waiting for work left out; 0: not known
}

type Numbers = ArrayLike<number>;
// Of the command line; numbers: ns; a list: given several times.
export type Flags = Record<string, string | number | boolean | string[]>;

interface Written extends WrittenCounts {
  schema: number;
  version: string;
  redacted: boolean;
  threads_joined: boolean;
  metric: string;
  chosen: Flags; // what it was made of
  keys: [string, string][]; // and what they do
  notes: Record<'red' | 'graph' | 'chart' | 'point' | 'bound' | 'sampled' | 'alone' | 'unjudged'
    | 'intervals' | 'drawn' | 'draw' | 'about' | 'tasks' | 'task' | 'untimed' | 'held' | 'redacted'
    | 'live' | 'paused' | 'ended' | 'lost' | 'failed' | 'patterns' | 'deeper' | 'arrows'
    | 'absent' | 'few' | 'joined' | 'moments' | 'uncounted' | 'source' | 'line' | 'empty' | 'shown'
    | 'tree' | 'changes' | 'changed' | 'longest' | 'lanes' | 'clocked' | 'unclocked' | 'without' | 'let_go'
    | 'idle' | 'apart' | 'same' | 'points' | 'poor' | 'partly' | 'percent' | 'clockless' | 'hybrid'
    | 'unread' | 'made' | 'unsampled' | 'unlike' | 'uncopied' | 'calls' | 'gain' | 'differ'
    | 'nothing' | 'outermost_calls', string>;
  recording: {
    mode: string;
    program: string;
    command: string | null;
    each_ns: number; // as what each is kept of what is no time; 0: it is time
    inferred: string; // what of stacks and totals is no fact, in words; '': they were seen
    wall_ns: number;
    environment: Record<string, string>;
  };
  processes: { pid: number; role: string }[];
  threads: { process: number; tid: number; name: string }[];
  functions: [number, number, number, number, number, number][];
  frames: Numbers;
  nodes: Numbers;
  source: ([number, ...string[][]] | null)[] | null; // pieces of lines: what each is, and its text
  metrics: Metric[];
  slices: Slices;
  cells: Numbers[]; // columns, as in Cells
  // Names, the cells of what was done in regions of them, or in tasks, and which of both (KINDS).
  inside: [number, Numbers[], number][];
  // Of too many stacks to have cells of each slice: what each thread did, thread and columns (each
  // state, idle, gil) by slice, and which of those columns an answer about a part of the time has.
  lanes?: [number, ...number[][]][];
  asked?: number[];
  strings: string[];
}

// Equal parts of the time: of slice i what was seen in (first + i * width, ... + width].
export interface Slices {
  count: number;
  first_ns: number; // from the start of the recording
  width_ns: number;
}

// Slices from one on and up to before another, as moments of the recording.
export const moments = ({ first_ns, width_ns }: Slices, from: number, to: number):
  [number, number] => [first_ns + from * width_ns, first_ns + to * width_ns];

// What each thread spent on each stack in each slice, by state.
export interface Cells {
  count: number;
  thread: Int32Array;
  node: Int32Array;
  box: Int32Array; // of the flame graph
  stack: Int32Array; // box of the stack as it was seen
  phase: Uint8Array;
  slice: Uint16Array;
  states: Float64Array[]; // as STATES
  wall: Float64Array; // their sum
  idle: Float64Array; // of what is blocked: waiting for work
  gil: Float64Array; // wall time that the GIL was held
  timeless?: boolean; // they are of all of the time, whatever part of it is chosen
  none: Float64Array; // nothing, as many times
  kept: number[]; // the states that have any time
  order: Int32Array; // the cells by slice: those of slice n are starts[n]..starts[n + 1]-1 of it
  starts: Int32Array;
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
  reading: string; // the server's number of it; '' from the disk
  functions: Func[];
  count: number; // of nodes
  parent: Int32Array;
  func: Int32Array; // of each node; -1 of node 0
  line: Int32Array;
  first: Int32Array; // child, 0: none
  next: Int32Array; // sibling
  flame: Flame;
  seen: Flame; // of the stacks as they were seen, whatever is folded
  cells: Cells;
  calls: Calls | null; // counted
  inside: [string, Numbers[], number][]; // of regions and tasks by name
  region: number; // which of these the cells are of; -1: of all
  texts: string[]; // that counts name
  folded?: Uint8Array; // which nodes went to a line that called them (mine.ts)
  names: { func: Int32Array; box: Int32Array }; // what rows are told apart by (places.ts)
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
  outermost: Uint8Array; // no node above it is of its function
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

export const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function readFunction(written: Written, row: Written['functions'][number]): Func {
  const [name, file, module] = row.slice(0, 3).map((id) => visible(written.strings[id]));
  const firstLine = row[5];
  const where = file ? lastPart(file) + (firstLine ? `:${firstLine}` : '') : module;
  return { name, file, module, origin: row[4], firstLine, text: `${name} ${file}`, where };
}

// Numbers the pairs {box above, function} of all nodes: as many as there are boxes. A box's number
// is greater than that of the one above it.
export function makeBoxes(count: number, func: Int32Array, first: Int32Array, next: Int32Array,
  functions: number): { of: Int32Array; above: Int32Array; funcs: Int32Array } {
  const of = new Int32Array(count), above: number[] = [0], funcs: number[] = [-1];
  const latest = new Int32Array(functions).fill(-1); // box of a function below the one in hand
  const nodes = new Int32Array(count).fill(-1), held: number[] = [0]; // of a box, linked: the last
  for (let box = 0; box < above.length; box++) {
    const begin = above.length;
    for (let n = held[box]; n >= 0; n = nodes[n])
      for (let child = first[n]; child; child = next[child]) {
        let id = latest[func[child]];
        if (id < begin) {
          id = latest[func[child]] = above.length;
          above.push(box);
          funcs.push(func[child]);
          held.push(-1);
        }
        of[child] = id;
        nodes[child] = held[id];
        held[id] = child;
      }
  }
  return { of, above: Int32Array.from(above), funcs: Int32Array.from(funcs) };
}

// The boxes by the rank of their functions: a counting sort, the first rank first.
function sorted(funcs: Int32Array, rank: Int32Array): Int32Array {
  const starts = new Int32Array(rank.length + 2), order = new Int32Array(funcs.length);
  for (const func of funcs) starts[(func < 0 ? 0 : rank[func] + 1) + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  funcs.forEach((func, box) => { order[starts[func < 0 ? 0 : rank[func] + 1]++] = box; });
  return order;
}

export function makeFlame(boxes: ReturnType<typeof makeBoxes>, functions: Func[]): Flame {
  const { above, funcs } = boxes, total = above.length;
  const rank = new Int32Array(functions.length);
  functions.map((_, i) => i).sort((a, b) => (functions[a].text < functions[b].text ? -1 : 1))
    .forEach((index, place) => { rank[index] = place; });
  const child = new Int32Array(total), sibling = new Int32Array(total); // in their order; 0: none
  const order = sorted(funcs, rank);
  for (let i = total; i-- > 1;) {
    sibling[order[i]] = child[above[order[i]]];
    child[above[order[i]]] = order[i];
  }
  const flame: Flame = {
    count: total, of: boxes.of, parent: new Int32Array(total), func: new Int32Array(total),
    depth: new Int32Array(total), end: new Int32Array(total), outermost: new Uint8Array(total),
  };
  const place = new Int32Array(total), open = new Int32Array(functions.length);
  let at = 0;
  for (let box = 0; ;) {
    const func = funcs[box], parent = place[above[box]];
    place[box] = at;
    flame.parent[at] = parent;
    flame.func[at] = func;
    flame.depth[at] = at ? flame.depth[parent] + 1 : 0;
    if (func >= 0) flame.outermost[at] = open[func]++ ? 0 : 1;
    at++;
    if (child[box]) {
      box = child[box];
      continue;
    }
    for (;;) {
      flame.end[place[box]] = at;
      if (funcs[box] >= 0) open[funcs[box]]--;
      if (!box || sibling[box]) break;
      box = above[box];
    }
    if (!box) break;
    box = sibling[box];
  }
  for (let n = 0; n < flame.of.length; n++) flame.of[n] = place[flame.of[n]];
  return flame;
}

const floats = (column: Numbers): Float64Array =>
  (column instanceof Float64Array ? column : Float64Array.from(column));

function sumOf(columns: Float64Array[], kept: number[]): Float64Array {
  const sums = new Float64Array(columns[0].length);
  for (const each of kept) {
    const column = columns[each];
    for (let i = 0; i < sums.length; i++) sums[i] += column[i];
  }
  return sums;
}

export function boxesOf(node: Int32Array, flame: Flame): Int32Array {
  const box = new Int32Array(node.length);
  for (let i = 0; i < box.length; i++) box[i] = flame.of[node[i]];
  return box;
}

function readCells(columns: Numbers[], slices: number, flame: Flame): Cells {
  const [thread, steps, phase, slice] = columns, count = thread.length;
  const states = columns.slice(4, 4 + STATES.length).map(floats);
  const [idle, gil] = columns.slice(4 + STATES.length).map(floats);
  const node = new Int32Array(count);
  for (let i = 0, at = 0; i < count; i++) node[i] = at += steps[i];
  const kept = [...states.keys()].filter((state) => states[state].some((value) => value > 0));
  const starts = new Int32Array(slices + 1), order = new Int32Array(slices > 1 ? count : 0);
  if (slices > 1) {
    for (let i = 0; i < count; i++) starts[slice[i] + 1]++;
    for (let i = 0; i < slices; i++) starts[i + 1] += starts[i];
    const at = starts.slice();
    for (let i = 0; i < count; i++) order[at[slice[i]]++] = i;
  }
  const box = boxesOf(node, flame);
  return { count, thread: Int32Array.from(thread), node, box, stack: box,
    phase: Uint8Array.from(phase), slice: Uint16Array.from(slice), states,
    wall: sumOf(states, kept), idle, gil, none: new Float64Array(count), kept, order, starts };
}

export function readProfile(written: Written, reading = ''): Profile {
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
  const boxes = makeBoxes(count, func, first, next, functions.length);
  const flame = makeFlame(boxes, functions);
  const cells = readCells(written.cells, written.asked ? 1 : written.slices.count, flame);
  const calls = readCalls(written, STATES.length, parent, func, flame);
  const texts = (written.texts ?? []).map(visible);
  const inside = written.inside.map(([name, ...rest]): Profile['inside'][number] =>
    [visible(written.strings[name]), ...rest]);
  const names = { func: Int32Array.from(functions.keys()), box: Int32Array.from(flame.func.keys()) };
  return { written, reading, functions, count, parent, func, line, first, next, flame, seen: flame,
    cells, calls, texts, names, inside, region: -1 };
}

export const KINDS = ['Region', 'Task'] as const;

// What of metrics is known of tasks: no samples, so no draws. Calls are of the whole recording.
const ofTask = (metric: Metric, why: string): Metric => ({ ...metric, draws: 0,
  ...!/wall|blocked|counted/.test(metric.name) && { known: false, why } });

// The same with what was done in the regions, or the tasks, of a name alone. Of tasks, and of stacks
// that are not kept slice by slice, it is of all of the time.
export function readInside(profile: Profile, region: number): Profile {
  const { written, inside } = profile, { slices, metrics, asked, notes } = written;
  if (region < 0) return profile;
  const [, columns, task] = inside[region];
  const cells = readCells(columns, asked ? 1 : slices.count, profile.flame);
  return { ...profile, region, cells: { ...cells, timeless: !!(asked || task) },
    written: { ...written, lanes: undefined, asked: undefined,
      ...task && { slices: { ...slices, count: 1 }, metrics: metrics.map((each) => ofTask(each, notes.tasks)) } } };
}

// The same cells with what each of them has of a part of the time, as the server sent it, in one answer
// or several: bytes as src/present/html_block.h says. Where states are not told apart, their sum stands
// as the first.
export function partOf({ cells, written }: Profile, answers: ArrayBuffer[], told: boolean): Cells {
  const columns = Array.from({ length: STATES.length + 2 }, () => cells.none);
  const [sum] = written.asked!;
  for (const column of written.asked!)
    if (told || column === sum || column >= STATES.length)
      columns[column] = new Float64Array(cells.count);
  for (const answer of answers) {
    const [count, far] = new Uint32Array(answer, 0, 2), apart = new Float64Array(answer, 8, far);
    const low = new Uint32Array(answer, 8 + 8 * far, count);
    const heads = new Uint8Array(answer, 8 + 8 * far + 4 * count);
    for (let i = 0, next = 0, cell = 0; i < count; i++) {
      const head = heads[i], value = low[i];
      cell += head >> 3 === 31 ? apart[next++] : head >> 3;
      columns[head & 7][cell] += value === 0xffffffff ? apart[next++] : value;
    }
  }
  const states = columns.slice(0, STATES.length), [idle, gil] = columns.slice(STATES.length);
  return { ...cells, states, idle, gil,
    wall: told ? sumOf(states, cells.kept) : columns[sum] };
}

// What a metric is a sum of: samples, or calls that were counted.
export const cellsOf = (profile: Profile, metric: Metric): Cells =>
  metric.name === 'counted' && profile.calls ? profile.calls : profile.cells;

export const STATE_OF: Record<string, (typeof STATES)[number]> = {
  'cpu': 'running', 'gil-wait': 'gil_wait', 'runq': 'runnable', 'blocked': 'blocked',
};

// The metric's value of each cell, and what of it was waiting for work.
export function valuesOf(cells: Cells, metric: Metric): { time: Float64Array; idle: Float64Array } {
  const state = STATE_OF[metric.name], { none } = cells;
  if (!metric.known) return { time: none, idle: none };
  if (metric.name === 'gil') return { time: cells.gil, idle: none };
  if (!state) return { time: cells.wall, idle: cells.idle };
  return { time: cells.states[STATES.indexOf(state)],
    idle: state === 'blocked' ? cells.idle : none };
}

// A long column that lies beside the JSON: where, and what its numbers are (html_columns.h).
interface Apart {
  at: number;
  bytes: number;
  count: number;
}

// The columns of `written` that are apart, as views of the bytes that were sent.
function joined(written: Written, bytes: ArrayBuffer): Written {
  const kinds: Record<number, new (buffer: ArrayBuffer, at: number, count: number) => Numbers> = {
    1: Uint8Array, 2: Uint16Array, 4: Uint32Array, [-4]: Int32Array, 8: Float64Array,
  };
  const numbers = (column: unknown): Numbers => {
    const apart = column as Apart;
    return Array.isArray(column) ? column as number[]
      : new kinds[apart.bytes](bytes, apart.at, apart.count);
  };
  return { ...written, frames: numbers(written.frames), nodes: numbers(written.nodes),
    cells: written.cells.map(numbers),
    inside: written.inside.map(([name, columns, kind]) => [name, columns.map(numbers), kind]) };
}

// The bytes that a page of this version asks for; null for one that holds all.
async function askColumns(version: string | undefined): Promise<ArrayBuffer | null> {
  if (version === undefined) return null;
  const answer = await fetch(`api/columns?version=${version}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer.arrayBuffer();
}

async function unpack(text: string, columns: Promise<ArrayBuffer | null>,
  reading = ''): Promise<Profile> {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const written = JSON.parse(await new Response(stream).text()) as Written;
  const apart = await columns;
  return readProfile(apart ? joined(written, apart) : written, reading);
}

// The recording of the page, or the one before it that it is to be compared with: null without one.
export async function loadProfile(id: 'data' | 'before'): Promise<Profile | null> {
  const text = document.getElementById(id)?.textContent;
  const { version, columns } = document.getElementById('page')!.dataset;
  return text ? unpack(text, askColumns(id === 'data' && columns !== undefined ? version
    : undefined), version) : null;
}

// The recording of a page that is given as text, and its version.
export async function profileOf(page: string): Promise<[Profile, string]> {
  const [, version, rest] = /<div id="page" data-version="(\d+)"([^>]*)>/.exec(page)!;
  const begin = page.indexOf('id="data">') + 'id="data">'.length;
  const columns = askColumns(rest.includes('data-columns') ? version : undefined);
  return [await unpack(page.slice(begin, page.indexOf('<', begin)), columns, version),
    version];
}
