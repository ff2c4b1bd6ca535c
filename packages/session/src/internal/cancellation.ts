import { type Clock, onAbort } from '@holdfast/base';

/** Who ended an operation: its caller, this library, or its time limit. */
export type CancelledBy = 'caller' | 'library' | 'timeout';

export interface CancellationOptions {
  readonly clock: Clock;
  /** The caller's own signal. */
  readonly caller?: AbortSignal | undefined;
  /** Signals of this library: shutdown, faults, lost leases. */
  readonly library?: readonly (AbortSignal | undefined)[] | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
}

/** One signal made of several, that remembers which of them ended the work. */
export class Cancellation implements Disposable {
  readonly #controller = new AbortController();
  readonly #subscriptions: Disposable[] = [];
  #by: CancelledBy | undefined;

  constructor(options: CancellationOptions) {
    this.#subscriptions.push(
      onAbort(options.caller, (reason) => {
        this.#abort('caller', reason);
      }),
    );
    for (const signal of options.library ?? []) {
      this.#subscriptions.push(
        onAbort(signal, (reason) => {
          this.#abort('library', reason);
        }),
      );
    }
    if (options.timeout !== undefined) {
      const { timeout } = options;
      this.#subscriptions.push(
        options.clock.schedule(timeout, () => {
          this.#abort('timeout', new Error(`the time limit of ${timeout} ms ran out`));
        }),
      );
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Who cancelled, when `error` is what the cancellation threw; `undefined` when the work failed by itself. */
  causeOf(error: unknown): CancelledBy | undefined {
    return this.signal.aborted && error === this.signal.reason ? this.#by : undefined;
  }

  /** Ends the work in the name of the library. */
  cancel(reason: unknown): void {
    this.#abort('library', reason);
  }

  /** Stops listening; the signal stays as it is. */
  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription[Symbol.dispose]();
  }

  #abort(by: CancelledBy, reason: unknown): void {
    this.#by ??= by;
    this.#controller.abort(reason);
  }
}
