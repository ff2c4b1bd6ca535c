import { type Random, randomHex } from '@holdfast/base';
import { BlobConflictError, BlobNotFoundError, type Blobs } from '@holdfast/blobs';

import { IntegrityError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { openSealedJson, sealText } from './sealed-text.js';
import { storeKey } from './store-keys.js';

const format = 'holdfast-store/1';

/** Writes the object `store`: a random id that tells one store from another. */
export function encodeStoreIdentity(id: string): Uint8Array {
  return sealText([JSON.stringify({ format, id })]);
}

export function decodeStoreIdentity(bytes: Uint8Array, where: string): string {
  const id = openSealedJson(bytes, format, where)['id'];
  if (typeof id !== 'string' || !/^[0-9a-f]{32}$/.test(id)) throw new FormatFault('no id');
  return id;
}

/** Reads the store's id; makes one when there is none and `random` is given. */
export async function readStoreIdentity(
  blobs: Blobs,
  random: Random | undefined,
): Promise<string | undefined> {
  for (;;) {
    try {
      return decodeStoreIdentity(await blobs.getBytes(storeKey), storeKey);
    } catch (error) {
      if (error instanceof FormatFault) {
        throw new IntegrityError(
          { path: storeKey, expected: 'a store id', got: error.message },
          { cause: error },
        );
      }
      if (!BlobNotFoundError.is(error)) throw error;
      if (random === undefined) return undefined;
    }
    try {
      await blobs.put(storeKey, encodeStoreIdentity(randomHex(random, 16)));
    } catch (error) {
      // Somebody else was faster: theirs is the id.
      if (!BlobConflictError.is(error)) throw error;
    }
  }
}
