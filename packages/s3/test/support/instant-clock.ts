import type { Clock } from '@holdfast/base';

/** Time in which nobody has to wait and nothing runs out; shifted by so many milliseconds. */
export function instantClock(shift: number = 0): Clock {
  return {
    now: () => Date.now() + shift,
    monotonic: () => performance.now(),
    sleep: async () => {
      await new Promise((resolve) => setImmediate(resolve));
    },
    schedule: () => ({ [Symbol.dispose]: () => undefined }),
  };
}
