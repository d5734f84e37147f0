import { useEffect, useRef } from 'preact/hooks';
import { usePage } from './parts';

export function Help({ open, close }: { open: boolean; close: () => void }) {
  const { keys, notes } = usePage().profile.written;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
    if (!open && dialog.current!.open) dialog.current!.close();
  }, [open]);
  return <dialog ref={dialog} aria-labelledby="help-title" onClose={close}>
    <h2 id="help-title">Keys</h2>
    <dl class="keys">{keys.map(([key, words]) =>
      <div key={key}><dt><kbd>{key}</kbd></dt><dd>{words}</dd></div>)}</dl>
    <p>{notes.patterns}</p>
    <button type="button" onClick={close}>Close</button>
  </dialog>;
}
