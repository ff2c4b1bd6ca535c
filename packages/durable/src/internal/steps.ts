import { Pacer, throwIfAborted } from '@holdfast/base';

import type { Dir } from '../dir.js';
import type { File } from '../file.js';
import type { SyncExtent } from '../file-system.js';

/** What a recipe asks its runner for: syncs that may run side by side, or a moment for the event loop. */
export type Step =
  | { readonly kind: 'sync'; readonly owners: readonly (Dir | File)[]; readonly extent: SyncExtent }
  | { readonly kind: 'pause' };

/**
 * A recipe written once for both ways of running it. It yields where time passes; everything between two yields is
 * synchronous. A failed step is thrown at the yield.
 */
export type Steps<T> = Generator<Step, T, undefined>;

const pause: Step = { kind: 'pause' };

/** A place where the event loop may be served and an abort is noticed. */
export function* breathe(signal: AbortSignal | undefined): Steps<void> {
  throwIfAborted(signal);
  yield pause;
  throwIfAborted(signal);
}

export function* syncStep(owners: readonly (Dir | File)[], extent: SyncExtent = 'all'): Steps<void> {
  if (owners.length > 0) yield { kind: 'sync', owners, extent };
}

/** Runs a recipe with syncs off the event loop. */
export async function runSteps<T>(steps: Steps<T>): Promise<T> {
  const pacer = new Pacer();
  let next = steps.next();
  while (next.done !== true) {
    try {
      if (next.value.kind === 'sync') await syncTogether(next.value.owners, next.value.extent);
      else if (pacer.due) await pacer.rest();
    } catch (error) {
      next = steps.throw(error);
      continue;
    }
    next = steps.next();
  }
  return next.value;
}

/** Runs a recipe to its end without giving up the thread: for workers and for code that must not be interleaved. */
export function runStepsSync<T>(steps: Steps<T>): T {
  let next = steps.next();
  while (next.done !== true) {
    try {
      if (next.value.kind === 'sync')
        for (const owner of next.value.owners) syncOne(owner, next.value.extent);
    } catch (error) {
      next = steps.throw(error);
      continue;
    }
    next = steps.next();
  }
  return next.value;
}

/** Waits for all, also after a failure: nothing may still run when the caller cleans up. */
async function syncTogether(owners: readonly (Dir | File)[], extent: SyncExtent): Promise<void> {
  const outcomes = await Promise.allSettled(owners.map((owner) => owner.syncLater(extent)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

function syncOne(owner: Dir | File, extent: SyncExtent): void {
  owner.sync(extent);
}
