import type { Ref } from './ref.js';

export interface CollectOptions {
  /**
   * Yields every ref that must stay: all refs of all journals that are kept, and both refs of every open restore. Called
   * twice; the second time after every writer was told, so what it yields then decides. When it throws, nothing is
   * deleted.
   */
  readonly live: () => AsyncIterable<Ref> | Iterable<Ref>;
  /**
   * Tells whether a session's journal has been taken over since the given epoch, durably. What a writer of that epoch
   * committed without a durable event can get none any more, and is not kept for its own sake. Asked before `live` is.
   * Default: never.
   */
  readonly isFenced?:
    | ((session: { readonly id: string; readonly epoch: number }) => boolean | Promise<boolean>)
    | undefined;
  /** Milliseconds, by the store's own clock, for which anything new is left alone; a courtesy, not a safeguard. Default 0. */
  readonly graceMs?: number | undefined;
  /** Only tell what would be deleted; nothing is written. Default `false`. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CollectProgress) => void) | undefined;
}

export interface CollectProgress {
  readonly phase: 'marking' | 'retiring' | 'deleting';
  /** Stored objects looked at, or deleted, in this phase. */
  readonly objects: number;
}

/** Numbers of stored objects. */
export interface CollectCounts {
  readonly records: number;
  readonly archives: number;
  readonly forwards: number;
  /** Bytes of the archives. */
  readonly bytes: number;
}

export interface CollectReport {
  /** `undefined` when nothing had to be condemned. */
  readonly collection: string | undefined;
  readonly dryRun: boolean;
  /** What was deleted, or would be. */
  readonly deleted: CollectCounts;
  readonly kept: CollectCounts;
  /** Live refs that this store has no record of. */
  readonly missing: readonly Ref[];
  /** Slots of writer logs that nobody needs any more. */
  readonly slots: number;
}

/** Why a snapshot is still in the store. */
export interface Explanation {
  readonly ref: Ref;
  /** Its records, and whether each is kept for its own sake: its event is not known to be durable yet. */
  readonly records: readonly { readonly hold: string; readonly held: boolean; readonly archives: number }[];
  /** Bytes of the archives that it needs. */
  readonly bytes: number;
}
