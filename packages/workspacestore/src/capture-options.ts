import type { Limits } from './limits.js';
import type { Ref } from './ref.js';
import type { Tree } from './tree.js';

/** How a live directory is read; the same for snapshots, scans and comparisons. */
export interface CaptureOptions {
  /** Ignore rules in gitignore syntax, in order; none by default. */
  readonly ignore?: readonly string[] | undefined;
  /** Limits that differ from the store's. */
  readonly limits?: Partial<Limits> | undefined;
  /** What to do with a node that may not be read; default `fail`. */
  readonly onUnreadable?: 'fail' | 'omit' | undefined;
  /** Fail with `TreeChangedError` instead of reporting what moved while it was read; default `false`. */
  readonly quiescent?: boolean | undefined;
  /** Paths, as path text, that belong to the caller's own machinery: left out and listed as `reserved`. */
  readonly reserved?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called between entries, at most every few milliseconds. */
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
}

export interface SnapshotOptions extends CaptureOptions {
  /**
   * The ref that the caller's journal holds as current for this root. When the tree is still equal to it, it is returned
   * with its own hold and nothing is written.
   */
  readonly base?: Ref | undefined;
}

export interface ScanOptions extends CaptureOptions {
  /** The tree that the live one will be compared with: its ignore rules apply unless `ignore` is given. */
  readonly target?: Tree | undefined;
}

/** How far a capture, or the building of a tree, has come. */
export interface SnapshotProgress {
  /** What is being done, for people. */
  readonly phase: 'scanning' | 'storing' | 'writing' | 'syncing';
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  readonly filesRead: number;
  readonly bytesRead: number;
}

/** Something that was left out of a snapshot. */
export interface Skipped {
  /** Path text. */
  readonly path: string;
  readonly reason: string;
}

/** Metadata that was seen and is not part of a snapshot. */
export interface Dropped {
  /** Path text. */
  readonly path: string;
  /** `metadata`: extended attributes and the like in an imported tar file. */
  readonly what: 'setuid' | 'setgid' | 'sticky' | 'metadata';
}

export interface SnapshotStats {
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  readonly filesRead: number;
  readonly bytesRead: number;
  /** Bytes of archives that this snapshot added to the store. */
  readonly bytesStored: number;
  readonly durationMs: number;
}

export interface SnapshotResult {
  readonly ref: Ref;
  /** Keeps the commit alive until `release`; journals carry it with the event that names the ref. */
  readonly hold: string;
  readonly stats: SnapshotStats;
  readonly coverage: {
    readonly omitted: readonly Skipped[];
    readonly dropped: readonly Dropped[];
    /** Path text of what moved while it was read. */
    readonly raced: readonly string[];
  };
}
