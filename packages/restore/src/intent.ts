import type { JsonValue } from '@holdfast/base';
import type { Ref } from '@holdfast/workspacestore';

import type { Operation } from './operation.js';
import type { RootIdentity } from './restore-journal.js';

/** Version of the intent format that this package writes. */
export const intentVersion = 1;

/**
 * How far the file system is.
 * - `intended`: the plan is durable, nothing else is certain; the root is untouched.
 * - `prepared`: the new content is durable in scratch; the root is untouched.
 * - `committing`: every undo is secured; the root may be anything between old and new.
 * - `committed`: the root is new, durably.
 * - `undone`: the root is old, durably.
 */
export type RestorePhase = 'intended' | 'prepared' | 'committing' | 'committed' | 'undone';

/** Everything that recovery needs to know about a restore; durable before the restore changes anything. */
export interface RestoreIntent {
  readonly version: number;
  readonly restoreId: string;
  readonly session: string;
  readonly epoch: number;
  /** Position of `restore-started` in the session's journal. */
  readonly position: number;
  readonly ref: Ref;
  readonly previousRef?: Ref | undefined;
  readonly safetyRef?: Ref | undefined;
  readonly strategy: string;
  readonly planDigest: string;
  /** Tree key of the old tree. */
  readonly base: string;
  readonly root: RootIdentity;
  /** The process that runs the restore, in the caller's own terms. */
  readonly owner: JsonValue;
  /** The exact bytes to append when the restore is committed. */
  readonly event: Uint8Array;
  readonly operations: readonly Operation[];
}

/** What the `committing` record adds. */
export interface CommittingRecord {
  /** Operations that were left out because of conflicts, by number. */
  readonly skipped: readonly number[];
  /** What the strategy needs to undo. */
  readonly state: JsonValue;
}

/** An intent as it was read back. */
export interface IntentHistory {
  readonly intent: RestoreIntent;
  readonly phase: RestorePhase;
  /** Present from `committing` on. */
  readonly committing?: CommittingRecord | undefined;
}
