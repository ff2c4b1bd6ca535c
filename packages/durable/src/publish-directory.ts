import { throwIfAborted } from '@holdfast/base';

import type { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import { FileSystemError, NameTakenError, OutcomeUncertainError } from './errors.js';
import { decisive } from './internal/certainty.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';
import { syncTreeSteps } from './sync-tree.js';

export interface PublishDirectoryOptions {
  /** `true` when everything in the staged directory, and the directory itself, is synced already; default `false`. */
  readonly contentSynced?: boolean | undefined;
  /** Aborts have no effect from the moment the directory is renamed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives a staged directory its real name in the same parent, atomically: a crash leaves no such name (or the empty
 * directory that was there) or the whole tree.
 *
 * @throws NameTakenError when the name holds anything but an empty directory; it was left as it is.
 * @throws OutcomeUncertainError when a failure came after the name may have been given.
 * @throws SyncFailedError when the content could not be made durable; nothing is visible.
 */
export async function publishDirectory(
  parent: Dir,
  staged: EntryName,
  name: EntryName,
  options: PublishDirectoryOptions = {},
): Promise<void> {
  await runSteps(publishSteps(parent, entryNameBytes(staged), entryNameBytes(name), options));
}

/** {@link publishDirectory} without giving up the thread. */
export function publishDirectorySync(
  parent: Dir,
  staged: EntryName,
  name: EntryName,
  options: PublishDirectoryOptions = {},
): void {
  runStepsSync(publishSteps(parent, entryNameBytes(staged), entryNameBytes(name), options));
}

const takenCodes: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

// 1. Sync every file and directory that is staged.
// 2. Point of no return: rename, inside one directory and therefore atomic.
// 3. Sync the parent.
function* publishSteps(
  parent: Dir,
  staged: Uint8Array,
  name: Uint8Array,
  options: PublishDirectoryOptions,
): Steps<void> {
  throwIfAborted(options.signal);
  // Opening it also makes sure that it is a directory: a file would replace another file silently.
  const content = parent.openDir(staged);
  try {
    if (options.contentSynced !== true) yield* syncTreeSteps(content, { signal: options.signal });
  } finally {
    content.close();
  }
  throwIfAborted(options.signal);
  decisive('publish-directory', name, () => {
    try {
      parent.rename(staged, parent, name);
    } catch (error) {
      if (!FileSystemError.is(error) || !takenCodes.has(error.errno)) throw error;
      throw new NameTakenError(name, { cause: error });
    }
  });
  try {
    yield* syncStep([parent]);
  } catch (error) {
    throw new OutcomeUncertainError('publish-directory', name, { cause: error });
  }
}
