// The timeline without a screen: what each thread did in each slice of the time, and how that is
// drawn. A lane of one thread is as high as the slice is long: where it did not live it is empty.
import { STATES, type Profile } from './data';
import { allTime, eachChosen, type Choice } from './sums';
import type { Surface } from './flame';

export const LANE = 30;
const LANES_MAX = 12; // the rest are one lane

export interface Lane {
  title: string;
  thread: number; // -1: several are in it
  several: boolean; // threads are added up in it
  states: Float64Array[]; // as STATES: ns by slice
}

// A lane for each of the threads with most time, in the order of the recording. Of what is chosen,
// but at all times: the part of the time is chosen here.
export function lanesOf(profile: Profile, choice: Choice): Lane[] {
  const { threads, processes, slices, threads_joined } = profile.written;
  const times = new Float64Array(threads.length);
  eachTime(profile, choice, (thread, _, __, ns) => { times[thread] += ns; });
  const busiest = threads.map((_, thread) => thread).filter((thread) => times[thread] > 0)
    .sort((a, b) => times[b] - times[a] || a - b);
  const alone = busiest.length > LANES_MAX ? busiest.slice(0, LANES_MAX - 1) : busiest;
  const laneOf = new Int32Array(threads.length).fill(-1); // of who only waited for work: none
  for (const thread of busiest.slice(alone.length)) laneOf[thread] = alone.length;
  const lanes = alone.sort((a, b) => a - b).map((thread, lane): Lane => {
    const { name, tid, process } = threads[thread], role = processes[process].role;
    laneOf[thread] = lane;
    return { title: threads_joined ? role : processes.length > 1 ? `${role}: ${name} ${tid}`
      : `${name} ${tid}`, thread: threads_joined ? -1 : thread, several: threads_joined, states: [] };
  });
  if (busiest.length > alone.length)
    lanes.push({ title: `${busiest.length - alone.length} others`, thread: -1, several: true, states: [] });
  for (const lane of lanes) lane.states = STATES.map(() => new Float64Array(slices.count));
  eachTime(profile, choice, (thread, slice, state, ns) => {
    const lane = lanes[laneOf[thread]];
    if (lane) lane.states[state][slice] += ns;
  });
  return lanes;
}

// What of each thread lies in each slice, by state. Where the page was given that of all stacks, it is
// of those, whatever is in focus.
function eachTime(profile: Profile, choice: Choice,
  add: (thread: number, slice: number, state: number, ns: number) => void): void {
  const { cells, written: { lanes, threads } } = profile;
  const left = (state: number) => !choice.idle && STATES[state] === 'blocked'; // out, what was idle
  if (!lanes)
    return eachChosen(profile, { ...choice, ...allTime(profile) }, (i) => {
      for (const state of cells.kept)
        add(cells.thread[i], cells.slice[i], state,
          cells.states[state][i] - (left(state) ? cells.idle[i] : 0));
    }, cells);
  for (const [track, ...columns] of lanes) {
    const thread = track as number, { process } = threads[thread];
    if ((choice.thread < 0 || choice.thread === thread)
      && (choice.process < 0 || choice.process === process))
      STATES.forEach((_, state) => columns[state].forEach((ns, slice) =>
        add(thread, slice, state, ns - (left(state) ? columns[STATES.length][slice] : 0))));
  }
}

export interface LaneLook {
  fills: string[]; // as STATES
  back: string;
  shade: string;
  mark: string;
}

export interface LaneScene {
  lanes: Lane[];
  width: number; // px
  count: number; // slices
  full_ns: number; // what a thread has in one
  part: [number, number] | null; // slices that are chosen
}

// What waits is drawn with gaps, so that it can be told apart without its colour.
function column(surface: Surface, look: LaneLook, state: number, box: [number, number, number,
  number], index: number): void {
  const [x, y, width, height] = box, waits = state > 0;
  surface.fillStyle = look.fills[state];
  surface.fillRect(x, y, width, height);
  if (!waits || height < 4 || index % 2) return;
  surface.fillStyle = look.back;
  for (let line = 2 + state; line < height; line += 5) surface.fillRect(x, y + line, width, 1);
}

export function drawLanes(surface: Surface, look: LaneLook, scene: LaneScene): void {
  const { lanes, width, count, part } = scene, step = width / count;
  surface.clearRect(0, 0, width, lanes.length * LANE);
  lanes.forEach((lane, row) => {
    const foot = (row + 1) * LANE - 2, high = LANE - 4;
    const whole = Math.max(lane.several ? most(lane) : scene.full_ns, 1);
    for (let slice = 0; slice < count; slice++) {
      let y = foot;
      const x = Math.floor(slice * step), wide = Math.max(Math.ceil((slice + 1) * step) - x, 1);
      lane.states.forEach((times, state) => {
        const height = Math.min(times[slice] / whole * high, y - foot + high);
        if (height <= 0) return;
        y -= height;
        column(surface, look, state, [x, y, wide, height], slice);
      });
    }
  });
  if (part) {
    surface.fillStyle = look.shade;
    surface.globalAlpha = 0.6;
    surface.fillRect(0, 0, part[0] * step, lanes.length * LANE);
    surface.fillRect(part[1] * step, 0, width - part[1] * step, lanes.length * LANE);
    surface.globalAlpha = 1;
    surface.strokeStyle = look.mark;
    surface.lineWidth = 1;
    surface.strokeRect(part[0] * step, 0.5, (part[1] - part[0]) * step, lanes.length * LANE - 1);
  }
}

// The largest sum of a slice: what a lane of several threads is drawn against.
function most(lane: Lane): number {
  let largest = 0;
  for (let slice = 0; slice < lane.states[0].length; slice++)
    largest = Math.max(largest, lane.states.reduce((sum, times) => sum + times[slice], 0));
  return largest;
}

// What a lane did in some slices, the longest first.
export function statesIn(lane: Lane, from: number, to: number): [string, number][] {
  return lane.states.map((times, state): [string, number] =>
    [STATES[state], times.subarray(from, to).reduce((sum, value) => sum + value, 0)])
    .filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
}
