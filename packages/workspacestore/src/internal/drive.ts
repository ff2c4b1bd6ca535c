import { Pacer, throwIfAborted } from '@holdfast/base';

export interface DriveOptions {
  readonly signal?: AbortSignal | undefined;
  /** Asked after every step; `true` makes the drive rest before the next one. */
  readonly wantsRest?: (() => boolean) | undefined;
  /** Awaited at every rest. */
  readonly onRest?: (() => Promise<void>) | undefined;
}

/**
 * Runs synchronous steps to their end, resting often enough for timers, input and aborts to be served. An abort throws
 * the signal's reason after the step it interrupted has released what it held.
 */
export async function drive<T>(steps: Generator<void, T>, options: DriveOptions): Promise<T> {
  const pacer = new Pacer();
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (!pacer.due && options.wantsRest?.() !== true) continue;
      await pacer.rest(options.signal);
      await options.onRest?.();
      throwIfAborted(options.signal);
    }
  } finally {
    steps.return(undefined as T);
  }
}
