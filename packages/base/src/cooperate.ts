import { throwIfAborted } from './abort.js';
import { type Clock, systemClock } from './clock.js';

export interface PacerOptions {
  /** Milliseconds of work between two rests; default 8. */
  readonly budget?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Breaks up a long loop of synchronous work: ask `due` at every step, and `await rest()` when it is. Timers, input and
 * aborts are served during the rest.
 */
export class Pacer {
  readonly #budget: number;
  readonly #clock: Clock;
  #restedAt: number;

  constructor(options: PacerOptions = {}) {
    this.#budget = options.budget ?? 8;
    this.#clock = options.clock ?? systemClock;
    this.#restedAt = this.#clock.monotonic();
  }

  /** `true` when the budget since the last rest is used up. */
  get due(): boolean {
    return this.#clock.monotonic() - this.#restedAt >= this.#budget;
  }

  /** Lets the event loop turn once; an abort rejects with the signal's reason. */
  async rest(signal?: AbortSignal): Promise<void> {
    await yieldToEventLoop();
    throwIfAborted(signal);
    this.#restedAt = this.#clock.monotonic();
  }
}

/** Resolves after the event loop has turned once: pending input and due timers have been served. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    // The one place, beside the clock, that may turn the event loop itself.
    // oxlint-disable-next-line no-restricted-globals
    if (typeof setImmediate === 'function') setImmediate(resolve);
    // oxlint-disable-next-line no-restricted-globals
    else setTimeout(resolve, 0);
  });
}
