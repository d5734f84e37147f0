// What was counted one by one, as `cairn html` wrote it (src/present/html_counts.c): calls by thread
// and stack, lines, instructions, regions, and the calls of a timeline. Pure functions.
import { boxesOf, PROGRAM, type Cells, type Flame, type Profile } from './data';
import { eachChosen, groupTotals, keptBy, sumUp, type Choice } from './sums';

// Optional keys of the page's data.
export interface WrittenCounts {
  calls?: number[][]; // columns: thread, node, phase, self, calls, resumes, total, suspended
  table?: number[]; // of another tool, WIDTH numbers a row: function, caller (-1: all of its calls),
  // calls, primitive ones, self, total (-1: it is not told)
  cost_ns?: number; // what counting took of all of them
  costly?: number[]; // functions of whose own time it took most
  partial?: number[]; // functions of whose calls some are missing; not there: none can be
  untimed?: number[]; // others whose calls are all there, and not all of their times
  lines?: LineNumbers[];
  // Name, coroutine (texts), process, running and waiting, and where: file (text), line, function.
  tasks?: [number, number, number, number, number, number, number, number][] | null;
  task_count?: number;
  opcodes?: OpcodeNumbers[];
  given?: number[][]; // function, offset, name, what it was (-1: others), how often, process
  let_go?: number[]; // functions whose lines and instructions were counted until it cost too much
  texts?: string[];
  regions?: number[][]; // name, count, cut, total, least, p50, p90, p99, most
  marks?: [number, number, number, number][]; // name, thread, moment, values
  mark_count?: number;
  bands?: [number, number, number, number][]; // name, thread, moment, length
  timeline?: number[]; // thread, node, moment, length, one call after the other
  timeline_calls?: number; // of all, drawn or not
}
// Function, line, hits, time, of it in Python and in C that it called (-1: not known; -2: nor was a
// clock read), suspended, process (-1: of all).
type LineNumbers = [number, number, number, number, number, number, number, number];
// Function, offset, line, jumped to, stack and 1, text, form, how often, samples, process.
type OpcodeNumbers = [number, number, number, number, number, number, number, number, number, number];

// Calls as cells of time, of the whole recording: when they were is not in them.
export interface Calls extends Cells {
  calls: Float64Array;
  resumes: Float64Array;
  total: Float64Array;
  suspended: Float64Array;
  again: Uint8Array; // of each node: AGAIN, PAIR_AGAIN
  outer: Int32Array; // the box, as it was seen, of the call whose own time it is
}

const AGAIN = 1, PAIR_AGAIN = 2; // the function, and it and its caller, stand below as well

export function againOf(nodes: Int32Array, parent: Int32Array, func: Int32Array): Uint8Array {
  const again = new Uint8Array(parent.length);
  for (const node of nodes) {
    const callee = func[node], above = parent[node], caller = above ? func[above] : -2;
    for (let below = above; below !== 0 && !(again[node] & PAIR_AGAIN); below = parent[below]) {
      if (func[below] !== callee) continue;
      again[node] |= AGAIN;
      if (parent[below] !== 0 && func[parent[below]] === caller) again[node] |= PAIR_AGAIN;
    }
  }
  return again;
}

export function readCalls({ calls: columns }: WrittenCounts, states: number, parent: Int32Array,
  func: Int32Array, flame: Flame): Calls | null {
  if (!columns) return null;
  const [thread, steps, phase, self, calls, resumes, total, suspended] = columns;
  const count = thread.length, node = new Int32Array(count), none = new Float64Array(count);
  for (let i = 0, at = 0; i < count; i++) node[i] = at += steps[i];
  const wall = Float64Array.from(self), box = boxesOf(node, flame);
  return {
    count, thread: Int32Array.from(thread), node, box, stack: box,
    phase: Uint8Array.from(phase),
    slice: new Uint16Array(count), timeless: true, wall, idle: none, gil: none, none,
    kept: [states - 1], order: new Int32Array(0), starts: new Int32Array(0),
    states: Array.from({ length: states }, (_, i) => (i === states - 1 ? wall : none)),
    calls: Float64Array.from(calls), resumes: Float64Array.from(resumes),
    total: Float64Array.from(total), suspended: Float64Array.from(suspended),
    again: againOf(node, parent, func), outer: box,
  };
}

export interface CallRow {
  func: number;
  calls: number;
  primitive: number; // calls with none of the same function below them; -1: not known
  resumes: number;
  self: number;
  total: number; // of primitive calls
  suspended: number;
}

// Where focus or hide leave a part of the stacks, totals are of what they leave, and of a call that
// they do not leave, though something that it called, no number is known.
function sumCalls(profile: Profile, choice: Choice, groupOf: (node: number) => number,
  repeated: number): CallRow[] {
  const calls = profile.calls!, rows = new Map<number, CallRow>(), kept = keptBy(profile, choice);
  const rowOf = (func: number, calls: number) => {
    let row = rows.get(func);
    if (!row)
      rows.set(func, row = { func, calls, primitive: 0, resumes: 0, self: 0, total: 0, suspended: 0 });
    return row;
  };
  eachChosen(profile, choice, (i) => {
    const node = calls.node[i], group = groupOf(node);
    if (group === -2 || (choice.programOnly && calls.phase[i] !== PROGRAM)) return;
    const row = rowOf(group, 0);
    row.calls += kept && !kept[calls.outer[i]] ? NaN : calls.calls[i];
    row.resumes += calls.resumes[i];
    row.self += calls.wall[i];
    row.suspended += calls.suspended[i];
    if (calls.again[node] & repeated) return;
    row.primitive += calls.calls[i];
    if (!kept) row.total += calls.total[i];
  }, calls);
  if (kept)
    groupTotals(profile, sumUp(profile, choice).self, profile.func.map((_, node) => groupOf(node)),
      profile.functions.length).total.forEach((total, func) => {
      if (total) rowOf(func, NaN).total = total;
    });
  return [...rows.values()].map((row) => row.calls >= 0 ? row
    : { ...row, calls: 0, primitive: -1, resumes: -1, suspended: -1 });
}

const WIDTH = 6;

// Whether the numbers are those of a file that knows no stacks and no moments. They are shown as they
// stand there; of a part of the stacks or of the time there are none.
export function isTold({ written }: Profile, choice: Choice): boolean {
  const { threads, processes, slices } = written;
  return !!written.table && choice.metric.name === 'wall' && !choice.focus && !choice.hide
    && choice.within < 0 && (choice.thread < 0 || threads.length === 1)
    && (choice.process < 0 || processes.length === 1) && !choice.outside && choice.from <= 0
    && choice.to >= slices.count;
}

// Whether calls are told of what is chosen.
export const hasCalls = (profile: Profile, choice: Choice): boolean =>
  choice.metric.name === 'counted' || isTold(profile, choice);

// The rows that `funcOf` gives a function, -1 for none.
function toldRows(profile: Profile, funcOf: (callee: number, caller: number) => number): CallRow[] {
  const table = profile.written.table!, rows: CallRow[] = [];
  for (let i = 0; i < table.length; i += WIDTH) {
    const func = funcOf(table[i], table[i + 1]);
    if (func >= 0) rows.push({ func, calls: table[i + 2], primitive: table[i + 3], resumes: 0,
      self: table[i + 4], total: table[i + 5], suspended: 0 });
  }
  return rows;
}

// The rows of cProfile's table, of what is chosen.
export function callRows(profile: Profile, choice: Choice): CallRow[] {
  if (isTold(profile, choice))
    return toldRows(profile, (callee, caller) => (caller < 0 ? callee : -1));
  return profile.calls ? sumCalls(profile, choice, (node) => profile.func[node], AGAIN) : [];
}

// Who called a function, and whom it called: numbers of the callee's calls by that caller.
export function callEdges(profile: Profile, choice: Choice, func: number):
  { callers: CallRow[]; callees: CallRow[] } {
  const { parent, func: of, written } = profile;
  const isPython = (node: number) => node !== 0 && written.functions[of[node]][3] === 0;
  const sorted = (rows: CallRow[]) => rows
    .sort((a, b) => b.total - a.total || b.calls - a.calls || a.func - b.func);
  if (isTold(profile, choice)) return {
    callers: sorted(toldRows(profile, (callee, caller) => (callee === func ? caller : -1))),
    callees: sorted(toldRows(profile, (callee, caller) => (caller === func ? callee : -1))),
  };
  const edges = (callers: boolean) => !profile.calls ? [] : sorted(sumCalls(profile, choice,
    (node) => {
      const above = parent[node];
      if (!isPython(above) || of[callers ? node : above] !== func) return -2;
      return of[callers ? above : node];
    }, PAIR_AGAIN));
  return { callers: edges(true), callees: edges(false) };
}

// Lines and instructions are counted by process. What else is chosen, here or when the page was made,
// is not of them: in the words of the filters.
export function leftOut({ written, region, inside }: Profile, choice: Choice): string[] {
  const { chosen, slices } = written, { lines, opcodes } = written;
  const joined = [lines?.[0]?.[7], opcodes?.[0]?.[9]].includes(-1);
  const filters: [string, boolean][] = [
    ['process', joined && choice.process >= 0],
    ['thread', choice.thread >= 0 || 'thread' in chosen],
    ['time', choice.from > 0 || choice.to < slices.count || choice.outside || 'from' in chosen
      || 'to' in chosen],
    [inside[region]?.[2] ? 'task' : 'region', region >= 0 || 'region' in chosen],
    ['task', 'task' in chosen], ['while', 'while' in chosen],
    ['focus', choice.focus !== '' || 'focus' in chosen],
    ['hide', choice.hide !== '' || 'ignore' in chosen],
  ];
  return filters.filter(([, is]) => is).map(([name]) => name);
}

// Whether what was counted in a process is of what is chosen.
function ofProcess({ written }: Profile, { process, thread }: Choice): (process: number) => boolean {
  const wanted = thread >= 0 ? written.threads[thread].process : process;
  return (own) => wanted < 0 || own < 0 || own === wanted;
}

export interface CountedLine {
  func: number;
  line: number;
  hits: number;
  time: number;
  timed: boolean; // false: its time is of samples
  self: number | null; // null: calls were not counted
  native: number | null;
}

const lineOf = ([func, line, hits, time, called, native]: LineNumbers): CountedLine => ({
  func, line, hits, time, timed: called !== -2, self: called < 0 ? null : Math.max(0, time - called - native),
  native: called < 0 ? null : native,
});

const sum = (one: number | null, other: number | null): number | null =>
  (one === null || other === null ? null : one + other);

// By line, of one function or of all (-1): those of the chosen process, or of all of them together.
export function countedLines(profile: Profile, choice: Choice, func: number): CountedLine[] {
  const lines: CountedLine[] = [], places = new Map<string, CountedLine>();
  const kept = ofProcess(profile, choice);
  for (const row of profile.written.lines ?? []) {
    if ((func >= 0 && row[0] !== func) || !kept(row[7])) continue;
    const line = lineOf(row), place = `${line.func}:${line.line}`, known = places.get(place);
    if (known) Object.assign(known, { hits: known.hits + line.hits, time: known.time + line.time,
      timed: known.timed && line.timed, self: sum(known.self, line.self),
      native: sum(known.native, line.native) });
    else {
      lines.push(line);
      places.set(place, line);
    }
  }
  return lines;
}

// Of all functions, the longest first: `sampled` tells the time of those at which no clock was read.
export const hottestLines = (profile: Profile, choice: Choice,
  sampled: (func: number, line: number) => number): CountedLine[] =>
  countedLines(profile, choice, -1)
    .map((line) => (line.timed ? line : { ...line, time: sampled(line.func, line.line) }))
    .sort((a, b) => b.time - a.time || b.hits - a.hits);

export interface Opcode {
  offset: number;
  line: number;
  target: boolean;
  stack: number | null;
  text: string;
  form: string;
  count: number;
  samples: number;
  given: Map<number, number>; // how often what (a text; -1: others)
}

export function opcodesOf(profile: Profile, choice: Choice, func: number): Opcode[] {
  const rows = new Map<string, Opcode>(), kept = ofProcess(profile, choice);
  for (const [own, offset, line, target, depth, words, shape, count, samples, process]
    of profile.written.opcodes ?? []) {
    if (own !== func || !kept(process)) continue;
    const text = textOf(profile, words), form = textOf(profile, shape);
    const place = `${offset} ${text.split(' ')[0]}`, known = rows.get(place);
    if (known) {
      known.count += count;
      known.samples += samples;
      known.form ||= form;
    } else {
      rows.set(place, { offset, line, target: target === 1, stack: depth ? depth - 1 : null, text,
        form, count, samples, given: new Map() });
    }
  }
  for (const [own, offset, name, what, count, process] of profile.written.given ?? []) {
    const given = own === func && kept(process)
      && rows.get(`${offset} ${textOf(profile, name)}`)?.given;
    if (given) given.set(what, (given.get(what) ?? 0) + count);
  }
  return [...rows.values()].sort((a, b) => a.offset - b.offset);
}

export const textOf = (profile: Profile, text: number): string => profile.texts[text];

// What stands behind the name of a function of whose calls some are missing, as in other formats.
export const partly = ({ written }: Profile, func: number): string =>
  (written.partial?.includes(func) ? ' [partly counted]'
    : written.untimed?.includes(func) ? ' [partly timed]' : '');

// The name of a function as cProfile's table has it: filename:lineno(function).
export function placeOf(profile: Profile, func: number): string {
  const { name, where, file } = profile.functions[func];
  if (profile.written.functions[func][3] === 0 && file !== '~') return `${where}(${name})`;
  return /^<.*>$/.test(name) ? `{${name.slice(1, -1)}}` : name;
}
