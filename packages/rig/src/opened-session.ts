import type { RecoveryResult } from '@holdfast/restore';
import type { SessionController } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';

import type { DriftDifference } from './errors.js';

/** Files that differed from what the journal says. */
export interface DriftReport {
  /** What the journal holds as current. */
  readonly expected: Ref;
  /** The first hundred differences. */
  readonly differences: readonly DriftDifference[];
  /** The checkpoint of the files as they were found. */
  readonly recovered: Ref | undefined;
  /** Whether the files were brought back to `expected`. */
  readonly broughtBack: boolean;
}

/** What opening a session found and did. */
export interface OpeningReport {
  /** What interrupted restores had left. */
  readonly recovery: RecoveryResult;
  /** Turns that the end of the previous process interrupted. */
  readonly interruptedTurns: readonly string[];
  /** How the files differed from what the journal says; absent when they did not, or nothing was recorded yet. */
  readonly drift: DriftReport | undefined;
  /** The ref that was materialized into an empty root. */
  readonly materialized: Ref | undefined;
}

/** A session that this process owns, and what opening it found. */
export interface OpenedSession extends SessionController {
  readonly opening: OpeningReport;
}

/** @internal Adds the report to the controller. */
export function openedSession(controller: SessionController, opening: OpeningReport): OpenedSession {
  return Object.freeze({ ...controller, opening: Object.freeze(opening) });
}
