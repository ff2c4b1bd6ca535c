import type { BlobsDriver } from '../driver.js';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobKeyError,
  BlobNotFoundError,
  BlobRangeError,
  BlobSourceError,
  BlobsAmbiguousError,
  BlobsBackendError,
  isBlobsError,
} from '../errors.js';

/** Returns the same fact about another key: callers of a layer must read the keys that they use. */
export function withKey(error: unknown, key: string): unknown {
  if (!isBlobsError(error)) return error;
  const { cause } = error;
  switch (error.code) {
    case 'BLOBS_NOT_FOUND':
      return new BlobNotFoundError(key, { cause });
    case 'BLOBS_CONFLICT':
      return new BlobConflictError(key, { cause });
    case 'BLOBS_RANGE':
      return new BlobRangeError(key, error, error.size);
    case 'BLOBS_SOURCE':
      return new BlobSourceError(key, error.kind, error.expected, error.received, { cause });
    case 'BLOBS_INTEGRITY':
      return new BlobIntegrityError(key, error.kind, error.detail, { cause, effect: error.effect });
    case 'BLOBS_AMBIGUOUS':
      return new BlobsAmbiguousError(error.operation, key, { cause, retryable: error.retryable });
    case 'BLOBS_BACKEND':
      return new BlobsBackendError(error.operation, key, { cause, retryable: error.retryable });
    case 'BLOBS_KEY':
      return new BlobKeyError(key, error.kind, error.keyId, { cause });
    case 'BLOBS_UNSUPPORTED':
    case 'BLOBS_CLOSED':
      return error;
  }
}

/** A driver whose keys are others in the driver below: calls and failures are translated, lists by the caller. */
export function rekeyedDriver(
  driver: BlobsDriver,
  inner: (key: string) => string,
  list: BlobsDriver['list'],
): BlobsDriver {
  const rekeyed = async <T>(key: string, call: (innerKey: string) => Promise<T>): Promise<T> => {
    const innerKey = inner(key);
    try {
      return await call(innerKey);
    } catch (error) {
      throw withKey(error, key);
    }
  };
  return {
    contract: driver.contract,
    supports: driver.supports,
    storagePaths: () => driver.storagePaths(),
    put: async (key, source, options) =>
      await rekeyed(key, async (innerKey) => await driver.put(innerKey, source, options)),
    get: async (key, options) =>
      await rekeyed(key, async (innerKey) => {
        const content = await driver.get(innerKey, options);
        return {
          size: content.size,
          chunks: rekeyedChunks(content.chunks, key),
          close: async () => {
            await content.close();
          },
        };
      }),
    stat: async (key, options) =>
      await rekeyed(key, async (innerKey) => await driver.stat(innerKey, options)),
    list,
    delete: async (key, options) => {
      await rekeyed(key, async (innerKey) => {
        await driver.delete(innerKey, options);
      });
    },
    close: async () => {
      await driver.close();
    },
  };
}

async function* rekeyedChunks(
  chunks: AsyncIterable<Uint8Array>,
  key: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* chunks;
  } catch (error) {
    throw withKey(error, key);
  }
}
