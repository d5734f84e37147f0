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
  const { cells, written: { threads, processes, slices, threads_joined } } = profile;
  const times = new Float64Array(threads.length);
  const everywhere = { ...choice, ...allTime(profile) }, given = profile.written.lanes;
  if (given) addGiven(profile, choice, times);
  else
    eachChosen(profile, everywhere, (i) => {
      times[cells.thread[i]] += cells.wall[i] - (choice.idle ? 0 : cells.idle[i]);
    }, cells);
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
  if (given) return lanesGiven(profile, choice, lanes, laneOf);
  for (const lane of lanes) lane.states = STATES.map(() => new Float64Array(slices.count));
  const blocked = STATES.indexOf('blocked');
  eachChosen(profile, everywhere, (i) => {
    const lane = lanes[laneOf[cells.thread[i]]], slice = cells.slice[i];
    if (!lane) return;
    for (const state of cells.kept) lane.states[state][slice] += cells.states[state][i];
    if (!choice.idle) lane.states[blocked][slice] -= cells.idle[i];
  }, cells);
  return lanes;
}

// Out of what the page was given of each thread, whatever the stack.
function addGiven({ written: { lanes, threads } }: Profile, choice: Choice, times: Float64Array): void {
  for (const [track, ...columns] of lanes!) {
    const thread = track as number, { process } = threads[thread];
    if ((choice.thread >= 0 && choice.thread !== thread)
      || (choice.process >= 0 && choice.process !== process)) continue;
    const sum = (column: number[]) => column.reduce((all, value) => all + value, 0);
    STATES.forEach((_, state) => { times[thread] += sum(columns[state]); });
    if (!choice.idle) times[thread] -= sum(columns[STATES.length]);
  }
}

function lanesGiven({ written: { lanes: given, slices } }: Profile, choice: Choice, lanes: Lane[],
  laneOf: Int32Array): Lane[] {
  const blocked = STATES.indexOf('blocked');
  for (const lane of lanes) lane.states = STATES.map(() => new Float64Array(slices.count));
  for (const [thread, ...columns] of given!) {
    const lane = lanes[laneOf[thread as number]], idle = columns[STATES.length];
    if (!lane) continue;
    lane.states.forEach((times, state) => {
      for (let slice = 0; slice < slices.count; slice++) {
        times[slice] += columns[state][slice];
        if (state === blocked && !choice.idle) times[slice] -= idle[slice];
      }
    });
  }
  return lanes;
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
