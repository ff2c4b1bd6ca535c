import type { TreeEntry } from '@holdfast/workspacestore';

import { WorkspaceRestoreError } from '../errors.js';
import type { RunState } from './run-state.js';
import { findEntry } from './tree-nodes.js';

/**
 * Reads back from the store what the restore is about to destroy. A safety checkpoint of content that the store had
 * already reads nothing and writes nothing: were the stored copy damaged, this restore would remove the last good one.
 * @throws WorkspaceRestoreError `safety-failed`; nothing was touched.
 */
export async function proveUndo(run: RunState): Promise<void> {
  const { safetyRef, signal } = run.options;
  if (safetyRef === undefined) return;
  const captured = run.detail.options.captured?.entries ?? [];
  const doomed = new Map<string, TreeEntry>();
  for (const { action, path, before } of run.detail.operations) {
    if ((action !== 'unlink' && action !== 'put') || before === undefined) continue;
    // What the plan found there may have changed before the checkpoint: what counts is what the undo would bring.
    const entry = findEntry(captured, path);
    if (entry?.content !== undefined && entry.size > 0) doomed.set(entry.content, entry);
  }
  if (doomed.size === 0) return;
  try {
    await run.source.openTree(safetyRef, { directories: run.detail.listed, signal });
    await run.source.fetch(
      [...doomed.values()],
      async (_entry, chunks) => {
        for await (const _chunk of chunks);
      },
      { signal },
    );
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    throw new WorkspaceRestoreError(
      'safety-failed',
      'the safety checkpoint cannot be read back, so this restore could not be undone; verify the store, or turn safety off to give up the undo',
      { ...run.facts(), cause: error },
    );
  }
}
