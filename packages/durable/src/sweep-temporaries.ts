import { type Clock, systemClock } from '@holdfast/base';

import type { Dir } from './dir.js';
import { FileSystemError } from './errors.js';
import { deleteSteps } from './internal/delete-steps.js';
import { breathe, runSteps, runStepsSync, type Steps, syncStep } from './internal/steps.js';
import { parseTemporaryName, type TemporaryName } from './temporary-name.js';

export interface SweepOptions {
  /**
   * Tells about an operation: `true` keeps what it made, `false` deletes it at once, `undefined` leaves the decision to
   * the age. Default: `undefined` for all.
   */
  readonly isLive?: ((operation: string) => boolean | undefined) | undefined;
  /** Age in milliseconds, by the time of the last change, from which unknown operations are taken for dead; default one hour. */
  readonly olderThan?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Swept {
  readonly removed: number;
  readonly kept: number;
}

/**
 * Deletes what interrupted writers and deletions left in a directory. Looks at names of ours only, in this directory
 * only; whoever deletes the temporary file of a live writer makes that writer fail, never publish something else.
 */
export async function sweepTemporaries(dir: Dir, options: SweepOptions = {}): Promise<Swept> {
  return await runSteps(sweepSteps(dir, options));
}

/** {@link sweepTemporaries} without giving up the thread. */
export function sweepTemporariesSync(dir: Dir, options: SweepOptions = {}): Swept {
  return runStepsSync(sweepSteps(dir, options));
}

// 1. Before the first tree is deleted, sync the directory: the rename that made it trash may not be durable yet, and
//    must not be taken back by a crash when a part of the tree is gone.
// 2. Delete every name of ours whose operation is dead or whose age says so.
// 3. Sync the directory when anything was deleted.
function* sweepSteps(dir: Dir, options: SweepOptions): Steps<Swept> {
  let removed = 0;
  let kept = 0;
  let renamesDurable = false;
  for (const name of dir.list()) {
    const temporary = parseTemporaryName(name);
    if (temporary === undefined) continue;
    yield* breathe(options.signal);
    if (!isDead(dir, name, temporary, options)) {
      kept += 1;
      continue;
    }
    if (temporary.kind === 'trash' && !renamesDurable) {
      yield* syncStep([dir]);
      renamesDurable = true;
    }
    try {
      yield* deleteSteps(dir, name, options.signal);
      removed += 1;
    } catch (error) {
      // Somebody else sweeps too.
      if (!FileSystemError.is(error) || error.errno !== 'ENOENT') throw error;
    }
  }
  if (removed > 0) yield* syncStep([dir]);
  return { removed, kept };
}

function isDead(dir: Dir, name: Uint8Array, temporary: TemporaryName, options: SweepOptions): boolean {
  const live = options.isLive?.(temporary.operation);
  if (live !== undefined) return !live;
  const stat = dir.lstat(name);
  if (stat === undefined) return false;
  const age = (options.clock ?? systemClock).now() - Number(stat.mtimeNs / 1_000_000n);
  return age >= (options.olderThan ?? 3_600_000);
}
