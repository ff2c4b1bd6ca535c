/** What a session does when it stops and starts to be idle. */
export interface ActivityEvents {
  /** The first loop begins to work. */
  started(): Promise<void>;
  /** The last loop stops to work. */
  ended(): Promise<void>;
  /** A loop wants to begin while `ended` is under way: it should not take longer than it must. */
  hurry(): void;
}

/**
 * Counts what keeps a session from being idle: loops that are at work, and turns that run. A loop with queued input is
 * at work between two turns although no turn runs.
 */
export class Activity {
  readonly #events: ActivityEvents;
  #busyLoops = 0;
  #turns = 0;
  #ending: Promise<void> | undefined;

  constructor(events: ActivityEvents) {
    this.#events = events;
  }

  get busy(): boolean {
    return this.#busyLoops > 0;
  }

  /** Whether a turn runs. */
  get inTurn(): boolean {
    return this.#turns > 0;
  }

  /** A loop begins to work. What the session records of its end of activity comes before its beginning. */
  async loopBusy(): Promise<void> {
    while (this.#ending !== undefined) {
      this.hurry();
      await this.#ending;
    }
    this.#busyLoops += 1;
    if (this.#busyLoops === 1) await this.#events.started();
  }

  /** Somebody waits for the session to have become idle. */
  hurry(): void {
    if (this.#ending !== undefined) this.#events.hurry();
  }

  async loopDone(): Promise<void> {
    this.#busyLoops -= 1;
    if (this.#busyLoops > 0) return;
    this.#ending = this.#events.ended().finally(() => {
      this.#ending = undefined;
    });
    await this.#ending;
  }

  turnStarted(): void {
    this.#turns += 1;
  }

  turnEnded(): void {
    this.#turns -= 1;
  }
}
