import type { Ref } from '@holdfast/workspacestore';

import type { Conflict, Skipped } from './plan.js';

/** How much was read back and compared after the restore was committed. */
export type Verified = 'touched' | 'all' | 'none';

/** Something about a finished restore that people should know. */
export interface ReceiptNote {
  readonly kind: /** The swap would have lost something; the tree was reconciled in place. */
    | 'swap-unavailable'
    /** The file system has no hard links; undo and staged files were copied. */
    | 'no-hard-links'
    /** The file system does not keep modes. */
    | 'modes-unsupported'
    /** The safety checkpoint does not hold what stood at `paths`: undoing the restore does not bring it back. */
    | 'undo-incomplete'
    /** The old tree was kept beside the root because it holds something that no checkpoint has. */
    | 'backup-kept'
    /** Scratch was left behind and will be removed by the next recovery or sweep. */
    | 'scratch-kept';
  readonly detail: string;
  /** The paths concerned, as path text, where the note is about paths. */
  readonly paths?: readonly string[] | undefined;
}

/** What a finished restore did. */
export interface RestoreReceipt {
  readonly ref: Ref;
  readonly restoreId: string;
  /** The strategy that was used. */
  readonly strategy: string;
  readonly created: number;
  readonly replaced: number;
  readonly chmodded: number;
  readonly retyped: number;
  readonly deleted: number;
  readonly kept: number;
  readonly omitted: readonly Skipped[];
  readonly conflicts: readonly Conflict[];
  readonly bytesWritten: number;
  readonly durationMs: number;
  readonly verified: Verified;
  /** Whether the tree has exactly the names, bytes and modes of the target. */
  readonly exact: boolean;
  /** The checkpoint that undoes this restore. */
  readonly safetyRef?: Ref | undefined;
  readonly notes?: readonly ReceiptNote[] | undefined;
}

export type RecoveryAction =
  /** There was nothing to recover. */
  | 'none'
  /** Leftovers of a restore that had changed nothing, or whose outcome was already decided, were removed. */
  | 'cleaned'
  /** An unfinished restore was taken back; the tree is the old one. */
  | 'undone'
  /** A finished restore was kept; the tree is the new one. */
  | 'kept'
  /** Scratch that could not be read was moved aside; the tree is as it was found. */
  | 'quarantined';

/** What recovery found and did. */
export interface RecoveryResult {
  readonly action: RecoveryAction;
  /** The ref that the unfinished or finished restore was for. */
  readonly ref?: Ref | undefined;
  readonly restoreId?: string | undefined;
}
