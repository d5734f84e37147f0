// The flame graph without a screen: which boxes there are at a width, what is at a point, and how
// it is drawn on anything that has the few methods of a canvas that are used.
import type { ComponentChild } from 'preact';
import { ORIGINS, type Flame, type Func } from './data';
import type { Target } from './menu';

export const ROW = 20;
const THIN = 3; // narrower boxes are put together
const TEXT_MIN = 30;
const PAD = 4;

export interface Box {
  x: number;
  width: number;
  node: number; // a thin box: the parent of what it holds
  thin: number; // how many frames it stands for, 0: a frame of its own
  value: number;
}

export type Rows = Box[][]; // by depth, each from left to right

export interface Limits {
  depth: number; // rows below `zoom`, 0: all
  cutoff: number; // share of `zoom` below which boxes are put together
}

// The boxes of `zoom` and what is below, and its callers over the whole width.
export function layOut(flame: Flame, total: Float64Array, zoom: number, width: number,
  limits: Limits): Rows {
  const deepest = limits.depth ? flame.depth[zoom] + limits.depth : Infinity;
  const rows: Rows = [];
  const put = (depth: number, box: Box) => (rows[depth] ??= []).push(box);
  const scale = total[zoom] > 0 ? width / total[zoom] : 0;
  const least = Math.max(THIN, limits.cutoff * width);
  for (let n = zoom; ; n = flame.parent[n]) {
    put(flame.depth[n], { x: 0, width, node: n, thin: 0, value: total[n] });
    if (n === 0) break;
  }
  const lefts = new Map<number, number>([[zoom, 0]]);
  for (let n = zoom; n < flame.end[zoom];) {
    const left = lefts.get(n);
    if (left === undefined || flame.depth[n] >= deepest) { // a part of a thin box, or too deep
      n = flame.end[n];
      continue;
    }
    let at = left, thin = 0, value = 0;
    for (let child = n + 1; child < flame.end[n]; child = flame.end[child]) {
      const wide = total[child] * scale;
      if (total[child] === 0) continue;
      if (wide < least) {
        thin += flame.end[child] - child;
        value += total[child];
        continue;
      }
      lefts.set(child, at);
      put(flame.depth[child], { x: at, width: wide, node: child, thin: 0, value: total[child] });
      at += wide;
    }
    if (thin > 0)
      put(flame.depth[n] + 1, { x: at, width: Math.max(value * scale, 1), node: n, thin, value });
    n++;
  }
  for (let depth = 0; depth < rows.length; depth++) rows[depth] ??= [];
  return rows;
}

// The number of the box of a row at `x`, by bisection, or -1.
export function boxAt(row: Box[] | undefined, x: number): number {
  let low = 0, high = row?.length ?? 0;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row![middle].x <= x) low = middle + 1;
    else high = middle;
  }
  const box = low > 0 ? row![low - 1] : undefined;
  return box && x < box.x + box.width ? low - 1 : -1;
}

export interface Look {
  fills: Record<string, string>; // by origin
  ink: string;
  edge: string;
  mark: string;
  font: string;
}

// What of a CanvasRenderingContext2D is used.
export interface Surface {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textBaseline: CanvasTextBaseline;
  clearRect(x: number, y: number, width: number, height: number): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
  beginPath(): void;
  closePath(): void;
  arc(x: number, y: number, radius: number, from: number, to: number, back?: boolean): void;
  fill(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void;
  stroke(): void;
}

export interface Changed {
  fill: string; // as Look's
  sign: string;
  words: ComponentChild;
  target: Target;
}

export interface Scene {
  rows: Rows;
  flame: Flame;
  functions: Func[];
  zoom: number;
  selected: Box | null;
  found: ((func: number) => boolean) | null; // what a search is for
  changed?: (node: number) => Changed; // between two sides
  up: boolean; // callees above their callers: a flame
  top: number; // scrolled
  width: number;
  height: number;
}

// Where a row lies among all of them, from the top.
export const rowTop = (rows: Rows, depth: number, up: boolean): number =>
  (up ? rows.length - 1 - depth : depth) * ROW;

// How a frame is filled, and whether it is no more than what stands around what is looked at.
export function fillOf(look: Look, scene: Pick<Scene, 'flame' | 'functions' | 'found' | 'changed'>,
  node: number): { fill: string; dim: boolean } {
  const func = scene.flame.func[node];
  return { fill: look.fills[scene.changed ? scene.changed(node).fill
    : func < 0 ? 'none' : ORIGINS[scene.functions[func].origin]],
    dim: scene.found !== null && (func < 0 || !scene.found(func)) };
}

export const cut = (text: string, letters: number): string =>
  text.length <= letters ? text : letters < 3 ? '' : text.slice(0, letters - 1) + '…';

function hatch(surface: Surface, look: Look, box: Box, y: number): void {
  surface.fillStyle = look.fills.none;
  surface.fillRect(box.x, y, box.width, ROW - 1);
  surface.strokeStyle = look.ink;
  surface.lineWidth = 1;
  surface.globalAlpha = 0.4;
  surface.beginPath();
  for (let x = box.x; x < box.x + box.width; x += 5) {
    const reach = Math.min(ROW - 1, box.x + box.width - x);
    surface.moveTo(x, y + ROW - 1);
    surface.lineTo(x + reach, y + ROW - 1 - reach);
  }
  surface.stroke();
  surface.globalAlpha = 1;
}

export function draw(surface: Surface, look: Look, scene: Scene): void {
  const { rows, flame, functions } = scene;
  surface.clearRect(0, 0, scene.width, scene.height);
  surface.font = look.font;
  surface.textBaseline = 'middle';
  const letter = surface.measureText('nnnnnnnnnn').width / 10;
  for (let depth = 0; depth < rows.length; depth++) {
    const y = rowTop(rows, depth, scene.up) - scene.top;
    if (y <= -ROW || y >= scene.height) continue;
    for (const box of rows[depth]) {
      const func = flame.func[box.node];
      if (box.thin > 0) {
        hatch(surface, look, box, y);
      } else {
        const { fill, dim } = fillOf(look, scene, box.node);
        surface.globalAlpha = dim || depth < flame.depth[scene.zoom] ? 0.45 : 1;
        surface.fillStyle = fill;
        surface.fillRect(box.x, y, Math.max(box.width - 1, 1), ROW - 1);
        surface.globalAlpha = 1;
      }
      if (box.width >= TEXT_MIN) {
        const text = box.thin > 0 ? `${box.thin} thin`
          : (scene.changed ? scene.changed(box.node).sign + ' ' : '')
            + (func < 0 ? 'all' : functions[func].name);
        surface.fillStyle = look.ink;
        surface.fillText(cut(text, Math.floor((box.width - 2 * PAD) / letter)), box.x + PAD,
          y + ROW / 2);
      }
      if (box === scene.selected) {
        surface.strokeStyle = look.mark;
        surface.lineWidth = 2;
        surface.strokeRect(box.x + 1, y + 1, Math.max(box.width - 3, 1), ROW - 3);
      }
    }
  }
}
