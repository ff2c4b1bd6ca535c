import { createCipheriv, createDecipheriv } from 'node:crypto';

import { BlobIntegrityError } from '../../errors.js';
import { checkBytes } from './key-ring.js';

/** The bytes of docs/formats/blobs-encryption.md. */
export const headerBytes: number = 128;
export const segmentBytes: number = 65_536;
export const tagBytes: number = 16;
export const sealedSegmentBytes: number = segmentBytes + tagBytes;
export const identityBytes: number = 32;

const magic = Buffer.from('HFCRYPT1', 'latin1');
const [sizeAt, identityAt, checkAt, keyIdAt] = [8, 16, 48, 64] as const;

export interface Header {
  /** Bytes of the content. */
  readonly size: number;
  readonly identity: Uint8Array;
  readonly check: Uint8Array;
  readonly keyId: string;
}

export function encodeHeader(header: Header): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  magic.copy(bytes);
  bytes.writeBigUInt64BE(BigInt(header.size), sizeAt);
  bytes.set(header.identity, identityAt);
  bytes.set(header.check, checkAt);
  bytes.write(header.keyId, keyIdAt, 'latin1');
  return bytes;
}

/** Reads a header. Accepts exactly what `encodeHeader` writes. @throws BlobIntegrityError of kind `foreign`. */
export function decodeHeader(key: string, bytes: Uint8Array): Header {
  const header = Buffer.from(bytes);
  const refuse = (detail: string): BlobIntegrityError => new BlobIntegrityError(key, 'foreign', detail);
  if (header.length < headerBytes || !header.subarray(0, magic.length).equals(magic)) {
    throw refuse('it does not begin as an encrypted object');
  }
  const size = header.readBigUInt64BE(sizeAt);
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw refuse('its header names an impossible size');
  const padded = header.subarray(keyIdAt, headerBytes).toString('latin1');
  const keyId = /^([A-Za-z0-9][\w.-]{0,63})\0*$/.exec(padded)?.[1];
  if (keyId === undefined) throw refuse('its header has no legal key id');
  return {
    size: Number(size),
    identity: header.subarray(identityAt, identityAt + identityBytes),
    check: header.subarray(checkAt, checkAt + checkBytes),
    keyId,
  };
}

/** Segments of a content; an empty one has one, so that its header is sealed too. */
export function segmentCount(size: number): number {
  return Math.max(1, Math.ceil(size / segmentBytes));
}

/** Bytes that an object has in the store. */
export function sealedSize(size: number): number {
  return headerBytes + size + segmentCount(size) * tagBytes;
}

/** The inverse of `sealedSize`; `undefined` for a size that no encrypted object has. */
export function openedSize(sealed: number): number | undefined {
  const body = sealed - headerBytes;
  const size = body - Math.max(1, Math.ceil(body / sealedSegmentBytes)) * tagBytes;
  return size >= 0 && sealedSize(size) === sealed ? size : undefined;
}

/** What seals and opens the segments of one object. */
export interface SegmentSeal {
  readonly objectKey: Uint8Array;
  /** The header and the object's name: a segment opens in its own object and place only. */
  readonly context: Uint8Array;
}

export function segmentContext(header: Uint8Array, key: string): Buffer {
  return Buffer.concat([header, Buffer.from(key, 'latin1')]);
}

/** Every object has a key of its own, so its segments can be numbered. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(index), 4);
  return nonce;
}

export function sealSegment(seal: SegmentSeal, index: number, segment: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', seal.objectKey, nonceOf(index), { authTagLength: tagBytes });
  cipher.setAAD(seal.context);
  return Buffer.concat([cipher.update(segment), cipher.final(), cipher.getAuthTag()]);
}

/** Opens a segment; `undefined` when it was changed, moved, or belongs to another object. */
export function openSegment(seal: SegmentSeal, index: number, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < tagBytes) return undefined;
  const end = sealed.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', seal.objectKey, nonceOf(index), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(seal.context);
  decipher.setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  } catch {
    // The cipher's only way to say that the tag does not fit.
    return undefined;
  }
}
