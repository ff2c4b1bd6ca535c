/** What a backend can do. Declared must work; undeclared must refuse with `BlobsUnsupportedError`. */
export interface BlobsSupports {
  /**
   * `strong`: when a put or delete resolves, get, stat and list of every client see it. Garbage collection needs it and
   * refuses otherwise.
   */
  readonly visibility: 'strong' | 'eventual';
  /** `true`: what a resolved put stored survives power loss; `false`: only the end of the process. */
  readonly durable: boolean;
}

/** Bytes that can be read more than once. Never a bare one-shot stream: retries and verification read again. */
export type BlobSource = Uint8Array | ReopenableSource;

export interface ReopenableSource {
  /** Exact length in bytes. A source that yields more or fewer makes the put fail with nothing visible. */
  readonly size: number;
  /** Starts a fresh read from the beginning. */
  open(): AsyncIterable<Uint8Array>;
}

/** Half-open byte range: `start` inclusive, `end` exclusive; 0 ≤ start ≤ end ≤ size of the object. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface BlobInfo {
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970 by the backend's clock. */
  readonly modified: number;
}

export interface BlobEntry extends BlobInfo {
  readonly key: string;
}

export interface BlobContent {
  /** Size of the whole object, whatever range was asked for. */
  readonly size: number;
  /** Chunks of the requested range, in order. Iterated at most once; a chunk may be reused once the next is asked for. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /**
   * Frees what the read holds. Called once: after the last chunk, early, after a failure, or when nothing was read.
   * A generator alone cannot do this: `return()` on one that never started runs none of its code.
   */
  close(): Promise<void>;
}

/**
 * What an adapter implements. Users never call it: they hold a `Blobs`, which validates, copies, unifies aborts and
 * wraps errors.
 *
 * Guaranteed to a driver: legal keys and prefixes; an options object with a signal; sources that yield exactly the size
 * they announce or throw, as non-empty chunks that the driver may keep; ranges of whole numbers with 0 ≤ start ≤ end;
 * one `close()`, after every call has settled, and no call afterwards.
 *
 * A driver must: pass through what a source throws; honour the signal by rejecting with its reason; hold no whole
 * object in memory; yield to the event loop in long work; say "not there" only on an explicit fact from the backend.
 * It may throw raw backend errors, which are wrapped as definite failures (nothing took effect) that are not worth a
 * retry; an own boolean property `retryable` of the raw error is honoured.
 */
export interface BlobsDriver {
  readonly contract: 'blobs/1';
  readonly supports: BlobsSupports;
  /** Canonical local directories that this driver writes to; empty for remote ones. */
  storagePaths(): readonly string[];
  /**
   * Create-only. Must make a byte-identical repeat a success (`created: false`), must throw `BlobConflictError` for
   * different content and keep the original, must leave nothing visible when the source fails. Must be durable (as
   * declared) when it resolves, a repeat included. A failure after which the object may exist is
   * `BlobsAmbiguousError`. An abort leaves nothing visible until the object is; from there on it is not an abort.
   */
  put(key: string, source: ReopenableSource, options: DriverOptions): Promise<{ readonly created: boolean }>;
  /** Must throw `BlobNotFoundError` from the call itself, and `BlobRangeError` when the range passes the end. */
  get(key: string, options: DriverGetOptions): Promise<BlobContent>;
  /** `undefined` only on an explicit fact from the backend that the object is not there. */
  stat(key: string, options: DriverOptions): Promise<BlobInfo | undefined>;
  /** Sorted by key, no duplicates, plain string prefix, streaming. */
  list(prefix: string, options: DriverOptions): AsyncIterable<BlobEntry>;
  /** Idempotent; frees the key. A failure after which the object may be gone is `BlobsAmbiguousError`. */
  delete(key: string, options: DriverOptions): Promise<void>;
  close(): Promise<void>;
}

export interface DriverGetOptions extends DriverOptions {
  /** The whole object when absent. */
  readonly range?: ByteRange | undefined;
}

export interface DriverOptions {
  readonly signal?: AbortSignal | undefined;
}
