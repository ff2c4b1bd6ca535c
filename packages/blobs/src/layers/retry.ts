import { type Clock, type Random, systemClock, systemRandom } from '@holdfast/base';

import type {
  BlobContent,
  BlobEntry,
  BlobsDriver,
  ByteRange,
  DriverGetOptions,
  DriverOptions,
} from '../driver.js';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobRangeError,
  BlobsAmbiguousError,
  BlobsBackendError,
  type BlobsError,
  type BlobsOperation,
} from '../errors.js';
import { translateFailure } from '../internal/translate.js';
import type { BlobsLayer } from './layer.js';

export interface RetryOptions {
  /** Calls in all, the first one included. Default 4. */
  readonly attempts?: number | undefined;
  /** Milliseconds before the second call; doubled before each further one, less up to half at random. Default 100. */
  readonly firstDelayMilliseconds?: number | undefined;
  /** Default 10,000. */
  readonly maxDelayMilliseconds?: number | undefined;
  /**
   * Keys whose content never changes, not even by delete and put (content-addressed ones): a read of them that breaks
   * is continued where it broke. Default: none, and a broken read fails.
   */
  readonly immutable?: ((key: string) => boolean) | undefined;
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface RetryEvent {
  readonly operation: BlobsOperation;
  readonly key: string;
  /** The call that failed, from 1. */
  readonly attempt: number;
  readonly delayMilliseconds: number;
  readonly error: BlobsError;
}

/**
 * Repeats calls whose failure says `retryable: true`, with growing delays. Every call of the contract may be repeated:
 * put is create-only and its sources can be read again, delete is idempotent. Put this layer in once: what it gives up
 * on says `retryable: false`.
 *
 * After an attempt whose outcome is unknown, `created: false` may mean that this very put created the object.
 */
export function retryLayer(options: RetryOptions = {}): BlobsLayer {
  return (driver) => new RetryingDriver(driver, options);
}

class RetryingDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsDriver['supports'];
  readonly #driver: BlobsDriver;
  readonly #options: RetryOptions;
  readonly #attempts: number;
  readonly #clock: Clock;

  constructor(driver: BlobsDriver, options: RetryOptions) {
    this.supports = driver.supports;
    this.#driver = driver;
    this.#options = options;
    this.#attempts = options.attempts ?? 4;
    this.#clock = options.clock ?? systemClock;
    if (!Number.isSafeInteger(this.#attempts) || this.#attempts < 1) {
      throw new RangeError(`retryLayer: attempts must be a whole number from 1, not ${this.#attempts}`);
    }
  }

  storagePaths(): readonly string[] {
    return this.#driver.storagePaths();
  }

  async put(...call: Parameters<BlobsDriver['put']>): ReturnType<BlobsDriver['put']> {
    const [key, , { signal }] = call;
    return await this.#repeat('put', key, signal, async () => await this.#driver.put(...call));
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    const open = async (range: ByteRange | undefined): Promise<BlobContent> =>
      await this.#repeat(
        'get',
        key,
        options.signal,
        async () => await this.#driver.get(key, { ...options, range }),
      );
    const first = await open(options.range);
    if (this.#options.immutable?.(key) !== true) return first;
    return this.#resuming(key, options, first, open);
  }

  async stat(...call: Parameters<BlobsDriver['stat']>): ReturnType<BlobsDriver['stat']> {
    const [key, { signal }] = call;
    return await this.#repeat('stat', key, signal, async () => await this.#driver.stat(...call));
  }

  /** After a failure the list starts again and leaves out what was handed out already. */
  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    let last: string | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const resumed = last;
      try {
        for await (const entry of this.#driver.list(prefix, options)) {
          // Only what an earlier attempt handed out is left out: entries out of order are for the portable class to find.
          if (resumed !== undefined && entry.key <= resumed) continue;
          yield entry;
          last = entry.key;
          attempt = 1;
        }
        return;
      } catch (error) {
        await this.#pause('list', prefix, attempt, error, options.signal);
      }
    }
  }

  async delete(...call: Parameters<BlobsDriver['delete']>): Promise<void> {
    const [key, { signal }] = call;
    await this.#repeat('delete', key, signal, async () => {
      await this.#driver.delete(...call);
    });
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  #resuming(
    key: string,
    options: DriverGetOptions,
    first: BlobContent,
    open: (range: ByteRange) => Promise<BlobContent>,
  ): BlobContent {
    const { start, end } = options.range ?? { start: 0, end: first.size };
    let content = first;
    let position = start;
    const reopen = async (): Promise<void> => {
      await content.close().catch(() => undefined);
      try {
        content = await open({ start: position, end });
      } catch (error) {
        throw BlobRangeError.is(error) ? changed(key, first.size, error.size) : error;
      }
      if (content.size !== first.size) throw changed(key, first.size, content.size);
    };
    const pause = async (attempt: number, error: unknown): Promise<void> => {
      const cut = BlobIntegrityError.is(error) && error.kind === 'truncated';
      const failure = cut ? new BlobsBackendError('read', key, { cause: error, retryable: true }) : error;
      try {
        await this.#pause('read', key, attempt, failure, options.signal);
      } catch (final) {
        throw cut && BlobsBackendError.is(final) ? error : final;
      }
    };
    async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          for await (const chunk of content.chunks) {
            if (chunk.length === 0) continue;
            position += chunk.length;
            yield chunk;
            attempt = 1;
          }
          if (position >= end) return;
          // A connection that ends early looks like a damaged object; only another read can tell.
          throw new BlobIntegrityError(key, 'truncated', `a read ended at ${position} of ${end} bytes`);
        } catch (error) {
          await pause(attempt, error);
        }
        await reopen();
      }
    }
    return {
      size: first.size,
      chunks: chunks(),
      close: async () => {
        await content.close();
      },
    };
  }

  async #repeat<T>(
    operation: BlobsOperation,
    key: string,
    signal: AbortSignal | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    let doubt: BlobsAmbiguousError | undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (raw) {
        if (BlobsAmbiguousError.is(raw)) doubt = raw;
        try {
          await this.#pause(operation, key, attempt, raw, signal);
        } catch (final) {
          throw doubt === undefined ? final : doubtful(doubt, final);
        }
      }
    }
  }

  /** Waits before the next attempt; throws when there is none. */
  async #pause(
    operation: BlobsOperation,
    key: string,
    attempt: number,
    raw: unknown,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const error = translateFailure(raw, operation, key, signal);
    if (!(BlobsBackendError.is(error) || BlobsAmbiguousError.is(error)) || error.retryable !== true)
      throw error;
    if (attempt >= this.#attempts) throw spent(error);
    const delayMilliseconds = this.#delay(attempt);
    this.#options.onRetry?.({ operation, key, attempt, delayMilliseconds, error });
    await this.#clock.sleep(delayMilliseconds, { signal });
  }

  #delay(attempt: number): number {
    const {
      firstDelayMilliseconds = 100,
      maxDelayMilliseconds = 10_000,
      random = systemRandom,
    } = this.#options;
    const full = Math.min(maxDelayMilliseconds, firstDelayMilliseconds * 2 ** (attempt - 1));
    const [high = 0, low = 0] = random.bytes(2);
    return full * (1 - (high * 256 + low) / 65_536 / 2);
  }
}

function changed(key: string, before: number, now: number): BlobIntegrityError {
  return new BlobIntegrityError(key, 'changed', `it had ${before} bytes, now it has ${now}`);
}

/** The same failure, no longer worth a retry. */
function spent(error: BlobsBackendError | BlobsAmbiguousError): BlobsBackendError | BlobsAmbiguousError {
  const options = { cause: error.cause, retryable: false };
  return BlobsAmbiguousError.is(error)
    ? new BlobsAmbiguousError(error.operation, error.key, options)
    : new BlobsBackendError(error.operation, error.key, options);
}

/**
 * An earlier attempt may have taken effect, so a later failure, or an abort, does not mean that nothing did. Only a
 * conflict settles it: what is there is not what that attempt was storing.
 */
function doubtful(doubt: BlobsAmbiguousError, final: unknown): unknown {
  if (BlobConflictError.is(final) || BlobsAmbiguousError.is(final)) return final;
  const cause = new AggregateError(
    [doubt, final],
    'an attempt of unknown outcome, and the failure that ended the retries',
  );
  return new BlobsAmbiguousError(doubt.operation, doubt.key, { cause, retryable: false });
}
