import type { Clock } from '@holdfast/base';
import { type Lease, LeaseHeldError, type LeaseOwner, type Leaser } from '@holdfast/lease';

import { rootLeaseName } from './resolve-placement.js';

export interface RootLeaseOptions {
  readonly owner: LeaseOwner;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Longest wait for looks of others, in milliseconds: a look takes as long as its grant and its release. */
const patience = 10_000;
const pause = 20;

/** What the lease of a root says while somebody who opens `root` looks whether it is held. */
export function lookingFrom(root: string): LeaseOwner {
  return { probing: root };
}

/**
 * Acquires the lease of a canonical root. Who has it for a look only is no holder: that is asked again, up to ten seconds.
 * @throws LeaseHeldError.
 */
export async function acquireRootLease(
  leaser: Leaser,
  root: string,
  { clock, owner, signal }: RootLeaseOptions,
): Promise<Lease> {
  const until = clock.monotonic() + patience;
  for (;;) {
    try {
      return await leaser.acquire(rootLeaseName(root), { owner, signal });
    } catch (error) {
      const looking = LeaseHeldError.is(error) && typeof error.owner?.['probing'] === 'string';
      if (!looking || clock.monotonic() >= until) throw error;
    }
    await clock.sleep(pause, { signal });
  }
}
