import { createHasher, digest } from '#sha256';

import { toHex } from './bytes.js';

/**
 * SHA-256 behind one small interface: the platform's implementation on Node, `@noble/hashes` elsewhere (chosen by the
 * `node` export condition). Shared vectors prove both equal.
 */
export interface Sha256 {
  /** Adds bytes; the array may be changed by the caller afterwards. */
  update(bytes: Uint8Array): void;
  /** Finishes and returns the 32-byte digest. The hasher must not be used afterwards. */
  digest(): Uint8Array;
}

/** Starts an incremental SHA-256. */
export function createSha256(): Sha256 {
  return createHasher();
}

/** Returns the 32-byte SHA-256 of `bytes`. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return digest(bytes);
}

/** Returns the SHA-256 of `bytes` as 64 lower-case hex digits. */
export function sha256Hex(bytes: Uint8Array): string {
  return toHex(digest(bytes));
}
