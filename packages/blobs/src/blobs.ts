import { parseName, parseNamePrefix, textOf, throwIfAborted } from '@holdfast/base';

import type {
  BlobContent,
  BlobEntry,
  BlobInfo,
  BlobSource,
  BlobsDriver,
  BlobsSupports,
  ByteRange,
} from './driver.js';
import {
  BlobRangeError,
  BlobsAmbiguousError,
  BlobsClosedError,
  type BlobsOperation,
  BlobsUnsupportedError,
} from './errors.js';
import { checkEntry, checkInfo, checkRange } from './internal/checks.js';
import { type Operation, startOperation } from './internal/operation.js';
import { pullStream } from './internal/pull-stream.js';
import { guardSource, ownSource } from './internal/source.js';
import { translateFailure } from './internal/translate.js';
import { type BlobReader, OpenBlob } from './reader.js';

export interface BlobsOptions {
  /** Ends the call early; it rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface BlobsGetOptions extends BlobsOptions {
  /** Part of the object to read; the whole when absent. */
  readonly range?: ByteRange | undefined;
}

export interface PutResult {
  /** `false` when the same content was there already. */
  readonly created: boolean;
}

/** What a caller may insist on; see {@link Blobs.assertSupports}. */
export interface BlobsNeeds {
  readonly visibility?: 'strong' | undefined;
  readonly durable?: true | undefined;
}

const contract = 'blobs/1';

/**
 * A store of immutable objects over any driver.
 *
 * Names are checked before any input or output, bytes are copied in and out, aborts reject with the signal's own
 * reason, and whatever a driver throws arrives as an error of this package.
 */
export class Blobs implements AsyncDisposable {
  /** What the backend declares. Frozen. */
  readonly supports: BlobsSupports;
  readonly #driver: BlobsDriver;
  readonly #running = new Set<Operation>();
  #closing: Promise<void> | undefined;

  /** @throws BlobsUnsupportedError when the driver implements another version of the contract. */
  constructor(driver: BlobsDriver) {
    const declared: unknown = driver.contract;
    if (declared !== contract) throw new BlobsUnsupportedError(`contract: ${contract}`, textOf(declared));
    this.#driver = driver;
    this.supports = Object.freeze({ ...driver.supports });
  }

  /** Canonical local directories that the store writes to; empty for remote ones. Works on a closed store too. */
  storagePaths(): readonly string[] {
    return Object.freeze([...this.#driver.storagePaths()]);
  }

  /**
   * Refuses a store that lacks what the caller depends on; collection, for example, needs strong visibility.
   * @throws BlobsUnsupportedError naming the first missing fact.
   */
  assertSupports(needs: BlobsNeeds): void {
    for (const need of ['visibility', 'durable'] as const) {
      const wanted = needs[need];
      if (wanted === undefined || this.supports[need] === wanted) continue;
      throw new BlobsUnsupportedError(
        `${need}: ${textOf(wanted)}`,
        `${need}: ${textOf(this.supports[need])}`,
      );
    }
  }

  /**
   * Stores an object under a key that is free or holds the same bytes. Point of no return: the object becomes visible.
   * Durable as declared by `supports.durable` when it resolves. The store reads a re-openable source once or more.
   * @throws BlobConflictError when the key holds different content, which is kept.
   * @throws BlobSourceError when the source fails or lies about its size; nothing became visible.
   * @throws BlobsAmbiguousError when the object may have been stored all the same.
   */
  async put(key: string, source: BlobSource, options: BlobsOptions = {}): Promise<PutResult> {
    this.#assertOpen();
    parseName(key);
    const owned = ownSource(source);
    return await this.#run('put', key, options.signal, async (operation) => {
      const guarded = guardSource(key, owned, operation.signal);
      throwIfAborted(operation.signal);
      try {
        const { created } = await this.#driver.put(key, guarded, { signal: operation.signal });
        if (guarded.failure !== undefined) throw guarded.failure.error;
        return { created };
      } catch (error) {
        if (guarded.failure !== undefined && !BlobsAmbiguousError.is(error)) throw guarded.failure.error;
        throw error;
      }
    });
  }

  /**
   * Opens an object for reading. The reader holds a resource: consume it, leave its loop, or close it.
   * @throws BlobNotFoundError from this call, not from the first read.
   * @throws BlobRangeError when the range passes the end of the object.
   */
  async get(key: string, options: BlobsGetOptions = {}): Promise<BlobReader> {
    this.#assertOpen();
    parseName(key);
    const range = checkRange(options.range);
    const operation = startOperation(options.signal, this.#running);
    let content: BlobContent | undefined;
    try {
      throwIfAborted(operation.signal);
      content = await this.#driver.get(key, { range, signal: operation.signal });
      throwIfAborted(operation.signal);
      checkInfo('get', key, { size: content.size, modified: 0 });
      if (range !== undefined && range.end > content.size) throw new BlobRangeError(key, range, content.size);
      return new OpenBlob(key, content, range, operation);
    } catch (error) {
      const failure = translateFailure(error, 'get', key, operation.signal);
      await content?.close().catch(() => undefined);
      operation[Symbol.dispose]();
      throw failure;
    }
  }

  /** Reads an object, or a range of it, into one fresh array. Throws as `get` and its reader do. */
  async getBytes(key: string, options: BlobsGetOptions = {}): Promise<Uint8Array> {
    const reader = await this.get(key, options);
    return await reader.bytes();
  }

  /** Returns size and time of an object, `undefined` when there is none. */
  async stat(key: string, options: BlobsOptions = {}): Promise<BlobInfo | undefined> {
    this.#assertOpen();
    parseName(key);
    return await this.#run('stat', key, options.signal, async (operation) => {
      throwIfAborted(operation.signal);
      const info = await this.#driver.stat(key, { signal: operation.signal });
      throwIfAborted(operation.signal);
      return info === undefined ? undefined : checkInfo('stat', key, info);
    });
  }

  /**
   * Lists objects whose keys start with `prefix`, sorted by key, without duplicates. Nothing happens, and nothing is
   * refused, before the first step. Objects put or deleted meanwhile may or may not appear.
   */
  async *list(prefix: string = '', options: BlobsOptions = {}): AsyncGenerator<BlobEntry, void, undefined> {
    this.#assertOpen();
    parseNamePrefix(prefix);
    const operation = startOperation(options.signal, this.#running);
    const translate = (error: unknown): unknown => translateFailure(error, 'list', prefix, operation.signal);
    let previous: string | undefined;
    let iterator: AsyncIterator<BlobEntry>;
    try {
      throwIfAborted(operation.signal);
      iterator = this.#driver.list(prefix, { signal: operation.signal })[Symbol.asyncIterator]();
    } catch (error) {
      operation[Symbol.dispose]();
      throw translate(error);
    }
    yield* pullStream<BlobEntry, BlobEntry>({
      operation,
      iterator,
      release: async () => await Promise.resolve(),
      convert: (entry) => {
        const checked = checkEntry(prefix, previous, entry);
        previous = checked?.key ?? previous;
        return checked;
      },
      finish: () => undefined,
      translate,
    }).values;
  }

  /**
   * Removes an object and frees its key; succeeds when there is none. Point of no return: the object is gone.
   * @throws BlobsAmbiguousError when it may be gone all the same.
   */
  async delete(key: string, options: BlobsOptions = {}): Promise<void> {
    this.#assertOpen();
    parseName(key);
    await this.#run('delete', key, options.signal, async (operation) => {
      throwIfAborted(operation.signal);
      await this.#driver.delete(key, { signal: operation.signal });
    });
  }

  /** Cancels what still runs, waits for it, then closes the driver. Idempotent; concurrent calls share one result. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      const running = [...this.#running];
      for (const operation of running) operation.cancel(new BlobsClosedError());
      await Promise.all(running.map(async (operation) => await operation.ended));
      try {
        await this.#driver.close();
      } catch (error) {
        throw translateFailure(error, 'close', undefined, undefined);
      }
    })();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run<T>(
    name: BlobsOperation,
    key: string,
    signal: AbortSignal | undefined,
    work: (operation: Operation) => Promise<T>,
  ): Promise<T> {
    const operation = startOperation(signal, this.#running);
    try {
      return await work(operation);
    } catch (error) {
      throw translateFailure(error, name, key, operation.signal);
    } finally {
      operation[Symbol.dispose]();
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new BlobsClosedError();
  }
}
