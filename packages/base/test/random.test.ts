import { randomHex, systemRandom } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { describe, expect, test } from 'vitest';

describe('systemRandom', () => {
  test('gives fresh arrays of the asked length', () => {
    expect(systemRandom.bytes(0).length).toBe(0);
    const first = systemRandom.bytes(32);
    const second = systemRandom.bytes(32);
    expect(first.length).toBe(32);
    expect(first).not.toEqual(second);
    expect(Object.isFrozen(systemRandom)).toBe(true);
  });
});

describe('randomHex', () => {
  test('writes the drawn bytes as hex', () => {
    const drawn: number[] = [];
    const random = {
      bytes: (count: number) => {
        drawn.push(count);
        return Uint8Array.of(0, 171, 255).subarray(0, count);
      },
    };
    expect(randomHex(random, 3)).toBe('00abff');
    expect(drawn).toEqual([3]);
  });
});

describe('seededRandom', () => {
  test('repeats itself for a seed and differs between seeds', () => {
    const draw = (seed: number): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 20 }, () => random.next());
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    expect(seededRandom(-1).seed).toBe(4_294_967_295);
  });

  test('keeps its published sequence, so that printed seeds stay useful', () => {
    expect(seededRandom(42).next() * 4_294_967_296).toBe(2_581_720_956);
    const random = seededRandom(42);
    expect(Array.from({ length: 8 }, () => random.below(1_000))).toEqual([
      601, 448, 852, 669, 174, 526, 273, 624,
    ]);
  });

  test('stays in range and reaches both ends', () => {
    const random = seededRandom(7);
    const counts = [0, 0, 0, 0, 0];
    for (let draw = 0; draw < 5_000; draw += 1) {
      const value = random.below(5);
      counts[value] = (counts[value] ?? Number.NaN) + 1;
      const fraction = random.next();
      expect(fraction >= 0 && fraction < 1).toBe(true);
    }
    for (const count of counts) expect(count).toBeGreaterThan(800);
  });

  test('picks members and refuses an empty list', () => {
    const random = seededRandom(3);
    const seen = new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c'])));
    expect([...seen].sort()).toEqual(['a', 'b', 'c']);
    expect(() => random.pick([])).toThrow(RangeError);
    expect(random.bytes(5).length).toBe(5);
  });
});
