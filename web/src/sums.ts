// From the cells of a metric and what is chosen to what the views show. Everything here is a pure
// function; a stack that holds a function several times counts once in its total.
import { cellsOf, PROGRAM, STATES, valuesOf, type Cells, type Flame, type Metric, type Profile }
  from './data';

export interface Choice {
  metric: Metric;
  process: number; // -1: all
  thread: number;
  focus: string; // patterns, '' for none
  hide: string;
  idle: boolean; // count waiting for work in
  from: number; // slices of the time: from this one on,
  to: number; // up to before that one
  outside: boolean; // what lies outside of them instead
  within: number; // stacks that hold this function alone; -1: all
  programOnly: boolean;
  part?: Cells; // what they have in those slices, where it had to be asked for
}

export const allTime = (profile: Profile) =>
  ({ from: 0, to: profile.written.slices.count, outside: false, part: undefined });

// What a choice is a sum of.
const cellsFor = (profile: Profile, choice: Choice): Cells => {
  const cells = cellsOf(profile, choice.metric);
  return cells === profile.cells && choice.part ? choice.part : cells;
};

export interface Sums {
  readonly self: Float64Array; // of each node
  own: Float64Array; // of each of the flame graph's boxes
  base: number; // what shares are of
  phases: number[];
  idle: number; // waiting for work, in what is chosen
  flame?: Totals; // once it was asked for
}

export interface Totals { // of the flame graph's boxes
  self: Float64Array;
  total: Float64Array;
}

export interface Row {
  func: number;
  self: number;
  total: number;
}

export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// What the command line's patterns have and the browser's lack: where a word begins and ends.
const EDGES: Record<string, string> = { '\\<': '\\b(?=\\w)', '\\>': '\\b(?<=\\w)' };

// A pattern that is none is taken as plain text: it may be half typed.
export function pattern(text: string): RegExp {
  try {
    return new RegExp(text.replace(/\[[^\]]*]|\\[^]/g, (part) => EDGES[part] ?? part));
  } catch {
    return new RegExp(escaped(text));
  }
}

// Which boxes stand on a stack with a function that is a hit.
function marked({ parent, func }: Flame, hits: boolean[]): Uint8Array {
  const marks = new Uint8Array(func.length);
  for (let n = 1; n < marks.length; n++) marks[n] = marks[parent[n]] || hits[func[n]] ? 1 : 0;
  return marks;
}

// Which boxes focus and hide leave: 1, or else 0; null: all. They are asked of the stacks as they were
// seen, also where only the user's code is shown.
export function keptBy({ functions, seen }: Profile, { focus, hide }: Choice): Uint8Array | null {
  const matching = (text: string) => {
    const wanted = pattern(text);
    return marked(seen, functions.map((func) => wanted.test(func.text)));
  };
  if (!focus && !hide) return null;
  const kept = focus ? matching(focus) : new Uint8Array(seen.count).fill(1);
  if (hide) matching(hide).forEach((hit, n) => { if (hit) kept[n] = 0; });
  return kept;
}

// The numbers of the cells that are chosen; null: all of them. Those of some slices of many are found
// without looking at the others.
function chosenCells(profile: Profile, choice: Choice, cells: Cells): Int32Array | null {
  const { threads, slices } = profile.written, { from, to, outside } = choice;
  const boxes = keptBy(profile, choice);
  const within = choice.within < 0 ? null
    : marked(profile.flame, profile.functions.map((_, func) => func === choice.within));
  const tracks = threads.map(({ process }, thread) =>
    (choice.thread < 0 || thread === choice.thread)
    && (choice.process < 0 || process === choice.process));
  const all = tracks.every(Boolean);
  const anytime = cells.timeless || choice.part !== undefined
    || (!outside && from <= 0 && to >= slices.count);
  if (anytime && all && !boxes && !within) return null;
  const kept = new Int32Array(cells.count), { thread, box, stack, order, starts } = cells;
  let count = 0;
  const take = (i: number) => {
    if ((all || tracks[thread[i]]) && (!boxes || boxes[stack[i]]) && (!within || within[box[i]]))
      kept[count++] = i;
  };
  if (anytime)
    for (let i = 0; i < cells.count; i++) take(i);
  else
    for (let slice = outside ? 0 : from; slice < (outside ? slices.count : to); slice++)
      if (!outside || slice < from || slice >= to)
        for (let at = starts[slice]; at < starts[slice + 1]; at++) take(order[at]);
  return kept.subarray(0, count);
}

// Calls `each` for every cell that is chosen, by its number.
export function eachChosen(profile: Profile, choice: Choice, each: (cell: number) => void,
  cells: Cells = cellsFor(profile, choice)): void {
  const kept = chosenCells(profile, choice, cells), count = kept ? kept.length : cells.count;
  for (let at = 0; at < count; at++) each(kept ? kept[at] : at);
}

// A loop of its own: a call for each of some hundred thousand cells would be most of it.
export function sumUp(profile: Profile, choice: Choice): Sums {
  const cells = cellsFor(profile, choice), { time, idle } = valuesOf(cells, choice.metric);
  const kept = chosenCells(profile, choice, cells), count = kept ? kept.length : cells.count;
  const { phase, node, box } = cells;
  const add = (places: Int32Array, size: number) => {
    const own = new Float64Array(size), phases = [0, 0, 0];
    let base = 0, waited = 0;
    for (let at = 0; at < count; at++) {
      const i = kept ? kept[at] : at, whole = time[i];
      if (whole === 0) continue; // of a part of the time most have none
      const value = choice.idle ? whole : whole - idle[i];
      phases[phase[i]] += value;
      waited += idle[i];
      if (choice.programOnly && phase[i] !== PROGRAM) continue;
      own[places[i]] += value;
      base += value;
    }
    return { own, base, phases, idle: waited };
  };
  let self: Float64Array | undefined; // which few views ask for
  return { ...add(box, profile.flame.count),
    get self() { return self ??= add(node, profile.count).own; } };
}

// Wall time by state, waiting for work counted in.
export function stateTimes(profile: Profile, choice: Choice): number[] {
  const cells = choice.part ?? profile.cells, times = STATES.map(() => 0), { states, kept } = cells;
  eachChosen(profile, choice, (i) => {
    for (const state of kept) times[state] += states[state][i];
  }, cells);
  return times;
}

// What each thread has of what is chosen, the longest first.
export function threadTimes(profile: Profile, choice: Choice): { thread: number; time: number }[] {
  const cells = cellsFor(profile, choice), values = valuesOf(cells, choice.metric);
  const times = new Float64Array(profile.written.threads.length);
  eachChosen(profile, choice, (i) => {
    times[cells.thread[i]] += values.time[i] - (choice.idle ? 0 : values.idle[i]);
  });
  return [...times].map((time, thread) => ({ thread, time })).filter(({ time }) => time > 0)
    .sort((a, b) => b.time - a.time || a.thread - b.thread);
}

// Sums by group: `groupOf` names the group of each node, or -1.
export function groupTotals(profile: Profile, self: Float64Array, groupOf: Int32Array,
  groupCount: number): { self: Float64Array; total: Float64Array } {
  const subtree = self.slice();
  const selfs = new Float64Array(groupCount), totals = new Float64Array(groupCount);
  const open = new Int32Array(groupCount);
  for (let n = profile.count; n-- > 1;) {
    subtree[profile.parent[n]] += subtree[n];
    if (groupOf[n] >= 0) selfs[groupOf[n]] += self[n];
  }
  for (let n = profile.first[0]; n;) {
    const group = groupOf[n];
    if (group >= 0 && open[group]++ === 0) totals[group] += subtree[n];
    if (profile.first[n]) {
      n = profile.first[n];
      continue;
    }
    while (n) {
      if (groupOf[n] >= 0) open[groupOf[n]]--;
      if (profile.next[n]) {
        n = profile.next[n];
        break;
      }
      n = profile.parent[n];
    }
  }
  return { self: selfs, total: totals };
}

export function functionRows(profile: Profile, sums: Sums): Row[] {
  const { flame } = profile, { self, total } = flameTotals(profile, sums);
  const selfs = new Float64Array(profile.functions.length), totals = selfs.slice();
  for (let n = 1; n < flame.count; n++) {
    const func = flame.func[n];
    selfs[func] += self[n];
    if (flame.outermost[n]) totals[func] += total[n];
  }
  const rows: Row[] = [];
  for (let func = 0; func < selfs.length; func++)
    if (totals[func] > 0) rows.push({ func, self: selfs[func], total: totals[func] });
  return rows;
}

export interface Line {
  line: number;
  self: number;
  total: number;
}

export function linesOf(profile: Profile, sums: Sums, func: number): Line[] {
  const numbers: number[] = [], seen = new Map<number, number>();
  const groupOf = new Int32Array(profile.count).fill(-1);
  for (let n = 1; n < profile.count; n++) {
    if (profile.func[n] !== func) continue;
    const line = profile.line[n];
    if (!seen.has(line)) {
      seen.set(line, numbers.length);
      numbers.push(line);
    }
    groupOf[n] = seen.get(line)!;
  }
  const { self, total } = groupTotals(profile, sums.self, groupOf, numbers.length);
  return numbers.map((line, i) => ({ line, self: self[i], total: total[i] }))
    .filter((row) => row.total > 0).sort((a, b) => a.line - b.line);
}

export const ROOT = -1; // stands for the caller of a stack's root

// Who calls a function and whom it calls. A stack that holds it several times counts once: with
// the caller of the outermost and the callee of the innermost.
export function neighbours(profile: Profile, sums: Sums, func: number):
  { callers: Row[]; callees: Row[] } {
  const none = -2, itself = -3, { flame: { count, parent, func: funcs } } = profile;
  const caller = new Int32Array(count).fill(none), callee = caller.slice();
  const callers = new Map<number, number>(), callees = new Map<number, number>();
  const add = (map: Map<number, number>, key: number, value: number) =>
    map.set(key, (map.get(key) ?? 0) + value);
  for (let n = 1; n < count; n++) {
    const above = parent[n], here = funcs[n] === func, value = sums.own[n];
    caller[n] = caller[above] !== none ? caller[above] : here ? funcs[above] : none;
    callee[n] = here ? itself : callee[above] === itself ? funcs[n] : callee[above];
    if (value === 0 || caller[n] === none) continue;
    add(callers, caller[n], value);
    if (callee[n] !== itself) add(callees, callee[n], value);
  }
  const rows = (map: Map<number, number>): Row[] =>
    [...map].map(([key, total]) => ({ func: key, self: 0, total }))
      .sort((a, b) => b.total - a.total || a.func - b.func);
  return { callers: rows(callers), callees: rows(callees) };
}

// Totals of the flame graph's boxes, and what is of each itself.
export function flameTotals({ flame: { count, parent } }: Profile, sums: Sums): Totals {
  if (sums.flame) return sums.flame;
  const total = sums.own.slice();
  for (let n = count; n-- > 1;) total[parent[n]] += total[n];
  return sums.flame = { self: sums.own, total };
}
