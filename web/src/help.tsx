import { useEffect, useRef } from 'preact/hooks';

const KEYS: [string, string][] = [
  ['1, 2, 3, 4', 'Overview, Explore, Function, Compare'],
  ['/', 'search'],
  ['m', 'next metric'],
  ['i', 'count idle waiting in, or set it apart'],
  ['f', 'focus: only stacks that hold the selected function'],
  ['h', 'hide: without the stacks that hold it'],
  ['o', 'open the selected function'],
  ['.', 'what can be done with what has the focus, or is pointed at with the right button: Focus, '
    + 'Filter, Drill, Copy'],
  ['t', 'all of the time, not a part of it'],
  ['x', 'drop all filters'],
  ['[ and ]', 'back and forward: undo and redo'],
  ['s', 'the next shape: icicle, flame, sunburst, call graph'],
  ['arrows', 'move in the flame graph, the tree and the tabs; move an end of the chosen time'],
  ['Enter', 'zoom in the graph; in the tree, open the function'],
  ['Escape', 'show all of the graph; close this'],
  ['?', 'this list'],
];

export function Help({ open, close }: { open: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
    if (!open && dialog.current!.open) dialog.current!.close();
  }, [open]);
  return <dialog ref={dialog} aria-labelledby="help-title" onClose={close}>
    <h2 id="help-title">Keys</h2>
    <dl class="keys">{KEYS.map(([key, words]) =>
      <div key={key}><dt><kbd>{key}</kbd></dt><dd>{words}</dd></div>)}</dl>
    <p>Focus and hide are patterns on a function's name and file, as <code>--focus</code> and{' '}
      <code>--ignore</code> of the command line. All that is chosen stands in the address.</p>
    <button type="button" onClick={close}>Close</button>
  </dialog>;
}
