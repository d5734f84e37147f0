// Numbers as the terminal's report writes them.

type Unit = [string, number, number]; // and where the next one reads better

let units: Unit[] = [[' ns', 1, 1000], [' us', 1e3, 1000], [' ms', 1e6, 1000], [' s', 1e9, 120],
  [' min', 6e10, 120], [' h', 3.6e12, Infinity]], nothing = '0 s';

// From here on what is kept as so many ns each is shown as a number, for it is no time.
export function countBy(each: number): void {
  if (!each) return;
  nothing = '0';
  units = ['', ' k', ' M', ' G', ' T'].map((unit, i): Unit =>
    [unit, each * 1e3 ** i, i < 4 ? 1000 : Infinity]);
}

export function time(ns: number): string {
  for (const [unit, scale, limit] of units) {
    const value = Number((ns / scale).toPrecision(3));
    if (value < limit && ns) return `${value}${unit}`;
  }
  return nothing;
}

// A moment of the recording, or a length, on the command line: exact.
export function exactly(ns: number): string {
  for (const [unit, scale] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]] as [string, number][])
    if (ns % scale === 0) return `${ns / scale}${unit}`;
  return `${ns}ns`;
}

export function share(part: number, whole: number): string {
  const percent = whole ? 100 * part / whole : 0;
  if (part > 0 && percent < 0.05) return '<0.1 %';
  return `${percent.toFixed(percent > 0 && percent < 9.95 ? 1 : 0)} %`;
}

// How much faster the whole would be, at most, without that part.
export function bound(part: number, whole: number): string {
  const rest = whole ? 1 - part / whole : 1;
  if (rest < 0.01) return '>x100';
  const value = 1 / rest;
  return `x${value.toFixed(value < 9.995 ? 2 : 1)}`;
}

export const count = (value: number): string => value.toLocaleString('en-US');

export const plural = (value: number, one: string): string =>
  `${count(value)} ${one}${value === 1 ? '' : 's'}`;

// A word of a shell command.
export function quoted(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

// A name as a pattern of the shell that means it alone.
export const literally = (name: string): string => name.replace(/[*?[\\]/g, '\\$&');
