import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { HoldfastError } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { run } from '../shared/process.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';
import { corpusDirectory, corpusOf, inputOf } from './inputs.mjs';
import { mutateBytes, mutateJson } from './mutate.mjs';
import { targets } from './targets/index.mjs';
import { untyped } from './verdict.mjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-fuzz-test-'));
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

const careless = pathToFileURL(path.join(repositoryRoot, 'tools/fuzz/fixtures/careless-targets.mjs')).href;

async function fuzz(...args: string[]) {
  const program = path.join(repositoryRoot, 'tools/fuzz/fuzz.mjs');
  return await run(process.execPath, [program, ...args], {
    env: { ...process.env, HOLDFAST_FUZZ_PATIENCE: '2000' },
  });
}

describe('the decoders', () => {
  it('accept or refuse a few thousand inputs', { timeout: 300_000 }, async () => {
    const { code, output } = await run(process.execPath, [
      path.join(repositoryRoot, 'tools/fuzz/fuzz.mjs'),
      ...['--count', '2000'],
    ]);
    expect(output).toMatch(new RegExp(`^${targets.length} passed, 0 failed$`, 'm'));
    expect(code).toBe(0);
  });

  it('have a corpus only where there is a decoder', () => {
    const names = readdirSync(corpusDirectory);
    expect(names.filter((name) => !targets.some((target) => target.name === name))).toEqual([]);
    const kept = targets.flatMap((target) => corpusOf(target));
    expect(kept.length).toBeGreaterThan(3);
  });
});

describe('a careless decoder is found', () => {
  it.each([
    ['trusting', /trusting, seed 3, turn \d+: TypeError without a code: Cannot read properties/],
    ['hiding', /hiding, seed 3, turn \d+: hidden TypeError: Cannot read properties/],
    ['endless', /endless, seed 3, turn \d+: no end after 2000 ms/],
    ['lenient', /lenient, seed 3, turn \d+: Error without a code: a length that is another one/],
  ])('%s', async (name, wanted) => {
    const { code, output } = await fuzz(
      '--targets',
      careless,
      '--target',
      name,
      '--count',
      '20000',
      '--seed',
      '3',
    );
    expect(output).toMatch(wanted);
    expect(code).toBe(1);
  });

  it('and a careful one is not', async () => {
    const { code } = await fuzz(
      '--targets',
      careless,
      '--target',
      'careful',
      '--count',
      '20000',
      '--seed',
      '3',
    );
    expect(code).toBe(0);
  });

  it('with the smallest input, which a corpus repeats', async () => {
    const found = await fuzz(
      '--targets',
      careless,
      '--target',
      'trusting',
      '--count',
      '20000',
      '--seed',
      '3',
    );
    const input = /input: ([0-9a-f]+)/.exec(found.output)?.[1] ?? '';
    expect(input.length / 2).toBeLessThan(12);
    mkdirSync(path.join(scratch, 'trusting'));
    writeFileSync(path.join(scratch, 'trusting', 'found'), Buffer.from(input, 'hex'));
    const again = await fuzz(
      '--targets',
      careless,
      '--target',
      'trusting',
      '--count',
      '1',
      '--corpus',
      scratch,
    );
    expect(again.output).toContain('trusting, seed 1, corpus found: TypeError');
  });
});

describe('inputs', () => {
  it('are the same for a seed and a turn, and different otherwise', async () => {
    for (const target of targets) {
      const bases = await target.seeds();
      expect(bases.length, target.name).toBeGreaterThan(0);
      const first = inputOf(target, bases, 5, 9);
      expect(inputOf(target, bases, 5, 9).equals(first), target.name).toBe(true);
      const others = Array.from({ length: 20 }, (_, turn) => inputOf(target, bases, 6, turn).toString('hex'));
      expect(new Set(others).size, target.name).toBeGreaterThan(10);
    }
  });

  it('change bytes and JSON', () => {
    const random = seededRandom(1);
    const changed = Array.from({ length: 50 }, () =>
      mutateBytes(Buffer.from('abc'), Buffer.from('xyz'), random).toString(),
    );
    expect(new Set(changed).size).toBeGreaterThan(20);
    const json = Array.from({ length: 50 }, () => mutateJson('{"a":[1,{"b":"c"}]}', random));
    for (const text of json) JSON.parse(text);
    expect(new Set(json).size).toBeGreaterThan(20);
    expect(mutateJson('no json', random)).toBe('no json');
  });

  it('have no corpus where nothing was found', () => {
    expect(existsSync(path.join(corpusDirectory, 'names'))).toBe(false);
  });
});

describe('a verdict', () => {
  class Refused extends HoldfastError {
    static override readonly code = 'FUZZ_REFUSED';
  }
  const typed = (cause?: unknown) => new Refused('refused', { cause });
  it.each([
    ['a plain error', new Error('x'), /^Error without a code: x$/],
    ['no error at all', 'x', /^threw x$/],
    [
      'an overflow behind a code',
      typed(new RangeError('Maximum call stack size exceeded')),
      /^hidden RangeError/,
    ],
    [
      'a mistake among several',
      typed(new AggregateError([new Error('y'), new TypeError('z')])),
      /^hidden TypeError: z$/,
    ],
    ['a mistake two causes deep', typed(new Error('y', { cause: new TypeError('z') })), /^hidden TypeError/],
  ])('is against %s', (_, error, wanted) => {
    expect(untyped(error)).toMatch(wanted);
  });

  it('is for errors with a code, for what Node says of bytes, and for what a decoder documents', () => {
    expect(untyped(typed())).toBeUndefined();
    expect(untyped(typed(new SyntaxError('x')))).toBeUndefined();
    expect(
      untyped(typed(Object.assign(new TypeError('x'), { code: 'ERR_ENCODING_INVALID_ENCODED_DATA' }))),
    ).toBeUndefined();
    expect(untyped(new TypeError('x'), ['TypeError'])).toBeUndefined();
  });
});
