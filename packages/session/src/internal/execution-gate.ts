import { onAbort, throwIfAborted } from '@holdfast/base';

interface Waiter {
  readonly exclusive: boolean;
  readonly admit: () => void;
}

/**
 * The session-wide barrier between model calls and those who must not meet one: required and manual checkpoints, and
 * restores. Many may be inside together, or one alone; in order of arrival, so neither side starves.
 */
export class ExecutionGate {
  readonly #waiters: Waiter[] = [];
  #inside = 0;
  #closed = false;

  /** Enters together with others. Dispose the result to leave. */
  async enter(signal?: AbortSignal): Promise<Disposable> {
    return await this.#pass(false, signal);
  }

  /** Waits until nobody is inside and keeps everybody out. Dispose the result to open the gate again. */
  async close(signal?: AbortSignal): Promise<Disposable> {
    return await this.#pass(true, signal);
  }

  /** Closes the gate when that needs no waiting; else `undefined`. */
  tryClose(): Disposable | undefined {
    if (this.#closed || this.#inside > 0 || this.#waiters.length > 0) return undefined;
    this.#closed = true;
    let closed = true;
    return {
      [Symbol.dispose]: () => {
        if (!closed) return;
        closed = false;
        this.#closed = false;
        this.#admit();
      },
    };
  }

  async #pass(exclusive: boolean, signal: AbortSignal | undefined): Promise<Disposable> {
    throwIfAborted(signal);
    let state: 'waiting' | 'inside' | 'left' = 'waiting';
    const leave = (): void => {
      if (state !== 'inside') return;
      state = 'left';
      if (exclusive) this.#closed = false;
      else this.#inside -= 1;
      this.#admit();
    };
    let subscription: Disposable | undefined;
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        exclusive,
        admit: () => {
          state = 'inside';
          if (exclusive) this.#closed = true;
          else this.#inside += 1;
          resolve();
        },
      };
      this.#waiters.push(waiter);
      subscription = onAbort(signal, (reason) => {
        if (state === 'waiting') this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        leave();
        reject(reason);
        this.#admit();
      });
      this.#admit();
    }).finally(() => subscription?.[Symbol.dispose]());
    // An abort that met the admission on the way here wins; its listener may not have seen it any more.
    if (signal?.aborted === true) {
      leave();
      throw signal.reason;
    }
    return { [Symbol.dispose]: leave };
  }

  #admit(): void {
    for (let first = this.#waiters[0]; first !== undefined; first = this.#waiters[0]) {
      if (this.#closed || (first.exclusive && this.#inside > 0)) return;
      this.#waiters.shift();
      first.admit();
    }
  }
}
