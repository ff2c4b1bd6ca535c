/**
 * Counts what keeps a session from being idle: loops that are at work, and turns that run. A loop with queued input is
 * at work between two turns although no turn runs.
 */
export class Activity {
  readonly #started: () => Promise<void>;
  readonly #ended: () => Promise<void>;
  #busyLoops = 0;
  #turns = 0;

  /** `started` and `ended` are called when the first loop begins and the last one stops to work. */
  constructor(started: () => Promise<void>, ended: () => Promise<void>) {
    this.#started = started;
    this.#ended = ended;
  }

  get busy(): boolean {
    return this.#busyLoops > 0;
  }

  /** Whether a turn runs. */
  get inTurn(): boolean {
    return this.#turns > 0;
  }

  async loopBusy(): Promise<void> {
    this.#busyLoops += 1;
    if (this.#busyLoops === 1) await this.#started();
  }

  async loopDone(): Promise<void> {
    this.#busyLoops -= 1;
    if (this.#busyLoops === 0) await this.#ended();
  }

  turnStarted(): void {
    this.#turns += 1;
  }

  turnEnded(): void {
    this.#turns -= 1;
  }
}
