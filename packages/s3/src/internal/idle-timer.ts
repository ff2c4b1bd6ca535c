import type { Clock } from '@holdfast/base';

/** Calls `expired` when it was not touched for a time. Starts stopped. */
export class IdleTimer implements Disposable {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #expired: () => void;
  #timer: Disposable | undefined;

  constructor(clock: Clock, milliseconds: number, expired: () => void) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#expired = expired;
  }

  /** Starts the time again, with so many milliseconds more. */
  touch(more: number = 0): void {
    this.stop();
    this.#timer = this.#clock.schedule(this.#milliseconds + more, this.#expired);
  }

  stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
