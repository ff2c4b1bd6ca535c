import type { StepDoneBody } from '@holdfast/journal';

import type { TurnOutcome } from '../loop.js';
import type { BoundaryRunner } from './boundary.js';
import type { BoundaryResult } from './checkpoint-runner.js';
import type { EventLog } from './event-log.js';
import { turnEndEvent } from './turn-end-event.js';

/** The boundaries of a session without a workspace: their events, and nothing else. */
export class PlainBoundaries implements BoundaryRunner {
  readonly #log: EventLog;

  constructor(log: EventLog) {
    this.#log = log;
  }

  activityBegins(): void {
    // Nothing runs in the background.
  }

  async stepDone(step: StepDoneBody): Promise<BoundaryResult> {
    return {
      event: await this.#log.append({ type: 'StepDone', body: step, loop: step.loop }),
      ref: undefined,
    };
  }

  async turnEnded(outcome: TurnOutcome): Promise<BoundaryResult> {
    const event = await this.#log.append({ ...turnEndEvent(outcome), loop: outcome.loop });
    return { event, ref: undefined };
  }

  async idle(loop?: string): Promise<BoundaryResult> {
    const body = loop === undefined ? {} : { loop };
    return { event: await this.#log.append({ type: 'SessionIdle', body }), ref: undefined };
  }
}
