import { createSha256, equalBytes } from '@holdfast/base';

/** Which part of which object, and what the object was like when it was fetched. */
export interface SegmentFacts {
  readonly key: string;
  /** Position of the segment in the object, counted in segments. */
  readonly index: number;
  /** Size of the whole object in bytes. */
  readonly size: number;
  /** Time of the object in milliseconds; 0 where the cache does not ask. */
  readonly modified: number;
}

const magic = 0x68666331;
const fixedBytes = 4 + 8 + 8 + 4 + 2;
const digestBytes = 32;

/**
 * A segment as the cache stores it: the SHA-256 of what follows; the magic number `hfc1`; size and time of the object as
 * big-endian doubles; the index (32 bits); the length of the key (16 bits) and the key; the bytes of the segment. The
 * digest finds damage, the facts find segments of something else.
 */
export function encodeSegment(facts: SegmentFacts, payload: Uint8Array): Uint8Array {
  const key = new TextEncoder().encode(facts.key);
  const bytes = new Uint8Array(digestBytes + fixedBytes + key.length + payload.length);
  const view = new DataView(bytes.buffer);
  let offset = digestBytes;
  view.setUint32(offset, magic);
  view.setFloat64((offset += 4), facts.size);
  view.setFloat64((offset += 8), facts.modified);
  view.setUint32((offset += 8), facts.index);
  view.setUint16((offset += 4), key.length);
  bytes.set(key, (offset += 2));
  bytes.set(payload, offset + key.length);
  bytes.set(digestOf(bytes.subarray(digestBytes)));
  return bytes;
}

export interface DecodedSegment {
  readonly size: number;
  readonly modified: number;
  readonly payload: Uint8Array;
}

/** Reads a stored segment; `undefined` when it is damaged or belongs to something else. */
export function decodeSegment(bytes: Uint8Array, key: string, index: number): DecodedSegment | undefined {
  if (bytes.length < digestBytes + fixedBytes) return undefined;
  const body = bytes.subarray(digestBytes);
  if (!equalBytes(bytes.subarray(0, digestBytes), digestOf(body))) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const keyLength = view.getUint16(24);
  const stored = new TextDecoder().decode(body.subarray(fixedBytes, fixedBytes + keyLength));
  if (view.getUint32(0) !== magic || view.getUint32(20) !== index || stored !== key) return undefined;
  return {
    size: view.getFloat64(4),
    modified: view.getFloat64(12),
    payload: body.subarray(fixedBytes + keyLength),
  };
}

/** Bytes that a stored segment takes. */
export function storedBytes(key: string, payloadBytes: number): number {
  return digestBytes + fixedBytes + key.length + payloadBytes;
}

function digestOf(bytes: Uint8Array): Uint8Array {
  const hasher = createSha256();
  hasher.update(bytes);
  return hasher.digest();
}
