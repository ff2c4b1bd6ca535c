import type { EventInput } from '@holdfast/journal';

import type { TurnOutcome } from '../loop.js';
import { eventFailure } from './event-failure.js';

/** The terminal event of a turn. */
export function turnEndEvent(outcome: TurnOutcome): EventInput {
  const { turn, loop } = outcome;
  switch (outcome.status) {
    case 'done': {
      const output = outcome.output === undefined ? {} : { output: outcome.output };
      return { type: 'TurnDone', body: { turn, loop, ...output } };
    }
    case 'failed':
      return { type: 'TurnFailed', body: { turn, loop, error: eventFailure(outcome.error) } };
    case 'interrupted':
      return { type: 'TurnInterrupted', body: { turn, loop, reason: outcome.reason } };
  }
}
