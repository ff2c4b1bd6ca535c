import { throwIfAborted } from '@holdfast/base';

import type { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import { FileSystemError, OutcomeUncertainError } from './errors.js';
import { decisive } from './internal/certainty.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';

export interface RemoveOptions {
  /** Observed before the name is removed only. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes a name that is no directory, durably. Returns `false` when there was none; that is made durable too, since
 * whoever removed it may have died before doing so.
 *
 * @throws FileSystemError `EISDIR` or `EPERM` for a directory.
 * @throws OutcomeUncertainError when a failure came after the name may have gone.
 */
export async function removeDurably(
  dir: Dir,
  name: EntryName,
  options: RemoveOptions = {},
): Promise<boolean> {
  return await runSteps(removeSteps(dir, entryNameBytes(name), options));
}

/** {@link removeDurably} without giving up the thread. */
export function removeDurablySync(dir: Dir, name: EntryName, options: RemoveOptions = {}): boolean {
  return runStepsSync(removeSteps(dir, entryNameBytes(name), options));
}

// 1. Unlink; absent is as good.
// 2. Sync the directory.
function* removeSteps(dir: Dir, name: Uint8Array, options: RemoveOptions): Steps<boolean> {
  throwIfAborted(options.signal);
  let removed = true;
  decisive('remove', name, () => {
    try {
      dir.unlink(name);
    } catch (error) {
      if (!FileSystemError.is(error) || error.errno !== 'ENOENT') throw error;
      removed = false;
    }
  });
  try {
    yield* syncStep([dir]);
  } catch (error) {
    throw new OutcomeUncertainError('remove', name, { cause: error });
  }
  return removed;
}
