import type { LeaseOwner } from '@holdfast/lease';
import type { Ref, SnapshotProgress } from '@holdfast/workspacestore';

/** How a new session begins. */
export interface NewSessionOptions {
  /** The files to begin with. */
  readonly seed?: Ref | undefined;
  /** 8 to 64 of `a-z 0-9 -`; default: fresh and sortable. */
  readonly id?: string | undefined;
  readonly title?: string | undefined;
  /** Shown to whoever finds the session or its root held, beside this process's identity. */
  readonly owner?: LeaseOwner | undefined;
  /** Called while files are brought into the root. */
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How a fork of another session begins. */
export interface ForkSessionOptions extends Omit<NewSessionOptions, 'seed'> {
  /** Id of a turn, an event or a checkpoint of the other session; default: its last checkpoint. */
  readonly at?: string | undefined;
}

/**
 * What happens when the files are not what the journal says.
 * - `record`: they are checkpointed (`recovered`); a per-session root is then brought back to what the journal says.
 * - `keep`: they are checkpointed and stay, in every placement.
 * - `discard`: they are brought back to what the journal says without a checkpoint of them.
 * - `fail`: the session is not opened.
 */
export type DriftPolicy = 'record' | 'keep' | 'discard' | 'fail';

/** How an existing session is opened. */
export interface OpenSessionOptions {
  /** Default `record`. Shared roots only report. */
  readonly drift?: DriftPolicy | undefined;
  /** Allow another root or placement mode than the session was left with; default `false`. */
  readonly relocate?: boolean | undefined;
  /** Begin a new journal when the session's own was lost, from what stands in its root; default `false`. */
  readonly adopt?: boolean | undefined;
  readonly owner?: LeaseOwner | undefined;
  /** Called while files are brought into the root. */
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}
