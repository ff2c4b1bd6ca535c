import { onAbort, throwIfAborted } from './abort.js';
import { type Clock, systemClock } from './clock.js';

/** One wait for news of a name. Listens from its making on, so that nothing is missed between a look and the wait. */
export interface HintWait extends Disposable {
  /**
   * Resolves when somebody told of the name since this was made, or after `milliseconds`; an abort rejects with the
   * signal's reason.
   */
  until(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

/**
 * Wakes those who wait for news of a name. News are hints: they may be lost, so every wait has a time limit after which
 * its owner looks by itself.
 */
export class Hints {
  readonly #clock: Clock;
  readonly #waits = new Map<string, Set<() => void>>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Wakes those who wait for `name`; without a name, everybody. */
  tell(name?: string): void {
    if (name !== undefined) {
      for (const wake of this.#waits.get(name) ?? []) wake();
      return;
    }
    for (const wakes of this.#waits.values()) for (const wake of wakes) wake();
  }

  /** Begins to listen. Dispose it, or the name stays on the list. */
  listen(name: string): HintWait {
    const told = new AbortController();
    const wake = (): void => {
      told.abort();
    };
    const wakes = this.#waits.get(name) ?? new Set();
    wakes.add(wake);
    this.#waits.set(name, wakes);
    return {
      until: async (milliseconds, signal) => {
        throwIfAborted(signal);
        using _given = onAbort(signal, wake);
        await this.#clock.sleep(milliseconds, { signal: told.signal }).catch(() => undefined);
        throwIfAborted(signal);
      },
      [Symbol.dispose]: () => {
        wakes.delete(wake);
        if (wakes.size === 0 && this.#waits.get(name) === wakes) this.#waits.delete(name);
      },
    };
  }
}
