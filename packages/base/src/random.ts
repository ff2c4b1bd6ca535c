import { toHex } from './bytes.js';

/** Randomness as a parameter; the default is {@link systemRandom}. */
export interface Random {
  /** Returns `count` fresh bytes that the caller owns. */
  bytes(count: number): Uint8Array;
}

/** The platform's cryptographic randomness. */
export const systemRandom: Random = Object.freeze({
  bytes: (count: number) => globalThis.crypto.getRandomValues(new Uint8Array(count)),
});

/** Returns `byteCount` random bytes as lower-case hex. */
export function randomHex(random: Random, byteCount: number): string {
  return toHex(random.bytes(byteCount));
}
