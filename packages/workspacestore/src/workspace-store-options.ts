import type { Clock, Random } from '@holdfast/base';
import type { FileSystem } from '@holdfast/durable';

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
  /** Whether large trees are captured in other threads; default `true`. */
  readonly threads?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** The session that writes, recorded for operators. */
  readonly session?: WriterSession | undefined;
}

export interface SignalOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Takes one file's content. Its bytes have been proved against the entry's key before the stream ends. */
export type ContentSink = (entry: TreeEntry, chunks: AsyncIterable<Uint8Array>) => Promise<void>;
