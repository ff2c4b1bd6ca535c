import type { Random } from '../random.js';

/** A reproducible {@link Random} with the draws that tests need. Print its seed when a test fails. */
export interface SeededRandom extends Random {
  readonly seed: number;
  /** A number in [0, 1). */
  next(): number;
  /** A whole number in [0, bound). */
  below(bound: number): number;
  /** One member of a non-empty list. */
  pick<T>(items: readonly T[]): T;
}

/** Makes a generator from a 32-bit seed (mulberry32: small, fast, not cryptographic). */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    seed: seed >>> 0,
    next,
    below,
    pick: <T>(items: readonly T[]): T => {
      if (items.length === 0) throw new RangeError('pick: the list is empty');
      return items[below(items.length)] as T;
    },
    bytes: (count: number) => Uint8Array.from({ length: count }, () => below(256)),
  };
}
