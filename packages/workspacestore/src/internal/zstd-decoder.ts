import type { ZlibOptions } from 'node:zlib';
import * as zlib from 'node:zlib';

import { Decompress } from 'fzstd';

import { FormatFault } from './byte-reader.js';
import { inspectZstdFrame } from './zstd-frame.js';

interface Zstd {
  readonly zstdDecompressSync?: (this: void, bytes: Uint8Array, options: ZlibOptions) => Uint8Array;
}

/** Windows that our writers never exceed; a frame is at most 8 MiB. */
const largestWindow = 8 * 2 ** 20;

/**
 * Expands one zstd frame to at most `rawLength` bytes, with what the runtime has built in, else with a decoder in
 * JavaScript. What is not one frame that says it has this length is refused before either is asked.
 * @throws FormatFault or an error of the decoder.
 */
export function expandZstd(bytes: Uint8Array, rawLength: number, chunkSize: number): Uint8Array {
  const { contentSize, windowSize } = inspectZstdFrame(bytes);
  if ((contentSize ?? rawLength) !== rawLength) {
    throw new FormatFault(`a frame of ${contentSize} bytes, not ${rawLength}`);
  }
  if (windowSize > Math.max(largestWindow, rawLength))
    throw new FormatFault('a zstd frame with a huge window');
  const { zstdDecompressSync } = zlib as Zstd;
  if (zstdDecompressSync === undefined) return expandZstdInScript(bytes, rawLength);
  return zstdDecompressSync(bytes, { maxOutputLength: Math.max(rawLength, 1), chunkSize });
}

/** The decoder for runtimes without one. Takes a frame that was inspected. */
export function expandZstdInScript(bytes: Uint8Array, rawLength: number): Uint8Array {
  const raw = new Uint8Array(rawLength);
  let length = 0;
  // Block by block: output that was not announced is met at the block that makes it.
  const decoder = new Decompress((block) => {
    if (length + block.length > rawLength) throw new FormatFault(`a frame of more than ${rawLength} bytes`);
    raw.set(block, length);
    length += block.length;
  });
  decoder.push(bytes, true);
  return raw.subarray(0, length);
}
