import { type Clock, type Random, throwIfAborted } from '@holdfast/base';
import {
  BlobConflictError,
  type BlobContent,
  type BlobEntry,
  type BlobInfo,
  BlobNotFoundError,
  BlobRangeError,
  BlobsAmbiguousError,
  type BlobsDriver,
  type BlobsSupports,
  type DriverGetOptions,
  type DriverOptions,
  type ReopenableSource,
} from '@holdfast/blobs';

import { S3BucketUnsuitableError } from './errors.js';
import { type CreateOutcome, type Objects, type StoredObject } from './internal/objects.js';
import { readUpload, type Upload } from './internal/upload.js';
import { publicFailure, RequestFailed, type Wire } from './internal/wire.js';

export interface S3BlobsDriverOptions {
  readonly objects: Objects;
  readonly wire: Wire;
  readonly bucket: string;
  /** Ends with `/`, or is empty. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** How often a create is tried again that met another write, or a delete, of the same key. */
const contentionAttempts = 12;
const longestContentionMilliseconds = 500;

/** One object of a bucket per blob. */
export class S3BlobsDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsSupports = Object.freeze({ visibility: 'strong', durable: true });
  readonly #objects: Objects;
  readonly #options: S3BlobsDriverOptions;

  constructor(options: S3BlobsDriverOptions) {
    this.#options = options;
    this.#objects = options.objects;
  }

  storagePaths(): readonly string[] {
    return [];
  }

  /**
   * 1. read the source for its digest; 2. one PUT that only creates; 3. when the name is taken, compare digests.
   * Visible and durable with the answer to 2.
   */
  async put(
    key: string,
    source: ReopenableSource,
    { signal }: DriverOptions,
  ): Promise<{ readonly created: boolean }> {
    const upload = await readUpload(key, source, signal);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await settle('put', key, async () => await this.#create(key, upload, signal));
      if (outcome.kind === 'created') return { created: true };
      if (outcome.kind === 'taken') {
        const verdict = await settle('get', key, async () => await this.#compare(key, upload, signal));
        if (verdict === 'same') return { created: false };
        if (verdict === 'different') throw new BlobConflictError(key);
        // Deleted since: the key may be free.
      }
      if (attempt >= contentionAttempts) throw this.#contention(outcome);
      await this.#pause(attempt, signal);
    }
  }

  async #create(key: string, upload: Upload, signal: AbortSignal | undefined): Promise<CreateOutcome> {
    return await this.#objects.create(this.#nameOf(key), upload, signal);
  }

  async #compare(
    key: string,
    upload: Upload,
    signal: AbortSignal | undefined,
  ): Promise<'same' | 'different' | 'absent'> {
    const stored = await this.#objects.look(this.#nameOf(key), signal);
    if (stored === undefined) return 'absent';
    if (stored.size !== upload.size) return 'different';
    const sha256 = stored.sha256 ?? (await this.#digestOf(key, signal));
    if (sha256 === undefined) return 'absent';
    return sha256 === upload.sha256 ? 'same' : 'different';
  }

  /** Reads a whole object that was put without a digest. */
  async #digestOf(key: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    const content = await this.#objects.open(key, this.#nameOf(key), undefined, signal);
    if (content === 'absent' || content === 'beyond') return undefined;
    try {
      return (await readUpload(key, { size: content.size, open: () => content.chunks }, signal)).sha256;
    } finally {
      await content.close();
    }
  }

  async get(key: string, { range, signal }: DriverGetOptions): Promise<BlobContent> {
    return await settle('get', key, async () => {
      if (range !== undefined && range.start === range.end) {
        const { size } = await this.#existing(key, signal);
        if (range.end > size) throw new BlobRangeError(key, range, size);
        return { size, chunks: nothing(), close: async () => await Promise.resolve() };
      }
      const content = await this.#objects.open(key, this.#nameOf(key), range, signal);
      if (content === 'absent') throw new BlobNotFoundError(key);
      if (content === 'beyond') {
        const { size } = await this.#existing(key, signal);
        throw new BlobRangeError(key, range ?? { start: 0, end: 0 }, size);
      }
      if (range !== undefined && range.end > content.size) {
        await content.close();
        throw new BlobRangeError(key, range, content.size);
      }
      return content;
    });
  }

  async stat(key: string, { signal }: DriverOptions): Promise<BlobInfo | undefined> {
    const stored = await settle('get', key, async () => await this.#objects.look(this.#nameOf(key), signal));
    return stored === undefined ? undefined : { size: stored.size, modified: stored.modified };
  }

  async *list(prefix: string, { signal }: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    const own = this.#options.prefix;
    try {
      for await (const entry of this.#objects.list(this.#nameOf(prefix), signal)) {
        yield { ...entry, key: entry.key.slice(own.length) };
      }
    } catch (error) {
      throw publicFailure(error);
    }
  }

  /** Not given the signal: once it is sent the answer is waited for. */
  async delete(key: string, { signal }: DriverOptions): Promise<void> {
    throwIfAborted(signal);
    await settle('delete', key, async () => {
      await this.#objects.remove(this.#nameOf(key));
    });
  }

  async close(): Promise<void> {
    this.#options.wire.close();
    await Promise.resolve();
  }

  async #existing(key: string, signal: AbortSignal | undefined): Promise<StoredObject> {
    const stored = await this.#objects.look(this.#nameOf(key), signal);
    if (stored === undefined) throw new BlobNotFoundError(key);
    return stored;
  }

  #contention(outcome: Exclude<CreateOutcome, { kind: 'created' }>): Error {
    if (outcome.kind === 'busy') return outcome.error;
    const detail = 'a key is said to be taken and not to be there, again and again';
    return new S3BucketUnsuitableError(this.#options.bucket, 'stale-reads', detail);
  }

  async #pause(attempt: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock, random } = this.#options;
    const longest = Math.min(longestContentionMilliseconds, 5 * 2 ** attempt);
    const [byte = 0] = random.bytes(1);
    await clock.sleep((longest * (byte + 1)) / 256, { signal });
  }

  #nameOf(key: string): string {
    return `${this.#options.prefix}${key}`;
  }
}

/** Turns a failed request into what the contract has for it. */
async function settle<T>(
  operation: 'put' | 'get' | 'delete',
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    const { error: cause, definite } = error.failure;
    if (definite || operation === 'get') throw cause;
    throw new BlobsAmbiguousError(operation, key, { cause, retryable: cause.retryable });
  }
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {
  // An empty range has no chunks.
}
