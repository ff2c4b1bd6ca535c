import {
  brokenNameRule,
  InvalidNameError,
  maxNameBytes,
  type NameRule,
  parseName,
  parseNamePrefix,
} from '@holdfast/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const legal: readonly string[] = [
  'a',
  '0',
  'a/b',
  'session/0a1b/tip',
  'a.b',
  'a..b',
  'a-_.b',
  'a/b.c/d-e_f',
  '9/8/7',
  `a/${'b'.repeat(510)}`,
  'x'.repeat(512),
  Array.from({ length: 256 }, () => 'a').join('/'),
];

const illegal: readonly (readonly [unknown, NameRule])[] = [
  ['', 'empty'],
  ['x'.repeat(513), 'too-long'],
  ['/', 'empty-segment'],
  ['/a', 'empty-segment'],
  ['a/', 'empty-segment'],
  ['a//b', 'empty-segment'],
  ['.', 'first-character'],
  ['..', 'first-character'],
  ['a/../b', 'first-character'],
  ['.a', 'first-character'],
  ['-a', 'first-character'],
  ['_a', 'first-character'],
  ['a/-rf', 'first-character'],
  ['A', 'first-character'],
  ['é', 'first-character'],
  ['aB', 'character'],
  ['a b', 'character'],
  ['a\\b', 'character'],
  ['a\u0000', 'character'],
  ['a\n', 'character'],
  ['a:b', 'character'],
  ['a*', 'character'],
  ['aé', 'character'],
  [undefined, 'type'],
  [null, 'type'],
  [1, 'type'],
  [['a'], 'type'],
  [{ toString: () => 'a' }, 'type'],
];

describe('parseName', () => {
  test.each(legal)('accepts %j', (name) => {
    expect(brokenNameRule(name)).toBeUndefined();
    expect(parseName(name)).toBe(name);
  });

  test.each(illegal)('refuses %j by rule %s', (name, rule) => {
    expect(brokenNameRule(name)).toBe(rule);
    let error: unknown;
    try {
      parseName(name);
    } catch (caught) {
      error = caught;
    }
    if (!InvalidNameError.is(error)) throw new Error('expected InvalidNameError', { cause: error });
    expect(error.rule).toBe(rule);
    expect(error.code).toBe('BASE_INVALID_NAME');
    expect(error.effect).toBe('none');
    expect(error.message).not.toMatch(/\n|\.$/);
  });

  test('bounds what a huge name puts into the error', () => {
    const error = new InvalidNameError('x'.repeat(1_000_000), 'too-long');
    expect(error.invalidName.length).toBeLessThanOrEqual(600);
    expect(error.message.length).toBeLessThan(500);
  });

  test('agrees with the grammar written down as one expression', () => {
    const grammar = /^(?=.{1,512}$)[a-z0-9][a-z0-9_.-]*(?:\/[a-z0-9][a-z0-9_.-]*)*$/;
    const alphabet = fc.constantFrom(...'ab09_.-/AZ \\\u0000é'.split(''));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: alphabet, maxLength: 12 }), fc.string()), (text) => {
        expect(brokenNameRule(text) === undefined).toBe(grammar.test(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('parseNamePrefix', () => {
  test.each([
    '',
    'a',
    'a/',
    'a/b',
    'a.',
    'session/0a1b/',
    'x'.repeat(maxNameBytes),
    `${'x'.repeat(maxNameBytes - 2)}/`,
  ])('accepts %j', (prefix) => {
    expect(parseNamePrefix(prefix)).toBe(prefix);
  });

  test.each(['/', 'a//', '.', 'A', 'a/.', 'a b', `${'x'.repeat(maxNameBytes)}/`, 7, undefined, null])(
    'refuses %j',
    (prefix) => {
      expect(() => parseNamePrefix(prefix)).toThrow(InvalidNameError);
    },
  );

  test('accepts every prefix of a legal name', () => {
    const segment = fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,5}$/);
    const name = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('/'));
    fc.assert(
      fc.property(name, fc.nat(), (text, cut) => {
        const prefix = text.slice(0, cut % (text.length + 1));
        expect(parseNamePrefix(prefix)).toBe(prefix);
      }),
    );
  });

  test('accepts exactly the prefixes that a legal name can start with', () => {
    const alphabet = fc.constantFrom(...'a0_.-/A '.split(''));
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 8 }), (prefix) => {
        const canGrow = [prefix, `${prefix}0`].some((text) => brokenNameRule(text) === undefined);
        let accepted = true;
        try {
          parseNamePrefix(prefix);
        } catch {
          accepted = false;
        }
        expect(accepted).toBe(canGrow || prefix === '');
      }),
      { numRuns: 2_000 },
    );
  });
});
