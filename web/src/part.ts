// The part of the time that all views are of. A page of too many stacks to have them slice by slice
// asks its server for it; until the answer is there it shows what it showed before, and where that is
// of another profile, or was nothing, nothing.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { partOf, type Cells, type Metric, type Profile } from './data';
import { allTime } from './sums';
import type { View } from './view';

type Time = ReturnType<typeof timeOf>;

const timeOf = (profile: Profile, from: number, to: number, part?: Cells) =>
  (from < 0 ? allTime(profile) : { from, to, outside: false, part });

async function ask(profile: Profile, from: number, to: number, states: boolean):
  Promise<ArrayBuffer> {
  const answer = await fetch(`api/part?version=${profile.reading}&from=${from}&to=${to}${
    states ? '&states=1' : ''}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.arrayBuffer();
}

const KEPT_MAX_BYTES = 1 << 26;

// Fetches what each slice has, one after the other, as long as there is nothing newer.
async function keep(slices: ArrayBuffer[], profile: Profile, states: boolean,
  same: { current: boolean }) {
  const { count } = profile.written.slices;
  for (let bytes = 0, i = 0; i < count && bytes < KEPT_MAX_BYTES && same.current; i++) {
    slices[i] = await ask(profile, i, i + 1, states);
    bytes += slices[i].byteLength;
  }
}

interface Shown {
  profile: Profile;
  tab: View['tab'];
  metric: Metric;
  time: Time;
}

// What is to be shown, whether it is not what was chosen yet, whether it is not to be seen before, and
// whether there was no answer.
export function usePart(profile: Profile, { from, to, tab }: View, metric: Metric, grows: boolean):
  [Shown, boolean, boolean, boolean] {
  const states = tab !== 'explore' || metric.name !== 'wall'; // what is looked at tells them apart
  const asks = !!profile.written.asked && from >= 0;
  const [got, setHad] = useState<Time & { profile: Profile; states: boolean }>();
  const [failed, setFailed] = useState(false);
  // What the page was opened with is added up here, once its slices are there: in Explore, where the
  // part is chosen, they are fetched before it is. What grows would have to be fetched again and again.
  const opened = useRef(profile), same = useRef(false), kept = useRef<ArrayBuffer[][]>([]);
  same.current = !grows && profile === opened.current;
  const together = useMemo(() => {
    const slices = asks && profile === opened.current && kept.current[+states];
    return slices && slices.length >= to && { profile, states, ...timeOf(profile, from, to,
      partOf(profile, slices.slice(from, to), states)) };
  }, [profile, asks, from, to, states]);
  useEffect(() => {
    if (!same.current || kept.current[+states]) return;
    if (asks || (profile.written.asked && tab === 'explore' && !states))
      keep(kept.current[+states] = [], profile, states, same).catch(() => {}); // the server is asked then
  }, [profile, asks, tab, states]);
  const had = together || got;
  const fits = asks && had?.profile === profile && (had.states || !states);
  const there = fits && had.from === from && had.to === to;
  // While what is chosen is drawn the server is at work already.
  const answer = useMemo(() => asks && !there ? ask(profile, from, to, states) : null,
    [profile, asks, from, to, states]);
  useLayoutEffect(() => {
    setFailed(false);
    let left = false;
    answer?.then(
      (part) => !left && setHad({ profile, states,
        ...timeOf(profile, from, to, partOf(profile, [part], states)) }),
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
