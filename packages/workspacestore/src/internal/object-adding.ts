import type { ObjectSink } from './capture-types.js';
import { type ChunkRef, encodeChunkList, maxWholeObjectBytes } from './chunk-list.js';
import { findCut } from './gear.js';
import { keyOf } from './object-key.js';

/** Hands an object in memory to a sink unless it is there: whole, or as chunks and a chunk list. Returns its key. */
export function addObject(sink: ObjectSink, kind: 'root' | 'tree' | 'file', bytes: Uint8Array): Uint8Array {
  const key = keyOf(kind, bytes);
  if (bytes.length === 0 || sink.has(kind, key)) return key;
  if (bytes.length <= maxWholeObjectBytes) {
    sink.add(kind, key, bytes);
    return key;
  }
  const chunks: ChunkRef[] = [];
  for (let start = 0; start < bytes.length; ) {
    const cut = findCut(bytes, start, bytes.length);
    const chunk = bytes.subarray(start, cut);
    const chunkKey = keyOf('chunk', chunk);
    if (!sink.has('chunk', chunkKey)) sink.add('chunk', chunkKey, chunk);
    chunks.push({ key: chunkKey, length: chunk.length });
    start = cut;
  }
  sink.add('chunklist', key, encodeChunkList({ kind, size: bytes.length, chunks }));
  return key;
}
