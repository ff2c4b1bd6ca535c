import { inspect } from 'node:util';

import {
  findCause,
  HoldfastError,
  InvalidNameError,
  isHoldfastError,
  parseName,
  quote,
  textOf,
} from '@holdfast/base';
import { describe, expect, test, vi } from 'vitest';

class LostError extends HoldfastError {
  static override readonly code = 'SAMPLE_LOST';
  declare readonly code: 'SAMPLE_LOST';
  declare readonly leaseName: string;
  declare readonly epoch: number;

  constructor(leaseName: string, epoch: number, cause?: unknown) {
    super(`lease ${quote(leaseName)} was lost at epoch ${epoch}`, {
      cause,
      fields: { leaseName, epoch },
      effect: 'unknown',
      retryable: false,
    });
  }
}

class OtherError extends HoldfastError {
  static override readonly code = 'SAMPLE_OTHER';

  constructor(options?: { cause?: unknown }) {
    super('other', options);
  }
}

abstract class FamilyError extends HoldfastError {}
class MemberError extends FamilyError {
  static override readonly code = 'SAMPLE_MEMBER';
}

describe('HoldfastError', () => {
  test('carries name, code, message, fields, effect, retryable and cause', () => {
    const cause = new Error('below');
    const error = new LostError('a/b', 3, cause);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('LostError');
    expect(error.code).toBe('SAMPLE_LOST');
    expect(error.message).toBe('lease "a/b" was lost at epoch 3');
    expect(error.leaseName).toBe('a/b');
    expect(error.epoch).toBe(3);
    expect(error.effect).toBe('unknown');
    expect(error.retryable).toBe(false);
    expect(error.cause).toBe(cause);
    expect(String(error)).toBe('LostError: lease "a/b" was lost at epoch 3');
  });

  test('leaves out cause, effect and retryable that were not given', () => {
    const error = new OtherError();
    expect('cause' in error).toBe(false);
    expect('effect' in error).toBe(false);
    expect('retryable' in error).toBe(false);
  });

  test('keeps code and fields readonly at run time', () => {
    const error = new LostError('a', 1);
    expect(() => {
      (error as { epoch: number }).epoch = 2;
    }).toThrow(TypeError);
    expect(() => {
      (error as { code: string }).code = 'X';
    }).toThrow(TypeError);
  });

  test('does not follow later changes of the fields object', () => {
    class FieldsError extends HoldfastError {
      static override readonly code = 'SAMPLE_FIELDS';
    }
    const fields = { path: 'a' };
    const error = new FieldsError('m', { fields });
    fields.path = 'b';
    expect(error.toJSON()).toMatchObject({ path: 'a' });
  });

  test('shows itself as JSON that survives a structured clone', () => {
    const error = new LostError('a/b', 3, new OtherError({ cause: new TypeError('deep') }));
    const json = error.toJSON();
    expect(json).toEqual({
      code: 'SAMPLE_LOST',
      message: 'lease "a/b" was lost at epoch 3',
      leaseName: 'a/b',
      epoch: 3,
      effect: 'unknown',
      retryable: false,
      causes: ['SAMPLE_OTHER', 'TypeError'],
    });
    expect(structuredClone(json)).toEqual(json);
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: json });
  });

  test('lists causes by system code, name, or as unknown', () => {
    const system = Object.assign(new Error('no such file'), { code: 'ENOENT' });
    const aggregate = new AggregateError([system, { odd: true }, 'text'], 'two');
    expect(new OtherError({ cause: aggregate }).toJSON().causes).toEqual([
      'AggregateError',
      'ENOENT',
      'unknown',
    ]);
  });

  test('gives an abstract family no code of its own', () => {
    expect(FamilyError.code).toBe('');
    expect(HoldfastError.code).toBe('');
  });
});

describe('is', () => {
  test('matches the class by code and nothing else', () => {
    const error: unknown = new LostError('a', 1);
    expect(LostError.is(error)).toBe(true);
    expect(OtherError.is(error)).toBe(false);
    expect(HoldfastError.is(error)).toBe(true);
    for (const value of [undefined, null, 1, 'SAMPLE_LOST', {}, new Error('x'), { code: 'SAMPLE_LOST' }]) {
      expect(LostError.is(value), inspect(value)).toBe(false);
      expect(isHoldfastError(value), inspect(value)).toBe(false);
    }
  });

  test('narrows the type', () => {
    const error: unknown = new LostError('a', 7);
    if (!LostError.is(error)) throw new Error('not recognised');
    const epoch: number = error.epoch;
    expect(epoch).toBe(7);
  });

  test('recognises errors of another copy of the package', async () => {
    vi.resetModules();
    const copy = await import('@holdfast/base');
    expect(copy.InvalidNameError).not.toBe(InvalidNameError);
    const foreign: unknown = new copy.InvalidNameError('A', 'first-character');
    expect(foreign).not.toBeInstanceOf(InvalidNameError);
    expect(InvalidNameError.is(foreign)).toBe(true);
    expect(LostError.is(foreign)).toBe(false);
    expect(isHoldfastError(foreign)).toBe(true);
    expect(findCause(new Error('outer', { cause: foreign }), InvalidNameError)).toBe(foreign);
    expect(copy.findCause(new InvalidNameError('', 'empty'), copy.InvalidNameError)?.rule).toBe('empty');
  });

  test('matches members through the code of the member, not of the abstract family', () => {
    expect(MemberError.is(new MemberError('m'))).toBe(true);
    expect(OtherError.is(new MemberError('m'))).toBe(false);
  });
});

describe('findCause', () => {
  test('finds the error itself, a cause, and a member of an aggregate', () => {
    const lost = new LostError('a', 1);
    expect(findCause(lost, LostError)).toBe(lost);
    expect(findCause(new OtherError({ cause: lost }), LostError)).toBe(lost);
    expect(findCause(new AggregateError([new Error('x'), new OtherError({ cause: lost })]), LostError)).toBe(
      lost,
    );
    expect(findCause(new Error('x', { cause: { cause: lost } }), LostError)).toBe(lost);
  });

  test('returns undefined when there is none', () => {
    for (const value of [
      undefined,
      null,
      'text',
      0,
      new Error('x'),
      new OtherError(),
      { errors: 'no list' },
    ]) {
      expect(findCause(value, LostError)).toBeUndefined();
    }
  });

  test('walks depth first: members in order, each before its later siblings, and the own cause after them', () => {
    const first = new LostError('first', 1);
    const second = new LostError('second', 2);
    const third = new LostError('third', 3);
    const nested = new AggregateError([new Error('a', { cause: first }), second], 'nested', { cause: third });
    expect(findCause(nested, LostError)).toBe(first);
    expect(findCause(new AggregateError([second], 'm', { cause: third }), LostError)).toBe(second);
    expect(findCause(new AggregateError([], 'm', { cause: third }), LostError)).toBe(third);
  });

  test('ends on cycles', () => {
    const a = new Error('a');
    const b = new AggregateError([a], 'b', { cause: a });
    a.cause = b;
    expect(findCause(a, LostError)).toBeUndefined();
    const lost = new LostError('x', 1, a);
    b.errors.push(lost);
    expect(findCause(a, LostError)).toBe(lost);
    expect(lost.toJSON().causes).toEqual(['Error', 'AggregateError', 'SAMPLE_LOST']);
  });

  test('survives chains far deeper than the stack', () => {
    let error: Error = new LostError('deep', 9);
    for (let depth = 0; depth < 100_000; depth += 1) error = new Error('layer', { cause: error });
    expect(findCause(error, LostError)?.epoch).toBe(9);
  });
});

describe('textOf', () => {
  test('is what String makes of a value', () => {
    expect(['a', 1, 10n, null, undefined, true, Symbol('s'), [1, 2], { a: 1 }].map(textOf)).toEqual([
      'a',
      '1',
      '10',
      'null',
      'undefined',
      'true',
      'Symbol(s)',
      '1,2',
      '[object Object]',
    ]);
  });

  test('never fails, whatever came from outside', () => {
    const fails = (): never => {
      throw new Error('no text');
    };
    const values = [
      JSON.parse('{"toString":1,"valueOf":2}'),
      Object.create(null),
      { toString: fails },
      [{ toString: 1 }],
    ];
    for (const value of values) {
      expect(textOf(value)).toBe('an object without text');
      expect(() => parseName(value)).toThrow(InvalidNameError);
    }
    expect(textOf(Object.assign(() => 0, { toString: 1, valueOf: 1 }))).toBe('a function without text');
  });
});

describe('quote', () => {
  test('quotes as JSON does', () => {
    expect(quote('a"b\\c\n')).toBe('"a\\"b\\\\c\\n"');
  });

  test('escapes what could drive a terminal or turn text around', () => {
    expect(quote('\u001b[2J')).toBe('"\\u001b[2J"');
    expect(quote('a\u007fb\u009bc\u202ed\u2066e\ufefff\u200bg')).toBe(
      '"a\\u007fb\\u009bc\\u202ed\\u2066e\\ufefff\\u200bg"',
    );
    expect(JSON.parse(quote('a\u202eb'))).toBe('a\u202eb');
  });

  test('cuts long text', () => {
    expect(quote('x'.repeat(200))).toBe(`"${'x'.repeat(200)}"`);
    expect(quote('x'.repeat(201))).toBe(`"${'x'.repeat(200)}…"`);
  });
});
