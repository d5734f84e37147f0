// The part of the time that all views are of. A page of too many stacks to have them slice by slice
// asks its server for it; until the answer is there it shows what it showed before.
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { partOf, type Cells, type Profile } from './data';
import { allTime } from './sums';

type Time = ReturnType<typeof timeOf>;

const timeOf = (profile: Profile, from: number, to: number, part?: Cells) =>
  (from < 0 ? allTime(profile) : { from, to, outside: false, part });

async function ask(profile: Profile, from: number, to: number, states: boolean): Promise<Cells> {
  const answer = await fetch(`api/part?version=${profile.reading}&from=${from}&to=${to}${
    states ? '&states=1' : ''}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error(String(answer.status));
  return partOf(profile, await answer.arrayBuffer());
}

// `states`: whether what is looked at tells one from the other.
export function usePart(profile: Profile, from: number, to: number, states: boolean): { time: Time;
  waits: boolean; failed: boolean } {
  const asks = profile.written.asked !== undefined && from >= 0;
  const [had, setHad] = useState<{ profile: Profile; time: Time; states: boolean } | null>(null);
  const [failed, setFailed] = useState(false);
  const fits = asks && had?.profile === profile && (had.states || !states);
  const there = fits && had.time.from === from && had.time.to === to;
  useLayoutEffect(() => {
    setFailed(false);
    if (!asks) {
      setHad(null);
      return;
    }
    if (there) return;
    let left = false;
    ask(profile, from, to, states).then(
      (part) => !left && setHad({ profile, time: timeOf(profile, from, to, part), states }),
      () => !left && setFailed(true));
    return () => { left = true; };
  }, [profile, asks, from, to, states]);
  const all = useMemo(() => timeOf(profile, asks ? -1 : from, to), [profile, asks, from, to]);
  return { time: fits ? had.time : all, waits: asks && !failed && !there, failed };
}
