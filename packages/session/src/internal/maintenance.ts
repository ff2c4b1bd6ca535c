import type { Clock } from '@holdfast/base';

import type { SessionWorkspace } from '../workspace.js';
import { eventFailure } from './event-failure.js';
import type { Notices } from './notices.js';

export interface MaintenanceHost {
  readonly workspace: Pick<SessionWorkspace, 'root' | 'store'>;
  readonly notices: Notices;
  readonly clock: Clock;
}

/** Checkpoints after which the archives are looked at: as many of a kind become one. */
const everyCheckpoints = 8;

/** Groups of archives that one look merges at most. */
const mostMerges = 4;

/**
 * Tidies the archives that the checkpoints of a session have left, in the background and one look at a time. What is done
 * here is never waited for and changes no ref: it gives way to everything, and what fails is tried again later.
 */
export class Maintenance {
  readonly #host: MaintenanceHost;
  #checkpoints = 0;
  #cancel: AbortController | undefined;
  #running: Promise<void> | undefined;

  constructor(host: MaintenanceHost) {
    this.#host = host;
  }

  /** Takes note of a checkpoint. */
  checkpointed(): void {
    this.#checkpoints += 1;
  }

  /** Nothing else is to be done: begins, when enough has come together. */
  begin(): void {
    if (this.#running !== undefined || this.#checkpoints < everyCheckpoints) return;
    this.#checkpoints = 0;
    this.#cancel = new AbortController();
    this.#running = this.#run(this.#cancel.signal).finally(() => {
      this.#running = undefined;
    });
  }

  /** Cancels what runs; looked at again when there is nothing to do. */
  giveWay(reason: string): void {
    this.#cancel?.abort(new Error(`gave way to ${reason}`));
  }

  /** Resolves when nothing runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, notices, workspace } = this.#host;
    const started = clock.monotonic();
    try {
      const { merged, rebased } = await workspace.store.maintain({
        roots: [workspace.root],
        maxMerges: mostMerges,
        signal,
      });
      const durationMs = clock.monotonic() - started;
      if (merged + rebased > 0)
        notices.publish({ type: 'maintenance-finished', merged, rebased, durationMs });
    } catch (error) {
      this.#checkpoints += everyCheckpoints;
      if (signal.aborted) return;
      const durationMs = clock.monotonic() - started;
      notices.publish({ type: 'maintenance-failed', error: eventFailure(error), durationMs });
    }
  }
}
