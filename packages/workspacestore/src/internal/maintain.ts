import { throwIfAborted } from '@holdfast/base';
import { BlobNotFoundError } from '@holdfast/blobs';

import { CollectedError, RefNotFoundError } from '../errors.js';
import { mergeGroup } from './merge.js';
import { rebaseClosure } from './rebase.js';
import type { StoreContext } from './store-context.js';
import { canonicalize } from './tree-root.js';

export interface MaintainOptions {
  /** Paths of roots to look at; default: all that this store has captured. */
  readonly roots?: readonly string[] | undefined;
  /** Also look at roots that earlier processes captured with the same cache directory; default `false`. */
  readonly saved?: boolean | undefined;
  /** Groups of archives merged at most, each of at most 64 MiB; default: as many as there are. */
  readonly maxMerges?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each step with what has been done so far. */
  readonly onProgress?: ((done: MaintainReport) => void) | undefined;
}

export interface MaintainReport {
  /** Roots that were looked at. */
  readonly roots: number;
  /** Groups of eight archives that became one. */
  readonly merged: number;
  /** Roots whose dead archives were left behind. */
  readonly rebased: number;
}

/** What is reported when there is nothing that may be done now. */
export const nothingMaintained: MaintainReport = Object.freeze({ roots: 0, merged: 0, rebased: 0 });

/** Tidies the archives that the next snapshots will build on, root by root. */
export async function maintainStore(
  context: StoreContext,
  options: MaintainOptions,
): Promise<MaintainReport> {
  const { roots: known } = context;
  const done = { roots: 0, merged: 0, rebased: 0 };
  const wanted = options.roots?.map((root) => canonicalize(context.fileSystem, root) ?? root);
  const isWanted = (path: string): boolean => wanted?.includes(path) ?? true;
  const tidy = async (path: string): Promise<void> => {
    try {
      await maintainRoot(context, path, done, options);
    } catch (error) {
      // A collection took what the root was built on: there is nothing left to tidy.
      if (!isGone(error)) throw error;
    }
  };
  for (const path of known.paths().filter(isWanted)) await tidy(path);
  if (options.saved !== true) return done;
  for (const path of (await known.savedPaths()).filter(isWanted)) {
    throwIfAborted(options.signal);
    // One that was learned meanwhile, and one whose archives are gone, are nobody's business here.
    if (known.peek(path) !== undefined || !(await known.loadSaved(path))) continue;
    try {
      await tidy(path);
    } finally {
      await known.unload(path);
    }
  }
  return done;
}

async function maintainRoot(
  context: StoreContext,
  path: string,
  done: { roots: number; merged: number; rebased: number },
  options: MaintainOptions,
): Promise<void> {
  const { roots } = context;
  done.roots += 1;
  while (done.merged < (options.maxMerges ?? Number.POSITIVE_INFINITY)) {
    throwIfAborted(options.signal);
    const state = roots.peek(path);
    const next = state && (await mergeGroup(context, state, options));
    if (state === undefined || next === undefined || !roots.replace(path, state, next)) break;
    done.merged += 1;
    options.onProgress?.({ ...done });
  }
  throwIfAborted(options.signal);
  const state = roots.peek(path);
  const next = state && (await rebaseClosure(context, state, options));
  if (state !== undefined && next !== undefined && roots.replace(path, state, next)) done.rebased += 1;
  options.onProgress?.({ ...done });
}

function isGone(error: unknown): boolean {
  return CollectedError.is(error) || RefNotFoundError.is(error) || BlobNotFoundError.is(error);
}
