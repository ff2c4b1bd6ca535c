import { sha256 } from '@holdfast/base';

/**
 * Content-defined cuts for large objects: a rolling hash over the last 32 bytes decides, so that an insertion moves the
 * cuts with the content. Cuts are physical only; they are in no key and may change between releases.
 */
const minimumBytes = 256 * 1024;
const normalBytes = 1024 * 1024;

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
  let hash = 0;
  let at = start + minimumBytes - 32;
  for (const warm = start + minimumBytes; at < warm; at += 1)
    hash = (hash << 1) + (gear[bytes[at] as number] as number);
  for (; at < normal; at += 1) {
    hash = ((hash << 1) + (gear[bytes[at] as number] as number)) | 0;
    if ((hash & strictMask) === 0) return at + 1;
  }
  for (; at < maximum; at += 1) {
    hash = ((hash << 1) + (gear[bytes[at] as number] as number)) | 0;
    if ((hash & looseMask) === 0) return at + 1;
  }
  return maximum;
}
