// From the cells of a metric and what is chosen to what the views show. Everything here is a pure
// function; a stack that holds a function several times counts once in its total.
import { eachCell, PROGRAM, type Metric, type Profile } from './data';

export interface Choice {
  metric: Metric;
  process: number; // -1: all
  thread: number;
  focus: string; // patterns, '' for none
  hide: string;
  idle: boolean; // count waiting for work in
  programOnly: boolean;
}

export interface Sums {
  self: Float64Array; // of each node
  base: number; // what shares are of
  phases: number[];
  idle: number; // waiting for work, in what is chosen
}

export interface Row {
  func: number;
  self: number;
  total: number;
}

// A pattern that is none is taken as plain text: it may be half typed.
export function pattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  }
}

// Which nodes stand on a stack with a function that matches.
function marked(profile: Profile, text: string): Uint8Array {
  const wanted = pattern(text);
  const hits = profile.functions.map((func) => wanted.test(func.text));
  const marks = new Uint8Array(profile.count);
  for (let n = 1; n < profile.count; n++)
    marks[n] = marks[profile.parent[n]] || hits[profile.func[n]] ? 1 : 0;
  return marks;
}

export function sumUp(profile: Profile, choice: Choice): Sums {
  const focus = choice.focus ? marked(profile, choice.focus) : null;
  const hide = choice.hide ? marked(profile, choice.hide) : null;
  const threads = profile.written.threads;
  const sums: Sums = {
    self: new Float64Array(profile.count), base: 0, phases: [0, 0, 0], idle: 0,
  };
  eachCell(choice.metric, (thread, node, phase, time, idle) => {
    if (choice.thread >= 0 && thread !== choice.thread) return;
    if (choice.process >= 0 && threads[thread].process !== choice.process) return;
    if ((focus && !focus[node]) || (hide && hide[node])) return;
    const value = choice.idle ? time : time - idle;
    sums.phases[phase] += value;
    sums.idle += idle;
    if (choice.programOnly && phase !== PROGRAM) return;
    sums.self[node] += value;
    sums.base += value;
  });
  return sums;
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
  const { self, total } = groupTotals(profile, sums.self, profile.func, profile.functions.length);
  const rows: Row[] = [];
  for (let func = 0; func < self.length; func++)
    if (total[func] > 0) rows.push({ func, self: self[func], total: total[func] });
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
  const none = -2, itself = -3;
  const caller = new Int32Array(profile.count).fill(none);
  const callee = new Int32Array(profile.count).fill(none);
  const callers = new Map<number, number>(), callees = new Map<number, number>();
  const add = (map: Map<number, number>, key: number, value: number) =>
    map.set(key, (map.get(key) ?? 0) + value);
  for (let n = 1; n < profile.count; n++) {
    const above = profile.parent[n], here = profile.func[n] === func;
    caller[n] = caller[above] !== none ? caller[above] : here ? profile.func[above] : none;
    callee[n] = here ? itself : callee[above] === itself ? profile.func[n] : callee[above];
    if (sums.self[n] === 0 || caller[n] === none) continue;
    add(callers, caller[n], sums.self[n]);
    if (callee[n] !== itself) add(callees, callee[n], sums.self[n]);
  }
  const rows = (map: Map<number, number>): Row[] =>
    [...map].map(([key, total]) => ({ func: key, self: 0, total }))
      .sort((a, b) => b.total - a.total || a.func - b.func);
  return { callers: rows(callers), callees: rows(callees) };
}

// Totals of the flame graph's nodes, and what is of each itself.
export function flameTotals(profile: Profile, sums: Sums):
  { self: Float64Array; total: Float64Array } {
  const flame = profile.flame, self = new Float64Array(flame.count);
  for (let n = 0; n < profile.count; n++) self[flame.of[n]] += sums.self[n];
  const total = self.slice();
  for (let n = flame.count; n-- > 1;) total[flame.parent[n]] += total[n];
  return { self, total };
}
