import { throwIfAborted } from '@holdfast/base';

import { absolutePathBytes } from './absolute-path.js';
import { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import { FileSystemError } from './errors.js';
import type { FileSystem } from './file-system.js';
import { runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';

export interface EnsureDirectoryOptions {
  /** Of directories that are made here, less the umask; default `0o700`. Existing ones keep theirs. */
  readonly mode?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface EnsureChildOptions extends EnsureDirectoryOptions {
  /** `false`: the caller syncs the parent before anything relies on the child. Default `true`. */
  readonly sync?: boolean | undefined;
}

/**
 * Opens the directory at an absolute path, making it and its missing parents durably. Symlinks in the part that exists
 * are resolved once, at the beginning; nothing that is made here goes through one. The caller closes the result.
 *
 * @throws FileSystemError `ENOTDIR`, `ELOOP` or `EEXIST` when something else stands on the way.
 */
export async function ensureDirectory(
  fileSystem: FileSystem,
  path: string | Uint8Array,
  options: EnsureDirectoryOptions = {},
): Promise<Dir> {
  return await runSteps(ensureSteps(fileSystem, path, options));
}

/** {@link ensureDirectory} without giving up the thread. */
export function ensureDirectorySync(
  fileSystem: FileSystem,
  path: string | Uint8Array,
  options: EnsureDirectoryOptions = {},
): Dir {
  return runStepsSync(ensureSteps(fileSystem, path, options));
}

// 1. Sync the parent of the deepest directory that exists: whoever made that one may have died before doing so.
// 2. For each missing level: make it, sync its parent, open it. Never the next level before the sync, so that at most
//    one level of an interrupted run is not yet durable: the deepest, which step 1 of the next run takes care of.
function* ensureSteps(
  fileSystem: FileSystem,
  path: string | Uint8Array,
  options: EnsureDirectoryOptions,
): Steps<Dir> {
  throwIfAborted(options.signal);
  const { existing, missing } = splitExisting(fileSystem, absolutePathBytes(path));
  yield* syncParent(fileSystem, existing);
  let current = Dir.openRoot(fileSystem, existing);
  try {
    for (const name of missing) {
      const child = yield* childSteps(current, name, options);
      current.close();
      current = child;
    }
  } catch (error) {
    current.close();
    throw error;
  }
  return current;
}

/**
 * Opens a child directory, making it durably when it is missing; the caller closes the result. The parent is synced in
 * any case, since whoever made the child may have died before doing so: remember the outcome where this is called often, or
 * leave the sync to a later one with `sync: false`.
 */
export async function ensureChildDirectory(
  parent: Dir,
  name: EntryName,
  options: EnsureChildOptions = {},
): Promise<Dir> {
  return await runSteps(childSteps(parent, entryNameBytes(name), options));
}

/** {@link ensureChildDirectory} without giving up the thread. */
export function ensureChildDirectorySync(
  parent: Dir,
  name: EntryName,
  options: EnsureChildOptions = {},
): Dir {
  return runStepsSync(childSteps(parent, entryNameBytes(name), options));
}

// 1. Make it. 2. Sync the parent. 3. Open it.
function* childSteps(parent: Dir, name: Uint8Array, options: EnsureChildOptions): Steps<Dir> {
  throwIfAborted(options.signal);
  makeDirectory(parent, name, options.mode ?? 0o700);
  if (options.sync !== false) yield* syncStep([parent]);
  return parent.openDir(name);
}

function splitExisting(
  fileSystem: FileSystem,
  path: Buffer,
): { readonly existing: Uint8Array; readonly missing: readonly Uint8Array[] } {
  const missing: Uint8Array[] = [];
  let rest = path;
  for (;;) {
    try {
      return { existing: fileSystem.canonicalPath(rest), missing: missing.reverse() };
    } catch (error) {
      if (!FileSystemError.is(error) || error.errno !== 'ENOENT' || rest.length === 1) throw error;
    }
    const slash = rest.lastIndexOf(0x2f);
    missing.push(rest.subarray(slash + 1));
    rest = absolutePathBytes(slash === 0 ? '/' : rest.subarray(0, slash));
  }
}

function* syncParent(fileSystem: FileSystem, existing: Uint8Array): Steps<void> {
  const path = Buffer.from(existing);
  const slash = path.lastIndexOf(0x2f);
  if (path.length === 1) return;
  let parent: Dir;
  try {
    parent = Dir.openRoot(fileSystem, slash === 0 ? '/' : path.subarray(0, slash));
  } catch (error) {
    // A parent that cannot be listed is no directory in which this user made the child a moment ago.
    if (FileSystemError.is(error) && (error.errno === 'EACCES' || error.errno === 'EPERM')) return;
    throw error;
  }
  try {
    yield* syncStep([parent]);
  } finally {
    parent.close();
  }
}

function makeDirectory(parent: Dir, name: Uint8Array, mode: number): void {
  try {
    parent.mkdir(name, mode);
  } catch (error) {
    // Somebody else was faster; opening it decides whether it will do.
    if (!FileSystemError.is(error) || error.errno !== 'EEXIST') throw error;
  }
}
