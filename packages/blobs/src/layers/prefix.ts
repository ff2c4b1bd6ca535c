import { InvalidNameError, maxNameBytes, parseName } from '@holdfast/base';

import type { BlobEntry, BlobsDriver, DriverOptions } from '../driver.js';
import type { BlobsLayer } from './layer.js';
import { withKey } from './rekey.js';

/**
 * Keeps everything below `prefix/`: a store inside a store. Keys and the prefix share the 512 bytes of a name.
 * @throws InvalidNameError when the prefix is not a legal name.
 */
export function prefixLayer(prefix: string): BlobsLayer {
  const root = `${parseName(prefix)}/`;
  return (driver) => prefixed(driver, root);
}

function prefixed(driver: BlobsDriver, root: string): BlobsDriver {
  const inner = (key: string): string => {
    if (root.length + key.length > maxNameBytes) throw new InvalidNameError(root + key, 'too-long');
    return root + key;
  };
  const rekeyed = async <T>(key: string, call: (innerKey: string) => Promise<T>): Promise<T> => {
    const innerKey = inner(key);
    try {
      return await call(innerKey);
    } catch (error) {
      throw withKey(error, key);
    }
  };
  async function* list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    if (root.length + prefix.length > maxNameBytes) return;
    try {
      for await (const entry of driver.list(root + prefix, options)) {
        yield { ...entry, key: entry.key.slice(root.length) };
      }
    } catch (error) {
      throw withKey(error, prefix);
    }
  }
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
