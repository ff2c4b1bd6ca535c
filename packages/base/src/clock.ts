import { onAbort, throwIfAborted } from './abort.js';

/** Time as a parameter. Everything that waits or stamps takes one; the default is {@link systemClock}. */
export interface Clock {
  /** Wall time in milliseconds since 1970. For display and stamps; never for safety decisions. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary origin. May stand still while the machine sleeps. */
  monotonic(): number;
  /** Resolves after `milliseconds`; an abort rejects with the signal's reason and frees the timer. */
  sleep(milliseconds: number, options?: SleepOptions): Promise<void>;
  /** Calls `callback` once after `milliseconds`; disposing cancels it. The timer does not keep the process alive. */
  schedule(milliseconds: number, callback: () => void): Disposable;
}

export interface SleepOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The platform's clock. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (milliseconds: number, options: SleepOptions = {}) => {
    throwIfAborted(options.signal);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        subscription[Symbol.dispose]();
        resolve();
      }, milliseconds);
      const subscription = onAbort(options.signal, (reason) => {
        clearTimeout(timer);
        reject(reason);
      });
    });
  },
  schedule: (milliseconds: number, callback: () => void) => {
    const timer: unknown = setTimeout(callback, milliseconds);
    // Browsers return a number; Node returns an object that can be detached from the process's life.
    if (typeof timer === 'object' && timer !== null) (timer as { unref?: () => void }).unref?.();
    return {
      [Symbol.dispose]: () => {
        clearTimeout(timer as never);
      },
    };
  },
});
