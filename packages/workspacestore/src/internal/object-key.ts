import { concatBytes, createSha256, type Sha256, sha256 } from '@holdfast/base';

import type { ContentKey } from '../ref.js';

/** What an object is; part of its key, so that an object of one kind can never stand in for another. */
export type ObjectKind = 'root' | 'tree' | 'file' | 'chunklist' | 'chunk';

/** Bytes of a key. */
export const keyLength = 32;

/** The kinds by their code in an index; code 0 is never used. */
export const objectKinds: readonly (ObjectKind | undefined)[] = [
  undefined,
  'root',
  'tree',
  'file',
  'chunklist',
  'chunk',
];

export const objectKindCodes: Readonly<Record<ObjectKind, number>> = {
  root: 1,
  tree: 2,
  file: 3,
  chunklist: 4,
  chunk: 5,
};

const encoder = new TextEncoder();

function domain(kind: ObjectKind): Uint8Array {
  return encoder.encode(`ws/1 ${kind}\0`);
}

/** What is hashed before the bytes of an object: `ws/1 <kind>` and a NUL. */
export const domains: Readonly<Record<ObjectKind, Uint8Array>> = {
  root: domain('root'),
  tree: domain('tree'),
  file: domain('file'),
  chunklist: domain('chunklist'),
  chunk: domain('chunk'),
};

/** The key of an object held in memory. */
export function keyOf(kind: ObjectKind, bytes: Uint8Array): Uint8Array {
  const prefix = domains[kind];
  // One call over joined bytes is quicker than three calls for small objects; large ones are not copied.
  if (bytes.length <= 16_384) return sha256(concatBytes([prefix, bytes]));
  const hash = startKey(kind);
  hash.update(bytes);
  return hash.digest();
}

/** Starts the key of an object whose bytes come in pieces. */
export function startKey(kind: ObjectKind): Sha256 {
  const hash = createSha256();
  hash.update(domains[kind]);
  return hash;
}

/** Key of the file without bytes. An object of zero bytes is never stored: readers know it by its key. */
export const emptyFileKey: Uint8Array = keyOf('file', new Uint8Array(0));

/** Key of the directory without entries; never stored either. */
export const emptyTreeKey: Uint8Array = keyOf('tree', new Uint8Array(0));

/** The text form of a key. */
export function keyText(key: Uint8Array): ContentKey {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('hex') as ContentKey;
}

/** The bytes of a key's text form, which must be 64 hex digits. */
export function keyBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'hex');
  if (bytes.length !== keyLength) throw new TypeError(`key ${JSON.stringify(text)}: expected 64 hex digits`);
  return bytes;
}
