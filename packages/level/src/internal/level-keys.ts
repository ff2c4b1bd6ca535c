import { concatBytes, equalBytes, sha256 } from '@holdfast/base';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const sequenceBytes = 8;
const sealBytes = 16;

// A name ends with a byte that no name holds, so that "a" and "a/b" are two ranges that never mix, in name order.
const terminator = 0x00;

/** The key of a record: name, terminator, sequence as eight bytes, highest first, so that key order is record order. */
export function recordKey(name: string, seq: number): Uint8Array {
  const prefix = namePrefix(name);
  const key = new Uint8Array(prefix.length + sequenceBytes);
  key.set(prefix);
  new DataView(key.buffer).setBigUint64(prefix.length, BigInt(seq));
  return key;
}

/** The first key that comes after every record of `name`. */
export function endKey(name: string): Uint8Array {
  const key = namePrefix(name);
  key[key.length - 1] = terminator + 1;
  return key;
}

/** The lowest key of a ledger whose name begins with `prefix` or comes after it. */
export function prefixKey(prefix: string): Uint8Array {
  return encoder.encode(prefix);
}

/** Splits a key; `undefined` when it is not one of ours. */
export function parseKey(key: Uint8Array): { readonly name: string; readonly seq: number } | undefined {
  const at = key.indexOf(terminator);
  if (at < 1 || key.length !== at + 1 + sequenceBytes) return undefined;
  const seq = Number(new DataView(key.buffer, key.byteOffset + at + 1, sequenceBytes).getBigUint64(0));
  return { name: decoder.decode(key.subarray(0, at)), seq };
}

/** The stored form of a record: sixteen bytes of the SHA-256 of key and content, then the content. */
export function sealValue(key: Uint8Array, data: Uint8Array): Uint8Array {
  return concatBytes([seal(key, data), data]);
}

/** Returns the content; `undefined` when a single bit of key or value differs from what was written. */
export function unsealValue(key: Uint8Array, value: Uint8Array): Uint8Array | undefined {
  if (value.length < sealBytes) return undefined;
  const data = value.subarray(sealBytes);
  return equalBytes(value.subarray(0, sealBytes), seal(key, data)) ? data : undefined;
}

function seal(key: Uint8Array, data: Uint8Array): Uint8Array {
  return sha256(concatBytes([key, data])).subarray(0, sealBytes);
}

function namePrefix(name: string): Uint8Array {
  const bytes = encoder.encode(name);
  const prefix = new Uint8Array(bytes.length + 1);
  prefix.set(bytes);
  prefix[bytes.length] = terminator;
  return prefix;
}
