import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import {
  AppendVerifyError,
  JournalCorruptError,
  Ledger,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerConflictError,
  type LedgerDriver,
  LedgerInUseError,
  MemoryLedgerDriver,
  MemoryLedgerStorage,
  memoryLedger,
  prefixLedger,
} from '@holdfast/journal';
import { FaultLedgerDriver } from '@holdfast/journal/testing';
import { describe, expect, it } from 'vitest';

import { collect, failureOf } from './support/world.js';

const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values);

function faulty(storage = new MemoryLedgerStorage()): { faults: FaultLedgerDriver; ledger: Ledger } {
  const faults = new FaultLedgerDriver(new MemoryLedgerDriver({ storage }));
  return { faults, ledger: new Ledger(faults) };
}

function driverWith(members: Partial<LedgerDriver>): LedgerDriver {
  const memory = new MemoryLedgerDriver();
  return new Proxy(memory as LedgerDriver, {
    get: (target, key) => {
      const own = (members as Record<PropertyKey, unknown>)[key];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('construction', () => {
  it('refuses another contract version and too small records', () => {
    expect(() => new Ledger(driverWith({ contract: 'ledger/2' as never }))).toThrow(TypeError);
    expect(() => new Ledger(driverWith({ maxRecordBytes: 1_000 }))).toThrow(TypeError);
    expect(() => memoryLedger({ pollMilliseconds: 0 })).toThrow(RangeError);
  });
});

describe('what a driver throws', () => {
  it('is wrapped once, with operation, name, cause and whether a retry may help', async () => {
    const { faults, ledger } = faulty();
    const cause = Object.assign(new Error('connection reset'), { retryable: true });
    faults.arm({ operation: 'append', kind: 'error', error: cause });
    faults.arm({ operation: 'tip', kind: 'error', error: cause });
    faults.arm({ operation: 'list', kind: 'error', error: 'not even an error' });
    faults.arm({ operation: 'delete', kind: 'error', error: undefined });
    const append = (await failureOf(ledger.append('log', 0, [bytes(1)]))) as LedgerBackendError;
    expect(LedgerBackendError.is(append)).toBe(true);
    expect(append).toMatchObject({
      operation: 'append',
      ledgerName: 'log',
      effect: 'none',
      retryable: true,
      cause,
    });
    const tip = (await failureOf(ledger.tip('log'))) as LedgerBackendError;
    expect(tip).toMatchObject({ operation: 'tip', retryable: true });
    expect(tip.effect).toBeUndefined();
    expect(await failureOf(collect(ledger.list()))).toMatchObject({
      cause: 'not even an error',
      retryable: false,
    });
    expect(await failureOf(ledger.delete('log'))).toMatchObject({ operation: 'delete', effect: 'none' });
  });

  it.each([
    ['a gap', [1, 3], 'gap'],
    ['a repeated record', [1, 1], 'gap'],
    ['records from elsewhere', [2, 3], 'gap'],
    ['too few records', [1, 2], 'missing'],
    ['too many records', [1, 2, 3, 4], 'sequence-mismatch'],
  ] as const)('%s is damage, not an answer', async (_, seqs, kind) => {
    const ledger = new Ledger(
      driverWith({
        tip: async () => 3,
        async *read() {
          for (const seq of seqs) yield { seq, data: bytes(seq) };
        },
      }),
    );
    const error = (await failureOf(collect(ledger.read('log')))) as JournalCorruptError;
    expect(JournalCorruptError.is(error)).toBe(true);
    expect(error.kind).toBe(kind);
  });

  it.each([-1, 1.5, Number.NaN, undefined])('a tip of %s is no tip', async (tip) => {
    const ledger = new Ledger(driverWith({ tip: async () => tip as number }));
    expect(LedgerBackendError.is(await failureOf(ledger.tip('log')))).toBe(true);
  });
});

describe('the ambiguity table of appendDefinite', () => {
  const ours = [bytes(1), bytes(2)];

  it.each([
    ['ok', [], 'ok', [1, 2]],
    ["landed, then found by the retry's conflict", ['landed'], 'ok', [1, 2]],
    ['not landed, then written by the retry', ['not-landed'], 'ok', [1, 2]],
    ['landed, retry lost too', ['landed', 'not-landed'], 'ok', [1, 2]],
    ['not landed, retry landed without a reply', ['not-landed', 'landed'], 'ok', [1, 2]],
    ['lost twice', ['not-landed', 'not-landed'], 'unknown', []],
    ['failed', ['error'], 'failed', []],
    ['not landed, then failed', ['not-landed', 'error'], 'unknown', []],
    ['landed, then failed', ['landed', 'error'], 'ok', [1, 2]],
    ['late, retry conflicts with nobody', ['late', 'not-landed'], 'unknown', []],
  ] as const)('%s', async (_, kinds, outcome, stored) => {
    const { faults, ledger } = faulty();
    for (const kind of kinds) faults.arm({ operation: 'append', kind });
    const attempt = ledger.appendDefinite('log', 0, ours);
    if (outcome === 'ok') expect(await attempt).toEqual({ tip: 2 });
    else {
      const error = await failureOf(attempt);
      expect(outcome === 'unknown' ? AppendVerifyError.is(error) : LedgerBackendError.is(error)).toBe(true);
      expect((error as AppendVerifyError).effect).toBe(outcome === 'unknown' ? 'unknown' : 'none');
      if (outcome === 'unknown') expect(findCause(error, LedgerAmbiguousError)).toBeDefined();
    }
    expect((await collect(ledger.read('log'))).map((record) => record.data[0])).toEqual(stored);
  });

  it('a lost reply whose place somebody else took is a definite conflict', async () => {
    const storage = new MemoryLedgerStorage();
    const { faults, ledger } = faulty(storage);
    const other = memoryLedger({ storage });
    faults.arm({ operation: 'append', kind: 'not-landed' });
    const attempt = ledger.appendDefinite('log', 0, ours);
    await other.append('log', 0, [bytes(9)]);
    const error = (await failureOf(attempt)) as LedgerConflictError;
    expect(LedgerConflictError.is(error)).toBe(true);
    expect([error.expected, error.actual, error.effect]).toEqual([0, 1, 'none']);
    expect(findCause(error, LedgerAmbiguousError)).toBeDefined();
  });

  it('a part of ours at the place is not ours', async () => {
    const storage = new MemoryLedgerStorage();
    const { faults, ledger } = faulty(storage);
    faults.arm({ operation: 'append', kind: 'not-landed' });
    const attempt = ledger.appendDefinite('log', 0, ours);
    await memoryLedger({ storage }).append('log', 0, [bytes(1), bytes(7)]);
    expect(LedgerConflictError.is(await failureOf(attempt))).toBe(true);
  });

  it('an unreadable ledger leaves the outcome unknown', async () => {
    const { faults, ledger } = faulty();
    faults.arm({ operation: 'append', kind: 'landed' });
    faults.arm({ operation: 'tip', kind: 'error' });
    const error = await failureOf(ledger.appendDefinite('log', 0, ours));
    expect(AppendVerifyError.is(error)).toBe(true);
    expect(findCause(error, LedgerBackendError)).toMatchObject({ operation: 'tip' });
  });

  it('settling is not aborted once the first try was sent', async () => {
    const { faults, ledger } = faulty();
    const controller = new AbortController();
    const append = faults.append.bind(faults);
    Object.assign(faults, {
      append: async (...call: Parameters<typeof append>) => {
        await append(...call);
        controller.abort(new Error('too late'));
        throw new LedgerAmbiguousError('log', 0);
      },
    });
    expect(await ledger.appendDefinite('log', 0, ours, { signal: controller.signal })).toEqual({ tip: 2 });
  });
});

describe('following without a driver that can wait', () => {
  it('polls, and neither misses nor repeats', async () => {
    const clock = new ManualClock();
    const supports = Object.freeze({ follow: false, shared: true, durable: false });
    const changed = async (): Promise<void> => {
      throw new Error('must not be called');
    };
    const ledger = new Ledger(driverWith({ supports, changed }), { clock, pollMilliseconds: 100 });
    const controller = new AbortController();
    const following = ledger.follow('log', { signal: controller.signal });
    for (let seq = 1; seq <= 3; seq += 1) {
      const step = following.next();
      await ledger.append('log', seq - 1, [bytes(seq)]);
      let record: IteratorResult<{ seq: number }> | undefined;
      const seen = step.then((result) => {
        record = result;
      });
      for (let turn = 0; turn < 50 && record === undefined; turn += 1) {
        await clock.advance(100);
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      await seen;
      expect(record?.value).toMatchObject({ seq });
    }
    const last = failureOf(following.next());
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await last).toBe(reason);
    expect(clock.pending).toBe(0);
  });

  it('a driver that wakes without cause does not keep the event loop busy', async () => {
    const ledger = new Ledger(driverWith({ changed: async () => undefined }));
    const controller = new AbortController();
    const step = failureOf(ledger.follow('log', { signal: controller.signal }).next());
    const reason = new Error('enough');
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    controller.abort(reason);
    expect(await step).toBe(reason);
  });

  it('a failing wait is a backend failure', async () => {
    const cause = new Error('gone');
    const changed = async (): Promise<void> => {
      throw cause;
    };
    const ledger = new Ledger(driverWith({ changed }));
    const step = ledger.follow('log', { signal: new AbortController().signal }).next();
    expect(await failureOf(step)).toMatchObject({ code: 'JOURNAL_BACKEND', operation: 'follow', cause });
  });
});

describe('the prefix layer', () => {
  it('speaks of the short name in errors, and leaves what is below open', async () => {
    const { faults, ledger } = faulty();
    const view = prefixLedger(ledger, 'tenant/a');
    await view.append('log', 0, [bytes(1)]);
    expect(await failureOf(view.append('log', 0, [bytes(1)]))).toMatchObject({
      ledgerName: 'log',
      expected: 0,
      actual: 1,
    });
    faults.arm({ operation: 'append', kind: 'not-landed' });
    expect(await failureOf(view.append('log', 1, [bytes(2)]))).toMatchObject({
      code: 'JOURNAL_AMBIGUOUS',
      ledgerName: 'log',
    });
    expect(await collect(ledger.list())).toEqual(['tenant/a/log']);
    expect(view.storagePaths()).toEqual([]);
    await view.close();
    expect(LedgerClosedError.is(await failureOf(view.tip('log')))).toBe(true);
    expect(await ledger.tip('tenant/a/log')).toBe(1);
    expect(() => prefixLedger(ledger, '/x')).toThrow();
  });

  it('refuses a name that becomes too long behind the prefix', async () => {
    const view = prefixLedger(memoryLedger(), 'tenant');
    expect(await failureOf(view.tip('x'.repeat(510)))).toMatchObject({
      code: 'BASE_INVALID_NAME',
      rule: 'too-long',
    });
  });
});

describe('errors', () => {
  it('an owner is named when it is known', () => {
    const known = new LedgerInUseError('session-0001', { pid: 4711 });
    expect(known.message).toContain('process 4711');
    expect(known.toJSON()).toMatchObject({
      code: 'JOURNAL_IN_USE',
      subject: 'session-0001',
      owner: { pid: 4711 },
    });
    expect(new LedgerInUseError('s', undefined).message).toContain('another process');
  });
});
