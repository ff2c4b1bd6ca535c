import type { Clock, Random } from '@holdfast/base';
import type { FileSystem, WholeSync } from '@holdfast/durable';

import type { Compression } from './internal/frame-codec.js';
import type { WriterSession } from './internal/record.js';
import type { Limits } from './limits.js';
import type { TreeEntry } from './tree.js';

export interface WorkspaceStoreOptions {
  /** Limits that differ from {@link defaultLimits}; they hold for captures and for what is read. */
  readonly limits?: Partial<Limits> | undefined;
  /** A private directory for what speeds things up; losing it costs time only. */
  readonly cacheDirectory?: string | undefined;
  /** How new frames are compressed; default `gzip`. `zstd` needs Node 22.15 or later to write. */
  readonly compression?: Compression | undefined;
  /** The disk that trees are on; default the real one. With another one, everything runs in the calling thread. */
  readonly fileSystem?: FileSystem | undefined;
  /**
   * How a tree with many files is made durable at once, instead of file by file; `false` for never. Default: the system's
   * `sync -f` on Linux, nothing with another file system than the disk.
   */
  readonly wholeSync?: WholeSync | false | undefined;
  /** Whether large trees are captured in other threads; default `true`. */
  readonly threads?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /**
   * Names this process in what it builds beside destinations, and tells whether such a process still runs, so that
   * `materialize` can remove what a killed one left there. Default: nothing of others is removed.
   */
  readonly builder?: Builder | undefined;
  /** The session that writes, recorded for operators. */
  readonly session?: WriterSession | undefined;
}

export interface Builder {
  /** `[a-z0-9][a-z0-9-]*`, at most 64 characters. */
  readonly name: string;
  /** Tells of a name that any process may have been given: `false` only when that one is surely over. */
  isLive(name: string): boolean;
}

export interface SignalOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Takes one file's content. Its bytes have been proved against the entry's key before the stream ends. */
export type ContentSink = (entry: TreeEntry, chunks: AsyncIterable<Uint8Array>) => Promise<void>;
