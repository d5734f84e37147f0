// A recording that is still being written: the page asks its server whether there is more, once a
// second at most, and shows it with all that was chosen kept. Only for a page that is served.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { profileOf, type Profile } from './data';
import { usePage } from './parts';
import { keepNames } from './places';

const EACH_MS = 1000;
const REST = 4; // so many times as long as showing what is new took

const element = document.getElementById('page')!;
export const FOLLOWS = element.hasAttribute('data-follows');

export type Follow = 'no' | 'live' | 'paused' | 'ended' | 'lost';

interface Told {
  live: boolean;
  version: number;
  wait_s: number; // before which there is nothing new to ask for
}

// Nobody looks at a page that is hidden: then nothing is asked.
const shown = (): Promise<void> => new Promise((done) => {
  if (!document.hidden) return done();
  const look = () => {
    if (document.hidden) return;
    document.removeEventListener('visibilitychange', look);
    done();
  };
  document.addEventListener('visibilitychange', look);
});

const wait = (ms: number): Promise<void> => new Promise((done) => { setTimeout(done, ms); });

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer;
}

// The profile that is shown, what became of following it, and how to stop for a while.
export function useFollow(first: Profile): { profile: Profile; follow: Follow;
  pause: (on: boolean) => void } {
  const [profile, setProfile] = useState(first);
  const [follow, setFollow] = useState<Follow>('no');
  const paused = useRef(false), latest = useRef(first), wake = useRef<() => void>(() => {});
  useEffect(() => {
    if (!FOLLOWS) return;
    let version = Number(element.dataset.version), left = false, seen = false;
    const run = async () => {
      for (;;) {
        const told = await (await ask('api/live')).json() as Told, begun = performance.now();
        if (told.version !== version) {
          const [next, read] = await profileOf(await (await ask('.')).text());
          keepNames(latest.current, next);
          version = Number(read);
          latest.current = next;
          setProfile(next);
        } else if (!told.live) {
          setFollow(seen ? 'ended' : 'no');
          return;
        }
        seen ||= told.live;
        setFollow(paused.current ? 'paused' : 'live');
        await wait(Math.max(EACH_MS, told.wait_s * 1000, REST * (performance.now() - begun)));
        await shown();
        if (paused.current) await new Promise<void>((done) => { wake.current = done; });
        if (left) return;
      }
    };
    run().catch(() => setFollow('lost'));
    return () => { left = true; };
  }, []);
  const pause = (on: boolean) => {
    paused.current = on;
    setFollow(on ? 'paused' : 'live');
    if (!on) wake.current();
  };
  return { profile, follow, pause };
}

// What is said aloud is said when it changes, not each time that there is more.
export function Following({ follow, pause }: { follow: Follow; pause: (on: boolean) => void }) {
  const { notes } = usePage().profile.written, told = follow === 'no' ? '' : notes[follow];
  if (!FOLLOWS) return null;
  const going = follow === 'live' || follow === 'paused';
  return <div class="following">
    {going && <><span title={told}><i class={`lamp ${follow}`} aria-hidden="true" />{' '}
      {follow}</span>
    <button type="button" aria-pressed={follow === 'paused'}
      onClick={() => pause(follow === 'live')}>Pause</button></>}
    {follow === 'lost' && <span class="warn">not live any more</span>}
    <span role="status" class="unseen">{told}</span>
  </div>;
}

// The focus stays where it is when rows of a table change their places.
export function useFocusKept(profile: Profile): void {
  const before = useRef(profile), held = useRef<Element | null>(null);
  if (before.current !== profile) held.current = document.activeElement;
  useLayoutEffect(() => {
    const element = held.current as HTMLElement | null;
    before.current = profile;
    held.current = null;
    if (element && element.isConnected && element !== document.activeElement)
      element.focus({ preventScroll: true });
  }, [profile]);
}
