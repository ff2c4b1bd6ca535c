import assert from 'node:assert/strict';

import { findCause, parseName } from '@holdfast/base';
import {
  type CaseDefinition,
  type ContractHarness,
  ContractViolationError,
  defineSuite,
  idleClauses,
  illegalNames,
  legalNames,
  ManualClock,
  registerSuite,
  runMutants,
  verifySuite,
} from '@holdfast/base/testing';
import { describe, expect, it } from 'vitest';

interface CounterHarness extends ContractHarness {
  fresh(): { next(): number };
  readonly resets?: boolean | undefined;
}

const released: string[] = [];
const definitions: readonly CaseDefinition<CounterHarness>[] = [
  {
    clause: '1.1',
    name: 'a fresh counter starts at one',
    check: async (harness, scope) => {
      scope.defer(() => released.push('1.1'));
      assert.equal(harness.fresh().next(), 1, 'next() of a fresh counter must give 1');
    },
  },
  {
    clause: '1.2',
    name: 'a reset counter starts again',
    requires: {
      capability: 'resets',
      met: (harness) => harness.resets === true,
      otherwise: async () => await Promise.resolve(),
    },
    check: async () => await Promise.reject(new TypeError('no such method')),
  },
];
const suite = defineSuite('counter/1', 'docs/counter.md', definitions);
const good: CounterHarness = { adapter: 'good', fresh: () => ({ next: () => 1 }) };
const bad: CounterHarness = { adapter: 'bad', seed: 77, resets: true, fresh: () => ({ next: () => 0 }) };

describe('contract suites', () => {
  it('pass, run the refusal branch of what is absent, and release what a case opened', async () => {
    released.length = 0;
    const report = await verifySuite(suite, good);
    expect(report).toMatchObject({
      ok: true,
      summary: 'contract: counter/1, cases 2, advisory 0: all passed',
    });
    expect(report.cases.map((result) => result.branch)).toEqual(['declared', 'refusal']);
    expect(released).toEqual(['1.1']);
  });

  it('explain a failure with adapter, clause, page, seed and what must be fixed', async () => {
    const report = await verifySuite(suite, bad);
    expect(report.ok).toBe(false);
    const failures = report.cases.map((result) => result.failure);
    expect(failures.every((failure) => ContractViolationError.is(failure))).toBe(true);
    // Some versions of Node add the two values to a message of the author.
    expect(failures[0]?.message).toMatch(
      /^bad breaks counter\/1 "a fresh counter starts at one": next\(\) of a fresh counter must give 1/,
    );
    expect(failures[0]?.message).toMatch(/\(docs\/counter\.md, clause 1\.1, seed 77\)$/);
    expect(failures[1]?.detail).toBe('threw TypeError: no such method');
    expect(findCause(failures[0], ContractViolationError)).toBe(failures[0]);
    expect(failures[0]?.cause).toBeInstanceOf(assert.AssertionError);
  });

  it('register with any runner that has describe and it', async () => {
    const names: string[] = [];
    const bodies: (() => Promise<void>)[] = [];
    const runner = {
      describe: (name: string, body: () => void) => {
        names.push(name);
        body();
      },
      it: (name: string, body: () => Promise<void>) => {
        names.push(name);
        bodies.push(body);
      },
    };
    registerSuite(suite, runner, bad);
    expect(names).toEqual([
      'counter/1: bad',
      '1.1 a fresh counter starts at one',
      '1.2 a reset counter starts again',
    ]);
    await expect(bodies[0]?.()).rejects.toSatisfy((error) => ContractViolationError.is(error));
  });

  it('do not fail a runner for an advisory case, but show it in the report', async () => {
    const advisory = defineSuite('counter/1', 'docs/counter.md', [
      { ...(definitions[0] as CaseDefinition<CounterHarness>), advisory: true },
    ]);
    const report = await verifySuite(advisory, bad);
    expect(report).toMatchObject({ ok: true, summary: 'contract: counter/1, cases 1, advisory 1: 1 failed' });
    const bodies: (() => Promise<void>)[] = [];
    registerSuite(advisory, { describe: (_, body) => body(), it: (_, body) => bodies.push(body) }, bad);
    await bodies[0]?.();
  });

  it('fail a case that never settles', async () => {
    const clock = new ManualClock();
    const hanging = defineSuite<ContractHarness>('counter/1', 'docs/counter.md', [
      { clause: '1', name: 'waits for ever', check: async () => await new Promise<void>(() => undefined) },
    ]);
    const pending = verifySuite(hanging, { adapter: 'stuck', limits: { caseMilliseconds: 50 } }, { clock });
    await clock.advance(49);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect((await pending).cases[0]?.failure?.detail).toMatch(/did not finish within 50 ms/);
    expect(clock.pending).toBe(0);
  });

  it('stop with the reason of the signal, before and during a case', async () => {
    const reason = new Error('enough');
    await expect(verifySuite(suite, good, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const during = defineSuite<ContractHarness>('counter/1', 'docs/counter.md', [
      {
        clause: '1',
        name: 'is interrupted',
        check: async () => {
          controller.abort(reason);
          await new Promise<void>(() => undefined);
        },
      },
    ]);
    await expect(verifySuite(during, good, { signal: controller.signal })).rejects.toBe(reason);
  });

  it('draw the same values for the same seed and clause, others for another', async () => {
    const drawn: number[] = [];
    const draw = (clause: string): CaseDefinition<ContractHarness> => ({
      clause,
      name: `draws ${clause}`,
      check: async (_, scope) => {
        drawn.push(await Promise.resolve(scope.random.below(1_000_000)));
      },
    });
    const drawing = defineSuite('counter/1', 'docs/counter.md', [draw('1'), draw('2')]);
    await verifySuite(drawing, { adapter: 'any', seed: 5 });
    await verifySuite(drawing, { adapter: 'any', seed: 5 });
    await verifySuite(drawing, { adapter: 'any', seed: 6 });
    expect(drawn.slice(0, 2)).toEqual(drawn.slice(2, 4));
    expect(new Set(drawn).size).toBe(4);
  });

  it('refuse two cases with one clause', () => {
    const twice = [definitions[0], definitions[0]] as CaseDefinition<CounterHarness>[];
    expect(() => defineSuite('counter/1', 'docs/counter.md', twice)).toThrow(TypeError);
  });
});

describe('mutants', () => {
  it('tell which clauses killed each one, which were missed and which kill none', async () => {
    const verdicts = await runMutants(suite, [
      { name: 'starts at zero', killedBy: ['1.1', '1.2'], harness: () => ({ ...bad, resets: false }) },
    ]);
    expect(verdicts).toEqual([{ name: 'starts at zero', killers: ['1.1'], missed: ['1.2'] }]);
    expect(idleClauses(suite, verdicts)).toEqual(['1.2']);
  });

  it('can be run against the cases that are expected to kill them only', async () => {
    const mutant = { name: 'starts at zero', killedBy: ['1.2'], harness: () => bad };
    expect(await runMutants(suite, [mutant], { cases: 'expected' })).toEqual([
      { name: 'starts at zero', killers: ['1.2'], missed: [] },
    ]);
  });
});

describe('name tables', () => {
  it('agree with the grammar', () => {
    for (const name of legalNames) expect(parseName(name)).toBe(name);
    for (const { name, rule } of illegalNames) {
      expect(() => parseName(name), String(name)).toThrow(expect.objectContaining({ rule }) as Error);
    }
  });
});

it('a failure says what was thrown, down to the cause that the author of the adapter wrote', async () => {
  const cause = new Error('to do: next', { cause: new Error('not shown') });
  const wrapped = Object.assign(new TypeError('next failed: see its cause', { cause }), {
    name: 'BackendError',
  });
  const throwing = defineSuite('counter/1', 'docs/counter.md', [
    { clause: '1', name: 'one', check: async () => await Promise.reject(wrapped) },
  ]);
  const report = await verifySuite(throwing, good);
  expect(report.cases[0]?.failure?.message).toContain(
    'threw BackendError: next failed: see its cause: to do: next (',
  );
});
