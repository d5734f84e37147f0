// Function: who calls it, whom it calls, and its lines.
import { useMemo } from 'preact/hooks';
import type { Func } from './data';
import { FunctionName, Meter, Name, opens, Scroll, Section, Times, usePage } from './parts';
import { functionRows, linesOf, neighbours, ROOT, type Line, type Row } from './sums';
import { bound, share, time } from './words';

const SHOWN = 50;

function Edges({ rows, whole, none, label }: { rows: Row[]; whole: number; none: string;
  label: string }) {
  const { go } = usePage();
  if (rows.length === 0) return <p class="faint">{none}</p>;
  return <Scroll label={label}><table class="rows">
    <thead><tr><th scope="col" class="number">Share</th>
      <th scope="col" class="number time">time</th><th scope="col">Function</th></tr></thead>
    <tbody>{rows.slice(0, SHOWN).map((row) => <tr key={row.func}>
      <Times part={row.total} whole={whole} />
      <td class="wide">{row.func === ROOT ? <FunctionName func={ROOT} />
        : <a href="#" {...opens(() => go({ func: row.func }))}>
          <FunctionName func={row.func} /></a>}</td>
    </tr>)}</tbody></table>
    {rows.length > SHOWN && <p class="faint">and {rows.length - SHOWN} more, {time(rows.slice(SHOWN)
      .reduce((sum, row) => sum + row.total, 0))}</p>}
  </Scroll>;
}

function Lines({ func, lines, whole }: { func: number; lines: Line[]; whole: number }) {
  const { profile } = usePage();
  const source = profile.written.source?.[func];
  const by = new Map(lines.map((line) => [line.line, line]));
  let shown: { line: number; text: string | null }[] =
    lines.map(({ line }) => ({ line, text: null }));
  if (source) {
    const [first, ...texts] = source;
    shown = texts.map((text, i) => ({ line: first + i, text }));
    for (const line of lines)
      if (line.line < first || line.line >= first + texts.length)
        shown.push({ line: line.line, text: null });
  }
  return <Scroll label="Lines"><table class="rows lines">
    <thead><tr><th scope="col" class="number">Line</th><th scope="col" class="number">Self</th>
      <th scope="col" class="number">Total</th><th scope="col">{source ? 'Source' : 'Share'}</th>
    </tr></thead>
    <tbody>{shown.map(({ line, text }) => {
      const times = by.get(line);
      return <tr key={line} class={times ? '' : 'cold'}>
        <td class="number">{line || '?'}</td>
        <td class="number">{times ? share(times.self, whole) : ''}</td>
        <td class="number">{times ? share(times.total, whole) : ''}</td>
        <td class="wide">{times && <Meter part={times.total} whole={whole} />}
          {text !== null && <code><bdi>{text}</bdi></code>}</td>
      </tr>;
    })}</tbody></table></Scroll>;
}

function Facts({ func, row, base }: { func: Func; row: Row; base: number }) {
  return <p>
    {func.file && <><Name text={func.firstLine ? `${func.file}:${func.firstLine}` : func.file} />
      {'. '}</>}
    Self <b>{share(row.self, base)}</b> ({time(row.self)}), total <b>{share(row.total, base)}</b>
    {' '}({time(row.total)}) of {time(base)}; without its own time the whole would be at
    most {bound(row.self, base)} as fast.
  </p>;
}

export function FunctionView() {
  const { profile, view, sums } = usePage();
  const rows = useMemo(() => functionRows(profile, sums), [profile, sums]);
  const top = rows.reduce((best, row) => (row.self > (best?.self ?? -1) ? row : best),
    undefined as Row | undefined);
  const chosen = view.func >= 0 ? view.func : top?.func ?? -1;
  const row = rows.find((each) => each.func === chosen);
  const edges = useMemo(() => neighbours(profile, sums, chosen), [profile, sums, chosen]);
  const lines = useMemo(() => linesOf(profile, sums, chosen), [profile, sums, chosen]);
  if (chosen < 0) return <p>Nothing was recorded here.</p>;
  const func = profile.functions[chosen];
  return <>
    <h2 class="title"><Name text={func.name} /></h2>
    {row ? <Facts func={func} row={row} base={sums.base} />
      : <p class="warn">It has no time in what is chosen above.</p>}
    <div class="columns">
      <Section id="callers" title="Called by">
        <Edges rows={edges.callers} whole={row?.total ?? 0} label="Called by"
          none="Nobody." />
      </Section>
      <Section id="callees" title="Calls">
        <Edges rows={edges.callees} whole={row?.total ?? 0} label="Calls"
          none="Nothing that was seen." />
      </Section>
    </div>
    {lines.length > 0 && <Section id="lines" title="Its lines">
      <Lines func={chosen} lines={lines} whole={row?.total ?? 0} />
      {!profile.written.source && <p class="faint">Source is in a page only when it was made with
        --source.</p>}
    </Section>}
  </>;
}
