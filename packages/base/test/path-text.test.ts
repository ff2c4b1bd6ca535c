import { decodePathText, encodePathText } from '@holdfast/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const utf8 = new TextEncoder();

const table: readonly (readonly [string, readonly number[] | string, string])[] = [
  ['empty', [], ''],
  ['plain', 'src/index.ts', 'src/index.ts'],
  ['Chinese', '公共函数.cpp', '公共函数.cpp'],
  ['composed and decomposed stay apart', 'é/e\u0301', 'é/e\u0301'],
  ['byte order mark', '\ufeffa', '\ufeffa'],
  ['outside the basic plane', '😀', '😀'],
  ['line feed and quote', 'new\nline "x"', 'new\nline "x"'],
  ['backslash', 'a\\b', 'a\\\\b'],
  ['text that looks like an escape', '\\xFF', '\\\\xFF'],
  ['lone 0xFF', [0x62, 0xff, 0x2e], 'b\\xFF.'],
  ['cut two-byte sequence', [0xc3], '\\xC3'],
  ['cut three-byte sequence', [0xe2, 0x82], '\\xE2\\x82'],
  ['cut four-byte sequence', [0xf0, 0x9f, 0x98], '\\xF0\\x9F\\x98'],
  ['continuation without a start', [0x80, 0xbf], '\\x80\\xBF'],
  ['overlong slash', [0xc0, 0xaf], '\\xC0\\xAF'],
  ['overlong three bytes', [0xe0, 0x80, 0xaf], '\\xE0\\x80\\xAF'],
  ['overlong four bytes', [0xf0, 0x80, 0x80, 0xaf], '\\xF0\\x80\\x80\\xAF'],
  ['encoded surrogate', [0xed, 0xa0, 0x80], '\\xED\\xA0\\x80'],
  ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80], '\\xF4\\x90\\x80\\x80'],
  ['byte that never occurs', [0xf5, 0x80, 0x80, 0x80], '\\xF5\\x80\\x80\\x80'],
  ['bad byte in the middle', [0xe2, 0x41, 0xac], '\\xE2A\\xAC'],
  ['bad last byte', [0xf0, 0x9f, 0x98, 0x41], '\\xF0\\x9F\\x98A'],
  ['valid after invalid', [0xff, 0xc3, 0xa9], '\\xFFé'],
];

describe('path text', () => {
  test.each(table)('%s', (_name, raw, text) => {
    const bytes = typeof raw === 'string' ? utf8.encode(raw) : Uint8Array.from(raw);
    expect(encodePathText(bytes)).toBe(text);
    expect(decodePathText(text)).toEqual(bytes);
  });

  test('accepts both cases of hex digits', () => {
    expect(decodePathText('\\xfF\\xFf')).toEqual(Uint8Array.of(255, 255));
  });

  test.each(['\\', 'a\\', '\\n', '\\x', '\\xF', '\\xFG', 'a\\ b', '\\X41', '\\\\\\'])(
    'refuses %j',
    (text) => {
      expect(() => decodePathText(text)).toThrow(TypeError);
    },
  );

  test.each(['\ud800', 'a\udc00', '\udc00\ud800', '\ud83d\\x41'])(
    'refuses the lone surrogate of %j',
    (text) => {
      expect(() => decodePathText(text)).toThrow(/lone surrogate/);
    },
  );

  test('round-trips every byte string', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 48 }), (bytes) => {
        expect(decodePathText(encodePathText(bytes))).toEqual(bytes);
      }),
      { numRuns: 3_000 },
    );
  });

  test('round-trips byte strings that are nearly UTF-8', () => {
    // Uniform bytes rarely form long sequences; these do, and break them at random places.
    const near = fc
      .tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([text, at, byte]) => {
        const bytes = utf8.encode(text);
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(near, (bytes) => {
        expect(decodePathText(encodePathText(bytes))).toEqual(bytes);
      }),
      { numRuns: 3_000 },
    );
  });

  test('leaves valid UTF-8 without backslashes as it is, and is injective', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\\'));
        expect(encodePathText(utf8.encode(text))).toBe(text);
      }),
    );
  });

  test('escapes exactly the bytes that a strict decoder refuses', () => {
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
        let valid = true;
        try {
          strict.decode(bytes);
        } catch {
          valid = false;
        }
        expect(/\\x/.test(encodePathText(bytes).replaceAll('\\\\', ''))).toBe(!valid);
      }),
      { numRuns: 3_000 },
    );
  });
});
