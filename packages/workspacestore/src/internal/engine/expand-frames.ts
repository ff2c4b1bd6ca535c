import { equalBytes } from '@holdfast/base';

import { FormatFault } from '../byte-reader.js';
import { decodeFrame } from '../frame-codec.js';
import { keyOf } from '../object-key.js';
import { unpackObjects } from './frame-objects.js';

/** A stored frame inside a byte string, and the objects in it that are wanted. */
export interface StoredFrame {
  readonly start: number;
  readonly storedLength: number;
  readonly codec: number;
  readonly rawLength: number;
  /** As `packObjects` makes them. */
  readonly objects: Uint8Array;
}

/** A frame as it was before it was stored. */
export interface ExpandedFrame {
  /** `undefined`: it cannot be expanded. */
  readonly raw: Uint8Array | undefined;
  /** Per wanted object: 1 when its bytes have its key. */
  readonly proved: Uint8Array;
}

/** Expands frames and proves objects in them. Damage is a result, not a failure. */
export function expandFrames(bytes: Uint8Array, frames: readonly StoredFrame[]): ExpandedFrame[] {
  return frames.map((frame) => {
    const objects = unpackObjects(frame.objects);
    const proved = new Uint8Array(objects.length);
    const raw = expand(bytes, frame);
    if (raw === undefined) return { raw, proved };
    for (const [position, { kind, key, offset, length }] of objects.entries()) {
      if (equalBytes(keyOf(kind, raw.subarray(offset, offset + length)), key)) proved[position] = 1;
    }
    return { raw, proved };
  });
}

function expand(bytes: Uint8Array, frame: StoredFrame): Uint8Array | undefined {
  const { start, storedLength, codec, rawLength } = frame;
  try {
    return decodeFrame(bytes.subarray(start, start + storedLength), codec, rawLength);
  } catch (error) {
    if (error instanceof FormatFault) return undefined;
    throw error;
  }
}
