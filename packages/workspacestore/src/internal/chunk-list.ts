import { equalBytes } from '@holdfast/base';

import { ByteReader, FormatFault } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import { keyLength, keyOf, type ObjectKind, objectKindCodes, objectKinds } from './object-key.js';

/** How a large object is stored: the chunks that make up its bytes, in order. */
export interface ChunkList {
  /** Kind of the object that the chunks make up. */
  readonly kind: ObjectKind;
  readonly size: number;
  readonly chunks: readonly ChunkRef[];
}

export interface ChunkRef {
  readonly key: Uint8Array;
  readonly length: number;
}

/** Objects of more bytes are stored as chunks. */
export const maxWholeObjectBytes: number = 4 * 2 ** 20;

/** No chunk, and no object stored in one piece, has more bytes. */
export const maxFrameBytes: number = 8 * 2 ** 20;

export function encodeChunkList(list: ChunkList): Uint8Array {
  const writer = new ByteWriter(13 + list.chunks.length * (keyLength + 4) + keyLength);
  writer.u8(objectKindCodes[list.kind]);
  writer.u64(list.size);
  writer.u32(list.chunks.length);
  for (const chunk of list.chunks) {
    writer.bytes(chunk.key);
    writer.u32(chunk.length);
  }
  writer.bytes(keyOf('chunklist', writer.view()));
  return writer.take();
}

/** Reads a chunk list, checking its own digest and that the chunks make up its size. */
export function decodeChunkList(bytes: Uint8Array): ChunkList {
  if (bytes.length < keyLength) throw new FormatFault('an early end');
  const body = bytes.subarray(0, bytes.length - keyLength);
  if (!equalBytes(keyOf('chunklist', body), bytes.subarray(body.length)))
    throw new FormatFault('a wrong digest');
  const reader = new ByteReader(body);
  const kind = objectKinds[reader.u8()];
  if (kind !== 'root' && kind !== 'tree' && kind !== 'file')
    throw new FormatFault('chunks of an unknown kind');
  const size = reader.u64();
  const count = reader.u32();
  const chunks: ChunkRef[] = [];
  let sum = 0;
  for (let left = count; left > 0; left -= 1) {
    const key = reader.bytes(keyLength).slice();
    const length = reader.u32();
    if (length === 0 || length > maxFrameBytes) throw new FormatFault(`a chunk of ${length} bytes`);
    sum += length;
    chunks.push({ key, length });
  }
  reader.end();
  if (sum !== size) throw new FormatFault(`chunks of ${sum} bytes for an object of ${size}`);
  return { kind, size, chunks };
}
