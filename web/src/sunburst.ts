// The same boxes as rings: what is looked at in the middle, callees around it, over angles.
import { boxAt, fillOf, type Box, type Look, type Rows, type Scene, type Surface } from './flame';

const RING_MIN = 14;
const TURN = 2 * Math.PI;

export interface Rings {
  first: number; // depth of the middle
  thick: number; // px of each
  radius: number;
}

// How many rows there is room for below the middle, at least.
export const ringRoom = (size: number): number => Math.max(1, Math.floor(size / 2 / RING_MIN) - 1);

export function ringsOf(rows: Rows, first: number, size: number): Rings {
  const radius = size / 2;
  return { first, thick: radius / Math.max(1, rows.length - first), radius };
}

// A box's angles, clockwise from the top. Boxes are laid out over the circumference.
const angles = (box: Box, { radius }: Rings): [number, number] =>
  [box.x / radius - TURN / 4, (box.x + box.width) / radius - TURN / 4];

// The depth and the number of the box at a point from the middle, or null.
export function ringAt(rows: Rows, rings: Rings, x: number, y: number): [number, number] | null {
  const depth = rings.first + Math.floor(Math.hypot(x, y) / rings.thick);
  const angle = (Math.atan2(y, x) + TURN / 4 + TURN) % TURN;
  const index = boxAt(rows[depth], angle * rings.radius);
  return index < 0 ? null : [depth, index];
}

function path(surface: Surface, rings: Rings, depth: number, box: Box): void {
  const inner = (depth - rings.first) * rings.thick, outer = inner + rings.thick;
  const [from, to] = angles(box, rings), middle = rings.radius;
  surface.beginPath();
  surface.arc(middle, middle, outer, from, to);
  if (inner > 0) surface.arc(middle, middle, inner, to, from, true);
  surface.closePath();
}

export function drawRings(surface: Surface, look: Look, scene: Omit<Scene, 'up' | 'top'>,
  rings: Rings, depth?: number): void { // depth: of what is selected
  surface.clearRect(0, 0, scene.width, scene.height);
  surface.strokeStyle = look.edge;
  surface.lineWidth = 1;
  for (let depth = rings.first; depth < scene.rows.length; depth++)
    for (const box of scene.rows[depth]) {
      const { fill, dim } = fillOf(look, scene, box.node);
      surface.fillStyle = box.thin > 0 ? look.fills.none : fill;
      surface.globalAlpha = box.thin > 0 || dim ? 0.45 : 1;
      path(surface, rings, depth, box);
      surface.fill();
      surface.globalAlpha = 1;
      surface.stroke();
    }
  if (!scene.selected || depth === undefined || depth < rings.first) return;
  surface.strokeStyle = look.mark;
  surface.lineWidth = 2;
  path(surface, rings, depth, scene.selected);
  surface.stroke();
}
