import type { CanonicalPath, Coordinator } from '@holdfast/coordinator';
import type { CheckpointConsistency, SessionPlacement } from '@holdfast/journal';
import type { RestoreStrategy, ScratchPlacement } from '@holdfast/restore';
import type { CaptureOptions, WorkspaceStore } from '@holdfast/workspacestore';

import type { WriteTracker } from './write-tracker.js';

/** How a session relates to its live directory. */
export type PlacementMode = SessionPlacement['mode'];

/** Options of a capture that belong to the placement, not to one call. */
export type PlacementCapture = Pick<CaptureOptions, 'ignore' | 'limits' | 'onUnreadable' | 'reserved'>;

/** The managed workspace of one session: made by whoever opens the session, used by its runtime. */
export interface SessionWorkspace {
  readonly mode: PlacementMode;
  /** The live directory, canonical. */
  readonly root: string;
  /** The same as a scope for the coordinator. */
  readonly scope: CanonicalPath;
  readonly store: WorkspaceStore;
  /** Its health callback answers for the session's lease and the root's. */
  readonly coordinator: Coordinator;
  /** `fuzzy` when others may write while the session does not. */
  readonly consistency: CheckpointConsistency;
  readonly capture: PlacementCapture;
  readonly strategy: RestoreStrategy;
  readonly scratch: ScratchPlacement;
  /** Tells own changes from those of others; shared roots only. */
  readonly writes?: WriteTracker | undefined;
  /** Aborted when the root's lease is lost; absent when the placement has none. */
  readonly leaseSignal?: AbortSignal | undefined;
}
