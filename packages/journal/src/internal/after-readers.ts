import type { Clock } from '@holdfast/base';

import { LedgerInUseError } from '../errors.js';

/** Longest wait for somebody who reads a ledger, in milliseconds. */
const patience = 5_000;
const pause = 20;

/**
 * Repeats what is refused because somebody has the ledger open, up to five seconds. For whoever holds the session's lease:
 * there is no other owner then, only somebody who reads for a moment.
 * @throws LedgerInUseError when that takes longer.
 */
export async function afterReaders<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + patience;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!LedgerInUseError.is(error) || clock.monotonic() >= until) throw error;
    }
    await clock.sleep(pause, { signal });
  }
}
