import type { Clock } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';

/**
 * A clock on which a millisecond is a turn of the event loop. Mutants that hang are found by it after the same number of
 * turns on every machine, however busy that is.
 */
export function turnClock(): Clock {
  const still = new ManualClock();
  return {
    now: () => still.now(),
    monotonic: () => still.monotonic(),
    schedule: (milliseconds, callback) => still.schedule(milliseconds, callback),
    sleep: async (milliseconds, { signal } = {}) => {
      for (let turn = 0; turn < milliseconds; turn += 1) {
        signal?.throwIfAborted();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
