import {
  type Clock,
  concatBytes,
  equalBytes,
  parseName,
  parseNamePrefix,
  systemClock,
  throwIfAborted,
} from '@holdfast/base';

import { Blobs } from './blobs.js';
import type {
  BlobContent,
  BlobEntry,
  BlobInfo,
  BlobsDriver,
  BlobsSupports,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from './driver.js';
import {
  BlobConflictError,
  BlobNotFoundError,
  BlobRangeError,
  BlobSourceError,
  BlobsClosedError,
} from './errors.js';

interface StoredBlob {
  readonly bytes: Uint8Array;
  readonly modified: number;
}

/** The storage behind one or more memory stores: share one to get independent views of the same objects. */
export class MemoryBlobStorage {
  /** @internal */
  readonly objects: Map<string, StoredBlob> = new Map();
}

export interface MemoryBlobsOptions {
  /** Share one storage between several stores. Default: a fresh one. */
  readonly storage?: MemoryBlobStorage | undefined;
  /** Stamps `modified`. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** Makes a store in memory, for tests and for things that need not outlive the process. */
export function memoryBlobs(options: MemoryBlobsOptions = {}): Blobs {
  return new Blobs(new MemoryBlobsDriver(options));
}

/** No chunk is larger, so that no consumer comes to rely on one chunk per object. */
const chunkBytes = 16_384;

/**
 * The reference driver, stricter than real backends: it copies everything, checks names and sizes again, hands out small
 * chunks, lets the event loop turn before every effect, and refuses use after close.
 */
export class MemoryBlobsDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsSupports = Object.freeze({ visibility: 'strong', durable: false });
  readonly #objects: Map<string, StoredBlob>;
  readonly #clock: Clock;
  #closed = false;

  constructor(options: MemoryBlobsOptions = {}) {
    this.#objects = (options.storage ?? new MemoryBlobStorage()).objects;
    this.#clock = options.clock ?? systemClock;
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async put(
    key: string,
    source: ReopenableSource,
    options: DriverOptions,
  ): Promise<{ readonly created: boolean }> {
    this.#enter(options);
    parseName(key);
    // 1. read everything, visible to nobody; 2. in one turn: look and store.
    const bytes = await this.#collect(key, source, options);
    this.#enter(options);
    const existing = this.#objects.get(key);
    if (existing !== undefined) {
      if (!equalBytes(existing.bytes, bytes)) throw new BlobConflictError(key);
      return { created: false };
    }
    this.#objects.set(key, { bytes, modified: this.#clock.now() });
    return { created: true };
  }

  async #collect(key: string, source: ReopenableSource, options: DriverOptions): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let received = 0;
    for await (const chunk of source.open()) {
      this.#enter(options);
      received += chunk.length;
      parts.push(new Uint8Array(chunk));
    }
    if (received !== source.size) {
      const kind = received < source.size ? 'too-short' : 'too-long';
      throw new BlobSourceError(key, kind, source.size, received);
    }
    return concatBytes(parts);
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    this.#enter(options);
    parseName(key);
    await Promise.resolve();
    this.#enter(options);
    const stored = this.#objects.get(key);
    if (stored === undefined) throw new BlobNotFoundError(key);
    const size = stored.bytes.length;
    const { start, end } = options.range ?? { start: 0, end: size };
    if (end > size) throw new BlobRangeError(key, { start, end }, size);
    let open = true;
    const enter = (): void => {
      if (!open) throw new TypeError('memory blobs: a chunk was asked for after close');
      this.#enter(options);
    };
    async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
      for (let position = start; position < end; position += chunkBytes) {
        enter();
        await Promise.resolve();
        yield (stored as StoredBlob).bytes.slice(position, Math.min(end, position + chunkBytes));
      }
      enter();
    }
    return {
      size,
      chunks: chunks(),
      close: async () => {
        open = false;
        await Promise.resolve();
      },
    };
  }

  async stat(key: string, options: DriverOptions): Promise<BlobInfo | undefined> {
    this.#enter(options);
    parseName(key);
    await Promise.resolve();
    this.#enter(options);
    const stored = this.#objects.get(key);
    return stored === undefined ? undefined : { size: stored.bytes.length, modified: stored.modified };
  }

  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    this.#enter(options);
    parseNamePrefix(prefix);
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    for (const key of keys) {
      await Promise.resolve();
      this.#enter(options);
      const stored = this.#objects.get(key);
      if (stored !== undefined) yield { key, size: stored.bytes.length, modified: stored.modified };
    }
  }

  async delete(key: string, options: DriverOptions): Promise<void> {
    this.#enter(options);
    parseName(key);
    await Promise.resolve();
    this.#enter(options);
    this.#objects.delete(key);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.resolve();
  }

  #enter(options: DriverOptions): void {
    if (this.#closed) throw new BlobsClosedError();
    throwIfAborted(options.signal);
  }
}
