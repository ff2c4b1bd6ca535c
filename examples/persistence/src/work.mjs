import { applyEdit, editType } from './edits.mjs';

/**
 * Works in a directory: each edit goes into the journal first, then into the files; after some edits the files are
 * captured and the journal names the snapshot. Whatever the journal acknowledged can be rebuilt from it.
 *
 * @param {Awaited<ReturnType<typeof import('./stack.mjs').openStack>>} stack
 * @param {string} root
 * @param {Iterable<import('./edits.mjs').Edit> | AsyncIterable<import('./edits.mjs').Edit>} edits
 * @param {{ id: string, snapshotEvery: number, onEdit?: (edit: import('./edits.mjs').Edit, done: number) => void }} options
 */
export async function work(stack, root, edits, { id, snapshotEvery, onEdit }) {
  const journal = await stack.sessions.create({ id, title: root });
  await journal.append({ type: 'SessionStarted', body: {} });
  let done = 0;
  for await (const edit of edits) {
    await journal.append({ type: editType, body: { ...edit } });
    applyEdit(root, edit);
    done += 1;
    onEdit?.(edit, done);
    if (done % snapshotEvery === 0) await checkpoint(stack, journal, root);
  }
  await journal.close();
}

/**
 * Durable blobs first, the event that names them second, the hold that kept them alive in between last.
 * @param {Awaited<ReturnType<typeof import('./stack.mjs').openStack>>} stack
 * @param {import('@holdfast/journal').SessionJournal} journal
 * @param {string} root
 */
async function checkpoint(stack, journal, root) {
  const { ref, hold, stats, coverage } = await stack.store.snapshot(root);
  await journal.append({
    type: 'WorkspaceCheckpointed',
    body: { ref, hold, consistency: 'quiescent', trigger: 'manual', stats, coverage },
  });
  stack.store.release(hold);
}
