import { SessionOpeningError } from '../errors.js';

/** What to take back when the opening of a session fails, last first. */
export class UndoOpening {
  readonly #steps: (() => Promise<void>)[] = [];

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Takes everything back and returns the error to throw. */
  async run(sessionId: string, error: unknown): Promise<unknown> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (failure) {
        failures.push(failure);
      }
    }
    return failures.length === 0 ? error : new SessionOpeningError(sessionId, [error, ...failures]);
  }
}
