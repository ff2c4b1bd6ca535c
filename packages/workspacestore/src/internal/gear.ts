import { sha256 } from '@holdfast/base';

/**
 * Content-defined cuts for large objects: a rolling hash over the last 32 bytes decides, so that an insertion moves the
 * cuts with the content. Cuts are physical only; they are in no key and may change between releases.
 */
const minimumBytes = 256 * 1024;
const normalBytes = 1024 * 1024;

/** Bytes that a hash of 32 bits depends on. */
const windowBytes = 32;

/** No chunk is longer. */
export const maximumChunkBytes: number = 4 * 1024 * 1024;

// High bits: they depend on the most bytes. Two more bits than the average before it, two fewer after it.
const strictMask = 0xfffffc00 | 0;
const looseMask = 0xffffc000 | 0;

const gear = makeGear();

function makeGear(): Int32Array {
  const table = new Int32Array(256);
  for (let i = 0; i < 256; i += 1) {
    const digest = sha256(Uint8Array.of(0x67, i));
    table[i] = new DataView(digest.buffer, digest.byteOffset).getInt32(0);
  }
  return table;
}

/**
 * Finds the end of the chunk that starts at `start`; the bytes reach to `end`. Unless those are the last ones, at least
 * `maximumChunkBytes` must be there.
 */
export function findCut(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length <= minimumBytes) return end;
  const normal = start + Math.min(length, normalBytes);
  const maximum = start + Math.min(length, maximumChunkBytes);
  const strict = scan(bytes, start + minimumBytes, normal, strictMask);
  if (strict !== -1) return strict;
  const loose = scan(bytes, normal, maximum, looseMask);
  return loose === -1 ? maximum : loose;
}

/** The end of the first byte in the range behind which the hash of the last 32 bytes fits the mask, or -1. */
function scan(bytes: Uint8Array, from: number, to: number, mask: number): number {
  const table = gear;
  let hash = 0;
  for (let at = from - windowBytes; at < from; at += 1) {
    hash = ((hash << 1) + (table[bytes[at] as number] as number)) | 0;
  }
  for (let at = from; at < to; at += 1) {
    hash = ((hash << 1) + (table[bytes[at] as number] as number)) | 0;
    if ((hash & mask) === 0) return at + 1;
  }
  return -1;
}
