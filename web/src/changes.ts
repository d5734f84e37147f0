// Two sides, row by row: what changed between them, and whether that is more than chance. The
// arithmetic is that of `cairn diff` (src/analyse/diff.c), on shares or on times.
import { makeBoxes, makeFlame, type Flame, type Func, type Metric, type Profile } from './data';
import { flameTotals, functionRows, sumUp, type Choice, type Row, type Sums, type Totals } from './sums';

export type Scale = 'time' | 'share';

// What one side is made of: a recording, all of it or one of its processes or threads, at all times
// or in a part of the time.
export interface Side {
  id: string; // in the address
  title: string;
  profile: Profile;
  process: number; // -1: all
  thread: number;
  time: Pick<Choice, 'from' | 'to' | 'outside'>;
}

export interface Value {
  before: number; // ns, or 0..1
  after: number;
  change: number;
  sure: boolean; // the interval of the change does not hold 0
}

export interface Change {
  before: number; // functions of the two sides; -1: not there
  after: number;
  self: Value;
  total: Value;
}

export interface Comparison {
  before: number; // ns, the wholes
  after: number;
  counted: boolean; // false: there is nothing that intervals could rest on
  rows: Change[]; // what is sure first, the largest change first
  arms: [Arm, Arm];
  pairs: Pair[];
}

type Pair = [Row | null, Row | null];

const WORTH = 0.005; // a row whose total is less of both is not judged: it would cost the others
const CONFIDENCE = 0.95; // of all judgements together

// The complementary error function, to 1.2e-7 of its value (Numerical Recipes, 6.2).
function erfc(x: number): number {
  const t = 1 / (1 + x / 2);
  const series = [1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277];
  return t * Math.exp(-x * x - 1.26551223
    + series.reduceRight((sum, factor) => (sum + factor) * t, 0));
}

// What a normal variable stays within, either way, with that probability.
export function quantile(confidence: number): number {
  let low = 0, high = 40;
  for (let i = 0; i < 64; i++) {
    const middle = (low + high) / 2;
    if (erfc(middle * Math.SQRT1_2) > 1 - confidence) low = middle;
    else high = middle;
  }
  return high;
}

// Wilson's interval of a share that rests on so many draws.
export function interval(share: number, draws: number, z: number): [number, number] {
  if (!(draws > 0)) return [0, 1];
  const whole = 1 + z * z / draws, middle = (share + z * z / (2 * draws)) / whole;
  const half = z / whole * Math.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws));
  return [share <= 0 ? 0 : Math.min(Math.max(middle - half, 0), share),
    share >= 1 ? 1 : Math.max(Math.min(middle + half, 1), share)];
}

interface Arm {
  rows: Row[];
  sums: Sums;
  base: number;
  draws: number;
  scale: number;
  profile: Profile;
}

// A part of a recording rests on that part of its draws: for threads side by side on more, so this
// is too few rather than too many.
function armOf(side: Side, metric: Metric, choice: Choice, scale: Scale): Arm {
  const sums = sumUp(side.profile, { ...choice, metric, process: side.process,
    thread: side.thread, ...side.time, programOnly: false });
  const whole = metric.total_ns - (choice.idle ? 0 : metric.idle_ns);
  const draws = whole > 0 ? metric.draws * Math.min(1, sums.base / whole) : 0;
  return { rows: functionRows(side.profile, sums), sums, base: sums.base, draws,
    scale: scale === 'time' ? sums.base : 1, profile: side.profile };
}

// Rows are one when they are of one function by name and file, else by name and module.
function pair(before: Arm, after: Arm): Pair[] {
  const pairs: Pair[] = [];
  let left = before.rows, right = after.rows;
  for (const part of ['file', 'module'] as const) {
    const key = (arm: Arm, row: Row) => {
      const func = arm.profile.functions[row.func];
      return before.profile === after.profile ? row.func : `${func.name}\0${func[part]}`;
    };
    const waiting = new Map<string | number, Row[]>();
    const first = (a: Row, b: Row) => before.profile.functions[a.func].firstLine
      - before.profile.functions[b.func].firstLine;
    for (const row of [...left].sort(first)) {
      const same = waiting.get(key(before, row));
      if (same) same.push(row);
      else waiting.set(key(before, row), [row]);
    }
    const rest: Row[] = [];
    const firstAfter = (a: Row, b: Row) => after.profile.functions[a.func].firstLine
      - after.profile.functions[b.func].firstLine;
    for (const row of [...right].sort(firstAfter)) {
      const same = waiting.get(key(after, row))?.shift();
      if (same) pairs.push([same, row]);
      else rest.push(row);
    }
    left = [...waiting.values()].flat();
    right = rest;
  }
  for (const row of left) pairs.push([row, null]);
  for (const row of right) pairs.push([null, row]);
  return pairs;
}

function judge(before: Arm, after: Arm, left: number, right: number, z: number): Value {
  const share = (arm: Arm, value: number) => (arm.base ? Math.min(1, value / arm.base) : 0);
  const p = share(before, left), q = share(after, right);
  const change = q * after.scale - p * before.scale;
  const [pLow, pHigh] = interval(p, before.draws, z), [qLow, qHigh] = interval(q, after.draws, z);
  const low = change - Math.hypot((q - qLow) * after.scale, (pHigh - p) * before.scale);
  const high = change + Math.hypot((qHigh - q) * after.scale, (p - pLow) * before.scale);
  return { before: p * before.scale, after: q * after.scale, change,
    sure: z > 0 && (low > 0 || high < 0) };
}

const isWorth = (value: number, { base }: Arm): boolean => value >= WORTH * base;

// How wide the intervals of so many judgements are, in standard deviations.
const widthFor = (judged: number): number =>
  judged && quantile(1 - (1 - CONFIDENCE) / judged);

// 0: its own time surely changed, 1: its total did, 2: neither.
export const rank = (row: Change): number => (row.self.sure ? 0 : row.total.sure ? 1 : 2);

export function compare(sides: [Side, Side], metrics: [Metric, Metric], choice: Choice,
  scale: Scale): Comparison {
  const before = armOf(sides[0], metrics[0], choice, scale);
  const after = armOf(sides[1], metrics[1], choice, scale);
  const pairs = pair(before, after);
  const worth = ([left, right]: Pair) =>
    isWorth(left?.total ?? 0, before) || isWorth(right?.total ?? 0, after);
  const counted = before.draws >= 1 && after.draws >= 1;
  const z = widthFor(2 * pairs.filter(worth).length);
  const rows = pairs.map((each) => {
    const [left, right] = each, own = counted && worth(each) ? z : 0;
    return {
      before: left?.func ?? -1, after: right?.func ?? -1,
      self: judge(before, after, left?.self ?? 0, right?.self ?? 0, own),
      total: judge(before, after, left?.total ?? 0, right?.total ?? 0, own),
    };
  });
  const size = (row: Change) => Math.abs(rank(row) === 1 ? row.total.change : row.self.change);
  rows.sort((a, b) => rank(a) - rank(b) || size(b) - size(a)
    || Math.abs(b.total.change) - Math.abs(a.total.change));
  return { before: before.base, after: after.base, counted, rows, arms: [before, after], pairs };
}

export interface Changes { // the stacks of both sides in one flame graph
  flame: Flame;
  functions: Func[]; // of the right side, and behind them what only the left one has
  places: number[][]; // by side and function of these: its number on that side, if it is there
  totals: Totals; // of each stack's own time, what it has on the side that has more of it
  valueOf: (box: number) => Value; // of its total
}

// So what is gone has its box as what is new has. All boxes are judged together.
export function changesOf({ arms, pairs, counted }: Comparison): Changes {
  const [before, after] = arms, functions = [...after.profile.functions];
  const places: number[][] = [[], functions.map((_, func) => func)], numbers: number[] = [];
  for (const [left, right] of pairs)
    if (left) {
      const number = right ? right.func : functions.push(before.profile.functions[left.func]) - 1;
      numbers[left.func] = number;
      places[0][number] = left.func;
    }
  const func = [-1], first = [0], next = [0];
  const numbered = arms.map(({ profile, sums }, side) => { // the boxes that have any time
    const { flame } = profile, { total } = flameTotals(profile, sums), at = new Int32Array(flame.count);
    for (let n = 1; n < flame.count; n++) {
      if (!total[n]) continue;
      const above = at[flame.parent[n]], own = flame.func[n];
      at[n] = func.length;
      func.push(side ? own : numbers[own]);
      next.push(first[above]);
      first.push(0);
      first[above] = at[n];
    }
    return at;
  });
  const flame = makeFlame(makeBoxes(func.length, Int32Array.from(func), Int32Array.from(first),
    Int32Array.from(next), functions.length), functions);
  const add = (own: Float64Array) => flameTotals({ flame } as Profile, { own } as Sums);
  const own = arms.map(({ sums }, side) => {
    const sum = new Float64Array(flame.count);
    sums.own.forEach((value, n) => { sum[flame.of[numbered[side][n]]] += value; });
    return sum;
  });
  const [left, right] = own.map((sum) => add(sum).total), part = arms.map(({ base, scale }) =>
    base && scale / base);
  const worth = left.map((value, n) => +(isWorth(value, before) || isWorth(right[n], after)));
  const z = counted ? widthFor(worth.filter(Boolean).length) : 0;
  return { flame, functions, places, totals: add(own[0].map((value, n) =>
    Math.max(value * part[0], own[1][n] * part[1]))),
    valueOf: (n) => judge(before, after, left[n], right[n], worth[n] * z) };
}
