import { FormatFault } from './byte-reader.js';
import { openSealedJson, sealText } from './sealed-text.js';

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
