import type { EntryKind, OmitReason, Ref } from '@holdfast/workspacestore';

/** One change of a plan. Paths are path text (see `decodePathText` of `@holdfast/base`). */
export interface Change {
  readonly path: string;
  /** What stands there afterwards; for a deletion what stood there. */
  readonly kind: ChangeKind;
  /** Bytes; files only. */
  readonly size?: number | undefined;
  /** Permission bits afterwards; files and directories that stay or come. */
  readonly mode?: number | undefined;
  /** What stood there: the kind on a `retype`, the octal mode on a `chmod`. */
  readonly from?: string | undefined;
}

/** Kinds that captures know, and the special nodes that a restore may have to replace. */
export type ChangeKind = EntryKind | 'fifo' | 'socket' | 'char-device' | 'block-device' | 'other';

/** Why a restore leaves something alone. */
export type SkipReason =
  | OmitReason
  /** An ignore rule left it out, of the target or of the live scan. */
  | 'ignored'
  /** The target left it out when it was captured. */
  | 'target-omitted'
  /** The safety checkpoint does not hold it. */
  | 'uncaptured'
  /** Something that is left alone stands inside it or above it. */
  | 'in-the-way'
  /** The default `prune` keeps directories and non-regular entries. */
  | 'not-pruned'
  /** A conflict that `onConflict: 'skip'` left alone. */
  | 'conflict'
  /** The target left it out when it was captured, and nothing stands there now: nothing can bring it back. */
  | 'unrestorable';

/** Something that a restore does not touch or bring back, and why. */
export interface Skipped {
  readonly path: string;
  readonly reason: SkipReason;
}

export type ConflictReason =
  /** It changed after the safety checkpoint, or after the plan was made. */
  | 'concurrent-change'
  /** It differs from the session's last snapshot without having gone through the session's permits. */
  | 'foreign';

/** A path that somebody else changed. What happens to it says `onConflict`. */
export interface Conflict {
  readonly path: string;
  readonly reason: ConflictReason;
}

/** What to do with conflicts: refuse the whole restore, treat them like other changes, or leave them alone. */
export type OnConflict = 'fail' | 'overwrite' | 'skip';

/**
 * What is deleted besides what the target replaces. `files`: regular files that the target does not have. `exact`: every
 * captured entry that the target does not have.
 */
export type Prune = 'files' | 'exact';

/**
 * What a restore will do. The same object is shown to people and committed, so what is shown is what is done. Lists are
 * in canonical order of path and disjoint: a path that changes its kind is in `retype` only.
 */
export interface RestorePlan {
  readonly ref: Ref;
  /** Identity of the scanned tree that the plan starts from: names, bytes and modes. */
  readonly base: string;
  /** The strategy that will be used. */
  readonly strategy: string;
  readonly create: readonly Change[];
  readonly replace: readonly Change[];
  readonly chmod: readonly Change[];
  readonly retype: readonly Change[];
  readonly delete: readonly Change[];
  readonly mkdir: readonly Change[];
  /** Entries that are already as the target has them. */
  readonly keep: number;
  /** What will not be touched, and why. */
  readonly omitted: readonly Skipped[];
  readonly conflicts: readonly Conflict[];
  /** Bytes of file content that will be written. */
  readonly bytes: number;
  /** Whether the result has exactly the names, bytes and modes of the target. */
  readonly exact: boolean;
}
