import type { ObjectSink } from './capture-types.js';
import { type ChunkRef, encodeChunkList, maxWholeObjectBytes } from './chunk-list.js';
import { findCut, maximumChunkBytes } from './gear.js';
import { emptyFileKey, keyOf, startKey } from './object-key.js';

/** Takes the content of one file piece by piece and hands it to a sink as objects. Holds a few MiB at most. */
export class ContentWriter {
  readonly #sink: ObjectSink;
  readonly #hash = startKey('file');
  readonly #chunks: ChunkRef[] = [];
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  size = 0;

  constructor(sink: ObjectSink) {
    this.#sink = sink;
  }

  write(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#pending.push(bytes.slice());
    this.#pendingBytes += bytes.length;
    this.size += bytes.length;
    if (this.size > maxWholeObjectBytes && this.#pendingBytes >= 2 * maximumChunkBytes) this.#cut(false);
  }

  /** Returns the content key. */
  finish(): Uint8Array {
    if (this.size === 0) return emptyFileKey;
    const key = this.#hash.digest();
    if (this.size <= maxWholeObjectBytes) {
      if (!this.#sink.has('file', key)) this.#sink.add('file', key, Buffer.concat(this.#pending));
      return key;
    }
    this.#cut(true);
    if (!this.#sink.has('file', key)) {
      this.#sink.add(
        'chunklist',
        key,
        encodeChunkList({ kind: 'file', size: this.size, chunks: this.#chunks }),
      );
    }
    return key;
  }

  #cut(last: boolean): void {
    const bytes = Buffer.concat(this.#pending);
    let start = 0;
    while (start < bytes.length && (last || bytes.length - start >= maximumChunkBytes)) {
      const end = findCut(bytes, start, bytes.length);
      const chunk = bytes.subarray(start, end);
      const key = keyOf('chunk', chunk);
      if (!this.#sink.has('chunk', key)) this.#sink.add('chunk', key, chunk);
      this.#chunks.push({ key, length: chunk.length });
      start = end;
    }
    const rest = bytes.subarray(start).slice();
    this.#pending = [rest];
    this.#pendingBytes = rest.length;
  }
}
