import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { LedgerAmbiguousError, LedgerBackendError, LedgerConflictError } from '@holdfast/journal';
import { LeaseHeldError, LeaserBackendError } from '@holdfast/lease';
import { openPostgres, PostgresStatementError } from '@holdfast/postgres';
import { describe, expect, test } from 'vitest';

import { FakeServer, serverError, systemError } from './fake-server.js';

const record = [Uint8Array.of(1)];

async function thrown(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('what a failed append says about its records', () => {
  const unknown: readonly (readonly [string, Error])[] = [
    ['connection lost while the answer was awaited', systemError('ECONNRESET', 'read')],
    ['client that gives no code', new Error('Connection terminated unexpectedly')],
    ['connection failure reported by a pooler', serverError('08P01', 'FATAL')],
    ['connection failure reported as an error', serverError('08006')],
    ['administrator ended the session', serverError('57P01', 'FATAL')],
    ['crash of another session', serverError('57P02', 'FATAL')],
    ['completion unknown', serverError('40003')],
    ['panic', serverError('XX000', 'PANIC')],
  ];
  test.each(unknown)('unknown: %s', async (_what, error) => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      throw error;
    };
    const found = await thrown(storage.ledger.append('log', 0, record));
    expect(LedgerAmbiguousError.is(found)).toBe(true);
    expect(findCause(found, PostgresStatementError)?.definite).toBe(false);
  });

  const nothing: readonly (readonly [string, Error, boolean])[] = [
    ['the server was not reached', systemError('ECONNREFUSED', 'connect'), true],
    ['its name is not known', systemError('ENOTFOUND', 'getaddrinfo'), true],
    ['no more connections', serverError('53300', 'FATAL'), true],
    ['it starts up', serverError('57P03', 'FATAL'), true],
    ['wrong password', serverError('28P01', 'FATAL'), false],
    ['lock not available', serverError('55P03'), true],
    ['statement timeout', serverError('57014'), true],
    ['disk full', serverError('53100'), true],
    ['no permission', serverError('42501'), false],
    ['read-only transaction', serverError('25006'), false],
  ];
  test.each(nothing)('nothing was written: %s', async (_what, error, retryable) => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      throw error;
    };
    const found = await thrown(storage.ledger.append('log', 0, record));
    expect(LedgerBackendError.is(found)).toBe(true);
    expect(found).toMatchObject({ effect: 'none', retryable });
  });

  test('a rollback for concurrency is tried again, and the answer decides', async () => {
    for (const state of ['40001', '40P01']) {
      const server = new FakeServer();
      await using storage = await openPostgres(server);
      let calls = 0;
      server.answer = ({ text }) => {
        if (!text.includes('as written')) return [{ id: '1', tip: '4' }];
        calls += 1;
        if (calls < 3) throw serverError(state);
        return [{ written: 0 }];
      };
      const found = await thrown(storage.ledger.append('log', 2, record));
      expect(LedgerConflictError.is(found)).toBe(true);
      expect(found).toMatchObject({ expected: 2, actual: 4 });
      expect(calls).toBe(3);
    }
  });

  test('no answer in time is an unknown outcome', async () => {
    const server = new FakeServer();
    const clock = new ManualClock();
    await using storage = await openPostgres(server, { clock, statementMilliseconds: 1_000 });
    server.answer = async () => await new Promise(() => undefined);
    const pending = thrown(storage.ledger.append('log', 0, record));
    await clock.advance(999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    const found = await pending;
    expect(LedgerAmbiguousError.is(found)).toBe(true);
    expect(findCause(found, PostgresStatementError)).toMatchObject({ system: 'ETIMEDOUT', retryable: true });
  });

  test('a deletion whose answer is lost is sent again, and never claims that nothing happened', async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      throw systemError('ECONNRESET', 'read');
    };
    const found = await thrown(storage.ledger.delete('log'));
    expect(server.sent).toHaveLength(2);
    expect(LedgerBackendError.is(found)).toBe(true);
    expect((found as LedgerBackendError).effect).toBeUndefined();
  });
});

describe('what is sent', () => {
  test('every statement stands alone: one append is one statement, with its own limits and its own durability', async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server, { lockMilliseconds: 700 });
    server.answer = ({ values }) => [{ written: (values[2] as unknown[]).length }];
    await storage.ledger.append('log', 0, [...record, ...record]);
    await storage.ledger.append('log', 2, record);
    expect(server.sent).toHaveLength(2);
    for (const { text, values } of server.sent) {
      expect(text).toContain("set_config('lock_timeout', $6::text, true)");
      expect(text).toContain("set_config('synchronous_commit', 'on', true)");
      expect(values.slice(5)).toEqual(['700ms', true]);
      expect(text).not.toMatch(/\b(?:begin|commit|prepare|listen|temp)\b|;/);
    }
    expect(server.sent[0]?.text).toContain('on conflict (name) do nothing');
    expect(server.sent[1]?.text).toContain('tip = $2::bigint');
  });

  test('appends are announced when that is asked for, and not by a storage that does not listen', async () => {
    for (const announceAppends of [true, false, undefined]) {
      const server = new FakeServer();
      await using storage = await openPostgres(server, { announceAppends });
      server.answer = () => [{ written: 1 }];
      await storage.ledger.append('log', 0, record);
      expect(server.sent[0]?.values[4]).toBe(announceAppends ?? false);
    }
  });
});

describe('leases', () => {
  test('a grant whose answer was lost is recognised by its nonce, and only then', async () => {
    for (const mine of [true, false]) {
      const server = new FakeServer();
      await using storage = await openPostgres(server);
      const nonces: unknown[] = [];
      server.answer = ({ text, values }) => {
        if (text.includes('granted as')) {
          nonces.push(values[2]);
          if (nonces.length === 1) throw systemError('ECONNRESET', 'read');
          return [];
        }
        const nonce = mine ? nonces[0] : 'another';
        return text.startsWith('select epoch, nonce')
          ? [{ epoch: '9', nonce, owner: '{"who":1}', remaining: 5_000 }]
          : [];
      };
      const found = await storage.leaser.acquire('a').catch((error: unknown) => error);
      expect(nonces[1]).toBe(nonces[0]);
      if (mine) expect(found).toMatchObject({ epoch: 9, held: true });
      else expect(found).toMatchObject({ holderEpoch: 9, owner: { who: 1 } });
      expect(LeaseHeldError.is(found)).toBe(!mine);
    }
  });

  test('an outage is neither held nor free', async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      throw systemError('ECONNREFUSED', 'connect');
    };
    const found = await thrown(storage.leaser.acquire('a'));
    expect(LeaserBackendError.is(found)).toBe(true);
    expect(found).toMatchObject({ retryable: true });
  });

  test("times are the server's own, read after the row was locked", async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = ({ text }) => (text.includes('granted as') ? [{ epoch: '42' }] : []);
    const lease = await storage.leaser.acquire('a', { above: 41 });
    await lease.release();
    expect(server.sent[0]?.values[1]).toBe(41);
    for (const { text } of server.sent) expect(text).not.toMatch(/\bnow\(\)|current_timestamp/);
    expect(server.sent[0]?.text).toContain('where present.expires <= clock_timestamp()');
    expect(server.sent.at(-1)?.text).not.toMatch(/\bdelete\b/);
  });
});
