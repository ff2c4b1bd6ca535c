import type { Ref } from '@holdfast/workspacestore';

/** Identity of a directory across renames and restarts: inode and birth time, as decimal text. */
export interface RootIdentity {
  readonly inode: string;
  readonly birthtimeNs: string;
}

/** What the journal must hold before a restore touches anything. */
export interface RestoreStarted {
  readonly restoreId: string;
  readonly ref: Ref;
  readonly previousRef?: Ref | undefined;
  readonly safetyRef?: Ref | undefined;
  readonly strategy: string;
  readonly planDigest: string;
  readonly root: RootIdentity;
}

/** What is known about a restore before it begins; the caller makes the event of it. */
export interface RestoreDraft extends RestoreStarted {
  /** Whether the result will have exactly the names, bytes and modes of the target. */
  readonly exact: boolean;
  /** Identity of the tree that the restore will leave, where it equals the target's. */
  readonly treeKey?: string | undefined;
}

/** Why a restore ended without a new tree. */
export interface RestoreAborted {
  readonly restoreId: string;
  readonly reason: string;
}

/**
 * Where a restore is recorded. Restore knows nothing of events and sessions: the bytes of the event are made before the
 * first change, kept in the intent, and given back to be appended. A method that rejects means: not recorded.
 */
export interface RestoreJournal {
  /** Makes the exact bytes to append when the restore is committed. Pure. */
  prepare(draft: RestoreDraft): Uint8Array;
  /** Appends `restore-started`, which fences everybody else, and returns its position. Nothing was touched yet. */
  started(record: RestoreStarted): Promise<number>;
  /** Appends the prepared event. The tree is the new one. */
  restored(event: Uint8Array, restoreId: string): Promise<void>;
  /** Appends `restore-aborted`. The tree is the old one. */
  aborted(record: RestoreAborted): Promise<void>;
}

/** A journal that records nothing: for trees that nobody keeps a history of. */
export const noJournal: RestoreJournal = Object.freeze({
  prepare: () => new Uint8Array(),
  started: () => Promise.resolve(0),
  restored: () => Promise.resolve(),
  aborted: () => Promise.resolve(),
});
