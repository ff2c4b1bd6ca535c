import { compareBytes, concatBytes, equalBytes, fromHex, toHex } from '@holdfast/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const bytes = fc.uint8Array({ maxLength: 64 });

describe('hex', () => {
  test('writes lower case and reads it back', () => {
    expect(toHex(Uint8Array.of(0, 15, 16, 255))).toBe('000f10ff');
    expect(toHex(new Uint8Array())).toBe('');
    expect(fromHex('000f10ff')).toEqual(Uint8Array.of(0, 15, 16, 255));
    expect(fromHex('')).toEqual(new Uint8Array());
  });

  test.each(['0', 'abc', 'AB', 'g0', ' 00', '00 ', '0x', '00\n'])('refuses %j', (text) => {
    expect(fromHex(text)).toBeUndefined();
  });

  test('agrees with the platform on every byte string', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(toHex(value)).toBe(Buffer.from(value).toString('hex'));
        expect(fromHex(toHex(value))).toEqual(value);
      }),
    );
  });
});

describe('compareBytes and equalBytes', () => {
  test('order by unsigned bytes, a prefix first', () => {
    const sorted = [[], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0]].map((list) =>
      Uint8Array.from(list),
    );
    for (const [i, a] of sorted.entries()) {
      for (const [j, b] of sorted.entries()) expect(Math.sign(compareBytes(a, b))).toBe(Math.sign(i - j));
    }
  });

  test('agree with the platform', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(a, b));
        expect(equalBytes(a, b)).toBe(Buffer.from(a).equals(b));
        expect(equalBytes(a, Uint8Array.from(a))).toBe(true);
      }),
    );
  });
});

describe('concatBytes', () => {
  test('joins into a fresh array', () => {
    const part = Uint8Array.of(1, 2);
    const joined = concatBytes([part, new Uint8Array(), Uint8Array.of(3)]);
    expect(joined).toEqual(Uint8Array.of(1, 2, 3));
    const single = concatBytes([part]);
    single[0] = 9;
    expect(part[0]).toBe(1);
    expect(concatBytes([])).toEqual(new Uint8Array());
  });

  test('agrees with the platform', () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 8 }), (parts) => {
        expect(concatBytes(parts)).toEqual(new Uint8Array(Buffer.concat(parts)));
      }),
    );
  });
});
