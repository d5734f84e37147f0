// A view in words that outlive the numbers of one reading of a recording: what a page shows of one
// that is still being written is numbered anew each time that it is read.
import { moments, type Func, type Profile } from './data';
import type { View } from './view';

export interface Place {
  func: string;
  zoom: string[]; // functions from the root on
  process: string;
  thread: string;
  region: string;
  part: [number, number] | null; // ns from the start of the recording
  sides: [string, string]; // as in the view, with names and times for numbers
}

const keyOf = (func: Func): string =>
  `${func.name}\n${func.file}\n${func.firstLine}\n${func.module}`;

const processKey = (profile: Profile, index: number): string =>
  index < 0 ? '' : String(profile.written.processes[index].pid);

const threadKey = (profile: Profile, index: number): string => {
  if (index < 0) return '';
  const { process, tid, name } = profile.written.threads[index];
  return `${processKey(profile, process)} ${tid} ${name}`;
};

const insideKey = (each?: Profile['inside'][number]): string => (each ? each[2] + each[0] : '');

// What a side's id numbers: processes (p), threads (t), slices (r, x). Of another recording (b…)
// the numbers stay.
const SIDE = /^([ptrx])(\d+)(?:-(\d+))?$/;

function sideOf(profile: Profile, id: string): string {
  const [, kind, first, last] = SIDE.exec(id) ?? [];
  const from = Number(first), { processes, threads, slices } = profile.written;
  if (kind === 'p' && from < processes.length) return `p ${processKey(profile, from)}`;
  if (kind === 't' && from < threads.length) return `t ${threadKey(profile, from)}`;
  if (last) return `${kind} ${moments(slices, from, Number(last)).join(' ')}`;
  return id;
}

// Slices that hold a part of the time best: at least one.
function slicesOf(profile: Profile, begin: number, end: number): [number, number] {
  const { count, first_ns, width_ns } = profile.written.slices;
  const at = (ns: number) =>
    Math.max(0, Math.min(count, Math.round((ns - first_ns) / Math.max(width_ns, 1))));
  const from = Math.min(at(begin), count - 1);
  return [from, Math.max(from + 1, at(end))];
}

function sideAt(profile: Profile, side: string): string {
  const blank = side.indexOf(' '), kind = side.slice(0, blank), rest = side.slice(blank + 1);
  if (blank < 0) return side;
  const { processes, threads } = profile.written;
  const found = kind === 'p' ? processes.findIndex((_, i) => processKey(profile, i) === rest)
    : kind === 't' ? threads.findIndex((_, i) => threadKey(profile, i) === rest) : -1;
  if (kind === 'p' || kind === 't') return found < 0 ? '' : kind + found;
  const [begin, end] = rest.split(' ').map(Number);
  return kind + slicesOf(profile, begin, end).join('-');
}

export function placeOf(profile: Profile, view: View): Place {
  const { flame, functions, written } = profile;
  const zoom: string[] = [];
  for (let box = view.mine ? 0 : view.zoom; box > 0; box = flame.parent[box])
    zoom.unshift(keyOf(functions[flame.func[box]]));
  return {
    func: view.func < 0 ? '' : keyOf(functions[view.func]), zoom,
    process: processKey(profile, view.process), thread: threadKey(profile, view.thread),
    region: insideKey(profile.inside[view.region]),
    part: view.from < 0 ? null : moments(written.slices, view.from, view.to),
    sides: [sideOf(profile, view.left), sideOf(profile, view.right)],
  };
}

// The view with the numbers that its place has in this reading; what is not there is not chosen.
export function viewAt(profile: Profile, place: Place, view: View): View {
  const { flame, functions, written } = profile;
  let zoom = 0;
  for (const key of place.zoom) {
    let child = zoom + 1;
    while (child < flame.end[zoom] && keyOf(functions[flame.func[child]]) !== key)
      child = flame.end[child];
    if (child >= flame.end[zoom]) break;
    zoom = child;
  }
  const [from, to] = place.part ? slicesOf(profile, ...place.part) : [-1, -1];
  return {
    ...view, zoom, from, to,
    func: place.func ? functions.findIndex((func) => keyOf(func) === place.func) : -1,
    process: place.process
      ? written.processes.findIndex((_, i) => processKey(profile, i) === place.process) : -1,
    thread: place.thread
      ? written.threads.findIndex((_, i) => threadKey(profile, i) === place.thread) : -1,
    region: profile.inside.findIndex((each) => insideKey(each) === place.region),
    left: sideAt(profile, place.sides[0]), right: sideAt(profile, place.sides[1]),
  };
}

// Gives functions and boxes of a new reading the numbers that those of the old one have by which
// the page tells its rows apart, so that the elements of what stays are not made anew.
export function keepNames(old: Profile, next: Profile): void {
  const named = new Map<string, number>();
  old.functions.forEach((func, i) => named.set(keyOf(func), old.names.func[i]));
  let fresh = old.names.func.reduce((most, name) => Math.max(most, name), -1);
  next.names.func = Int32Array.from(next.functions, (func) => named.get(keyOf(func)) ?? ++fresh);
  const boxes = new Map<string, number>();
  for (let box = 1; box < old.flame.count; box++)
    boxes.set(`${old.names.box[old.flame.parent[box]]} ${old.names.func[old.flame.func[box]]}`,
      old.names.box[box]);
  fresh = old.names.box.reduce((most, name) => Math.max(most, name), 0);
  for (let box = 1; box < next.flame.count; box++) {
    const above = next.names.box[next.flame.parent[box]];
    next.names.box[box] =
      boxes.get(`${above} ${next.names.func[next.flame.func[box]]}`) ?? ++fresh;
  }
}
