import { throwIfAborted } from '@holdfast/base';

import type { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import { FileSystemError, OutcomeUncertainError } from './errors.js';
import { decisive } from './internal/certainty.js';
import { deleteSteps } from './internal/delete-steps.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';
import { type OperationOptions, temporaryName } from './temporary-name.js';

export interface RemoveTreeOptions extends OperationOptions {
  /**
   * Before the tree is renamed away an abort has no effect. Afterwards the name is gone for good, an abort ends the
   * deletion, and what is left stands under a temporary name for `sweepTemporaries`.
   */
  readonly signal?: AbortSignal | undefined;
  /** `name`: a crash may bring back a part of the tree, under the temporary name that a sweep removes. Default `all`. */
  readonly sync?: 'all' | 'name' | undefined;
}

/**
 * Removes whatever a name holds, with everything below it, durably. The tree leaves its name in one atomic step before
 * anything in it is touched: a crash leaves the whole tree under its name, or no such name. Symlinks are removed, never
 * followed; another process that moves directories about cannot lead the deletion out of the tree. Read-only
 * directories are opened up; trees of any depth need two descriptors.
 *
 * Returns `false` when there was no such name.
 *
 * @throws FileSystemError `EBUSY` for a mount point, `EACCES` or `EPERM` where the user may not delete.
 * @throws OutcomeUncertainError when a failure came after the name may have gone.
 */
export async function removeTree(
  parent: Dir,
  name: EntryName,
  options: RemoveTreeOptions = {},
): Promise<boolean> {
  return await runSteps(removeSteps(parent, entryNameBytes(name), options));
}

/** {@link removeTree} without giving up the thread. */
export function removeTreeSync(parent: Dir, name: EntryName, options: RemoveTreeOptions = {}): boolean {
  return runStepsSync(removeSteps(parent, entryNameBytes(name), options));
}

// 1. Point of no return: rename the victim to a temporary name of the same directory, which is atomic.
// 2. Sync the parent: from here on no crash brings the name back.
// 3. Delete what is in it, then the temporary name.
// 4. Sync the parent again, so that the sweep of the next start finds nothing.
function* removeSteps(parent: Dir, name: Uint8Array, options: RemoveTreeOptions): Steps<boolean> {
  throwIfAborted(options.signal);
  const trash = temporaryName('trash', options);
  let removed = true;
  decisive('remove-tree', name, () => {
    try {
      parent.rename(name, parent, trash);
    } catch (error) {
      if (!FileSystemError.is(error) || error.errno !== 'ENOENT') throw error;
      removed = false;
    }
  });
  try {
    yield* syncStep([parent]);
    if (!removed) return false;
    yield* deleteSteps(parent, trash, options.signal);
    if (options.sync !== 'name') yield* syncStep([parent]);
  } catch (error) {
    if (options.signal?.aborted === true && error === options.signal.reason) throw error;
    throw new OutcomeUncertainError('remove-tree', name, { cause: error });
  }
  return true;
}
