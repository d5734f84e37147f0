import { useEffect, useRef } from 'preact/hooks';

export function Help({ open, close, keys }: { open: boolean; close: () => void;
  keys: [string, string][] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
    if (!open && dialog.current!.open) dialog.current!.close();
  }, [open]);
  return <dialog ref={dialog} aria-labelledby="help-title" onClose={close}>
    <h2 id="help-title">Keys</h2>
    <dl class="keys">{keys.map(([key, words]) =>
      <div key={key}><dt><kbd>{key}</kbd></dt><dd>{words}</dd></div>)}</dl>
    <p>Focus and hide are patterns, as <code>--focus</code> and <code>--ignore</code>. All that is
      chosen stands in the address.</p>
    <button type="button" onClick={close}>Close</button>
  </dialog>;
}
