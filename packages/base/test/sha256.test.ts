import { createSha256, type Sha256, sha256, sha256Hex, toHex } from '@holdfast/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as noble from '../src/internal/sha256-noble.js';
import * as node from '../src/internal/sha256-node.js';

interface Implementation {
  createHasher(): Sha256;
  digest(bytes: Uint8Array): Uint8Array;
}

const implementations: readonly (readonly [string, Implementation])[] = [
  ['platform', node],
  ['noble', noble],
  ['public', { createHasher: createSha256, digest: sha256 }],
];

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

// FIPS 180-4 examples and the lengths around the block and padding boundaries of "a" repeated.
const vectors: readonly (readonly [string, Uint8Array, string])[] = [
  ['empty', ascii(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', ascii('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'two blocks',
    ascii('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq'),
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
  [
    'four blocks',
    ascii(
      'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
    ),
    'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
  ],
  ['one byte 0xbd', Uint8Array.of(0xbd), '68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b'],
  [
    'a million times a',
    ascii('a'.repeat(1_000_000)),
    'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
  ],
];

describe.each(implementations)('%s', (_name, implementation) => {
  test.each(vectors)('%s', (_vector, input, expected) => {
    expect(toHex(implementation.digest(input))).toBe(expected);
    const whole = implementation.createHasher();
    whole.update(input);
    expect(toHex(whole.digest())).toBe(expected);
  });

  test('does not care how the input is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 130 }), { maxLength: 6 }), (parts) => {
        const hasher = implementation.createHasher();
        for (const part of parts) hasher.update(part);
        expect(hasher.digest()).toEqual(implementation.digest(new Uint8Array(Buffer.concat(parts))));
      }),
    );
  });

  test('takes the bytes at once: the caller may change the array afterwards', () => {
    const input = ascii('abc');
    const hasher = implementation.createHasher();
    hasher.update(input);
    input.fill(0);
    expect(toHex(hasher.digest())).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  test('hashes views, not their whole buffers', () => {
    const buffer = ascii('xxabcxx');
    expect(toHex(implementation.digest(buffer.subarray(2, 5)))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  test('gives 32 fresh bytes of plain Uint8Array', () => {
    const first = implementation.digest(ascii('abc'));
    expect(first.length).toBe(32);
    expect(Object.getPrototypeOf(first)).toBe(Uint8Array.prototype);
    first.fill(0);
    expect(toHex(implementation.digest(ascii('abc')))).toMatch(/^ba7816bf/);
  });

  test('refuses a second digest and an update after it', () => {
    const hasher = implementation.createHasher();
    hasher.digest();
    expect(() => {
      hasher.update(ascii('a'));
    }).toThrow();
    expect(() => hasher.digest()).toThrow();
  });
});

describe('both implementations', () => {
  test('agree on every length around the block boundaries', () => {
    for (let length = 0; length <= 260; length += 1) {
      const input = Uint8Array.from({ length }, (_, index) => (index * 31 + length) & 255);
      expect(toHex(noble.digest(input)), `length ${length}`).toBe(toHex(node.digest(input)));
    }
  });

  test('agree on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4_096 }), (input) => {
        expect(noble.digest(input)).toEqual(node.digest(input));
      }),
    );
  });

  test('give the same hex through the public function', () => {
    expect(sha256Hex(ascii('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
