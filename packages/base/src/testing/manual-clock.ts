import { onAbort, throwIfAborted } from '../abort.js';
import type { Clock, SleepOptions } from '../clock.js';

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that moves only when a test says so. Wall and monotonic time can be moved apart to imitate skew and sleep. */
export class ManualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(startWall: number = 1_700_000_000_000) {
    this.#wall = startWall;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Timers and sleepers that are still waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  async sleep(milliseconds: number, options: SleepOptions = {}): Promise<void> {
    throwIfAborted(options.signal);
    await new Promise<void>((resolve, reject) => {
      const timer = this.schedule(milliseconds, () => {
        subscription[Symbol.dispose]();
        resolve();
      });
      const subscription = onAbort(options.signal, (reason) => {
        timer[Symbol.dispose]();
        reject(reason);
      });
    });
  }

  schedule(milliseconds: number, callback: () => void): Disposable {
    this.#order += 1;
    const timer: Timer = {
      due: this.#monotonic + Math.max(0, milliseconds),
      order: this.#order,
      fire: callback,
    };
    this.#timers.add(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers.delete(timer);
      },
    };
  }

  /** Moves both clocks forward, firing due timers in order and letting promise callbacks run between them. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#monotonic + milliseconds;
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      const step = Math.max(0, timer.due - this.#monotonic);
      this.#monotonic += step;
      this.#wall += step;
      this.#timers.delete(timer);
      timer.fire();
      await drainMicrotasks();
    }
    this.#wall += end - this.#monotonic;
    this.#monotonic = end;
    await drainMicrotasks();
  }

  /** Moves the wall clock alone, as an administrator or a time server would. */
  jumpWall(milliseconds: number): void {
    this.#wall += milliseconds;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due > end) continue;
      if (
        first === undefined ||
        timer.due < first.due ||
        (timer.due === first.due && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }
}

async function drainMicrotasks(): Promise<void> {
  for (let round = 0; round < 16; round += 1) await Promise.resolve();
}
