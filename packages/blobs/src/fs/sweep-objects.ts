import { type Clock, type Pacer, throwIfAborted } from '@holdfast/base';
import { type Dir, FileSystemError, sweepTemporaries } from '@holdfast/durable';

import { isBucket, readEntry } from './layout.js';

export interface SweepPlan {
  readonly clock: Clock;
  /** Milliseconds without a change from which a writer is taken for dead. */
  readonly olderThan: number;
  readonly pacer: Pacer;
  readonly signal: AbortSignal | undefined;
}

export interface SweepResult {
  /** Temporary files that were removed. */
  readonly files: number;
  /** Empty directories that were removed. */
  readonly directories: number;
}

/**
 * Removes what dead writers left, and empty directories. A writer that is alive after all fails and repeats its put: it
 * never makes something incomplete visible.
 */
export async function sweepObjects(dir: Dir, plan: SweepPlan): Promise<SweepResult> {
  throwIfAborted(plan.signal);
  if (plan.pacer.due) await plan.pacer.rest(plan.signal);
  const { removed } = await sweepTemporaries(dir, plan);
  let files = removed;
  let directories = 0;
  for (const bytes of dir.list()) {
    const name = Buffer.from(bytes).toString('latin1');
    const kind = isBucket(name) ? 'directory' : readEntry(name)?.kind;
    if (kind === undefined || kind === 'object') continue;
    using child = tolerate(() => dir.openDir(bytes));
    if (child === undefined) continue;
    const below = await sweepObjects(child, plan);
    files += below.files;
    directories += below.directories;
    if (isStale(child, plan) && tolerate(() => removeIfEmpty(dir, bytes)) === true) directories += 1;
  }
  return { files, directories };
}

function isStale(dir: Dir, plan: SweepPlan): boolean {
  return plan.clock.now() - Number(dir.stat().mtimeNs / 1_000_000n) >= plan.olderThan;
}

function removeIfEmpty(parent: Dir, name: Uint8Array): true {
  parent.rmdir(name);
  return true;
}

/** Others put and sweep at the same time: what is gone, or in use, is none of this sweep's business. */
const harmless: ReadonlySet<string> = new Set(['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ELOOP', 'EBUSY']);

function tolerate<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (FileSystemError.is(error) && harmless.has(error.errno)) return undefined;
    throw error;
  }
}
