import { InvalidNameError, maxNameBytes, parseName } from '@holdfast/base';

import type { BlobEntry, BlobsDriver, DriverOptions } from '../driver.js';
import type { BlobsLayer } from './layer.js';
import { rekeyedDriver, withKey } from './rekey.js';

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
  return rekeyedDriver(driver, inner, list);
}
