// The part of the time that all views are of. A page of too many stacks to have them slice by slice
// asks its server for it; until the answer is there it shows what it showed before, and where that is
// of another profile, or was nothing, nothing.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { partOf, type Cells, type Metric, type Profile } from './data';
import { allTime } from './sums';
import type { View } from './view';

type Time = ReturnType<typeof timeOf>;

const timeOf = (profile: Profile, from: number, to: number, part?: Cells) =>
  (from < 0 ? allTime(profile) : { from, to, outside: false, part });

async function ask(profile: Profile, from: number, to: number, states: boolean): Promise<Cells> {
  const answer = await fetch(`api/part?version=${profile.reading}&from=${from}&to=${to}${
    states ? '&states=1' : ''}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error(String(answer.status));
  return partOf(profile, await answer.arrayBuffer(), states);
}

interface Shown {
  profile: Profile;
  tab: View['tab'];
  metric: Metric;
  time: Time;
}

// What is to be shown, whether it is not what was chosen yet, whether it is not to be seen before, and
// whether there was no answer.
export function usePart(profile: Profile, { from, to, tab }: View, metric: Metric): [Shown, boolean,
  boolean, boolean] {
  const states = tab !== 'explore' || metric.name !== 'wall'; // what is looked at tells them apart
  const asks = !!profile.written.asked && from >= 0;
  const [had, setHad] = useState<Time & { profile: Profile; states: boolean }>();
  const [failed, setFailed] = useState(false);
  const fits = asks && had?.profile === profile && (had.states || !states);
  const there = fits && had.from === from && had.to === to;
  // While what is chosen is drawn the server is at work already.
  const answer = useMemo(() => asks && !there ? ask(profile, from, to, states) : null,
    [profile, asks, from, to, states]);
  useLayoutEffect(() => {
    setFailed(false);
    let left = false;
    answer?.then(
      (part) => !left && setHad({ profile, states, ...timeOf(profile, from, to, part) }),
      () => !left && setFailed(true));
    return () => { left = true; };
  }, [answer]);
  const all = useMemo(() => timeOf(profile, asks ? -1 : from, to), [profile, asks, from, to]);
  const waits = asks && !failed && !there, before = useRef({} as Shown);
  const next = { profile, tab, metric, time: fits ? had : all };
  if (!waits) before.current = next;
  const lacks = before.current.profile !== profile;
  return [lacks ? next : before.current, waits, lacks, failed];
}
