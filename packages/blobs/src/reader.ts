import type { BlobContent, ByteRange } from './driver.js';
import { BlobIntegrityError } from './errors.js';
import type { Operation } from './internal/operation.js';
import { type PullStream, pullStream } from './internal/pull-stream.js';
import { translateFailure } from './internal/translate.js';

/**
 * One open read. It can be consumed once: iterate it, or call `bytes()`. It holds a resource until it is consumed,
 * left early, closed, or its store is closed.
 */
export interface BlobReader extends AsyncIterable<Uint8Array>, AsyncDisposable {
  /** Size of the whole object in bytes, whatever range was asked for. */
  readonly size: number;
  /** Reads the rest into one fresh array: the whole range is in memory afterwards. */
  bytes(): Promise<Uint8Array>;
  /** Frees the read without consuming it. Idempotent. */
  close(): Promise<void>;
}

export class OpenBlob implements BlobReader {
  readonly size: number;
  readonly #length: number;
  readonly #stream: PullStream<Uint8Array>;
  #received = 0;
  #used = false;
  /** Whether chunks go straight into the array of `bytes()`, which needs no copy of its own. */
  #collecting = false;

  constructor(key: string, content: BlobContent, range: ByteRange | undefined, operation: Operation) {
    this.size = content.size;
    this.#length = range === undefined ? content.size : range.end - range.start;
    this.#stream = pullStream<Uint8Array, Uint8Array>({
      operation,
      iterator: content.chunks[Symbol.asyncIterator](),
      release: async () => {
        await content.close();
      },
      convert: (chunk) => this.#accept(key, chunk),
      finish: () => {
        if (this.#received < this.#length) {
          throw new BlobIntegrityError(
            key,
            'truncated',
            `expected ${this.#length} bytes, got ${this.#received}`,
          );
        }
      },
      translate: (error) => translateFailure(error, 'read', key, operation.signal),
    });
  }

  #accept(key: string, chunk: Uint8Array): Uint8Array | undefined {
    this.#received += chunk.length;
    if (this.#received > this.#length) {
      throw new BlobIntegrityError(
        key,
        'oversized',
        `expected ${this.#length} bytes, got ${this.#received} or more`,
      );
    }
    if (chunk.length === 0) return undefined;
    return this.#collecting ? chunk : new Uint8Array(chunk);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    this.#claim();
    return this.#stream.values;
  }

  async bytes(): Promise<Uint8Array> {
    this.#claim();
    this.#collecting = true;
    const whole = new Uint8Array(this.#length);
    let offset = 0;
    for await (const chunk of this.#stream.values) {
      whole.set(chunk, offset);
      offset += chunk.length;
    }
    return whole;
  }

  async close(): Promise<void> {
    await this.#stream.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #claim(): void {
    if (this.#used) throw new TypeError('a blob reader can be consumed only once: get the blob again');
    this.#used = true;
  }
}
