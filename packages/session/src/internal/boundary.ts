import type { StepDoneBody } from '@holdfast/journal';

import type { TurnOutcome } from '../loop.js';
import type { BoundaryResult } from './checkpoint-runner.js';

/** What loops tell about the moments at which checkpoints may be taken. */
export interface BoundaryRunner {
  /** A turn or a step begins: whatever was captured in the background gives way. */
  activityBegins(): void;
  /** Records the end of a step and takes the checkpoint that the policy asks for. */
  stepDone(step: StepDoneBody): Promise<BoundaryResult>;
  /** Records the end of a turn and takes the checkpoint that the policy asks for. */
  turnEnded(outcome: TurnOutcome): Promise<BoundaryResult>;
}
