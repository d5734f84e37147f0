// Only my code: what stands in frames of others is given to the line of the user's that called them,
// as `--only-my-code` does (model/model_fold.c).
import { againOf } from './counts';
import { boxesOf, makeBoxes, makeFlame, type Cells, type Profile } from './data';

const LABEL = 2; // what a function is that nobody wrote

// The node that each goes to: the outermost frame stays until one comes that is the user's.
function homes({ written, count, parent, func }: Profile) {
  const home = new Int32Array(count), above = new Int32Array(count);
  const folded = new Uint8Array(count);
  const known = new Map<string, number>(), mine = written.functions.map(([,,, kind, origin]) =>
    origin === 0 || kind === LABEL);
  for (let n = 1; n < count; n++) {
    above[n] = home[parent[n]];
    if (above[n] && !mine[func[n]]) {
      home[n] = above[n];
      folded[n] = 1;
      continue;
    }
    if (above[n] && !mine[func[above[n]]]) above[n] = 0;
    const key = `${above[n]} ${written.nodes[2 * n + 1]}`;
    home[n] = known.get(key) ?? n;
    known.set(key, home[n]);
  }
  return { home, above, folded };
}

// The nodes keep their numbers; one that goes to another is as that one, and not below its parent.
export function onlyMine(profile: Profile): Profile {
  const { count, functions, calls } = profile, { home, above, folded } = homes(profile);
  const of = (column: Int32Array) => column.map((_, n) => column[home[n]]);
  const parent = of(above), func = of(profile.func), line = of(profile.line);
  const first = new Int32Array(count), next = new Int32Array(count);
  for (let n = count; n-- > 1;)
    if (home[n] === n) {
      next[n] = first[parent[n]];
      first[parent[n]] = n;
    }
  const flame = makeFlame(makeBoxes(count, func, first, next, functions.length), functions);
  flame.of = of(flame.of);
  const moved = <T extends Cells>(cells: T): T => {
    const node = cells.node.map((n) => home[n]);
    return { ...cells, node, box: boxesOf(node, flame) };
  };
  // A call of others is none of the user's.
  const left = (column: Float64Array) =>
    column.map((value, i) => (folded[calls!.node[i]] ? 0 : value));
  return { ...profile, parent, func, line, first, next, flame, folded, cells: moved(profile.cells),
    calls: calls && { ...moved(calls), calls: left(calls.calls), resumes: left(calls.resumes),
      total: left(calls.total), suspended: left(calls.suspended),
      again: againOf(calls.node.map((n) => home[n]), parent, func),
      outer: calls.node.map((n) => {
        while (folded[n]) n = profile.parent[n];
        return profile.seen.of[n];
      }) } };
}
