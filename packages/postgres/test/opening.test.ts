import { inspect } from 'node:util';

import {
  migratePostgres,
  openPostgres,
  PostgresStatementError,
  PostgresUnsuitableError,
  probePostgres,
} from '@holdfast/postgres';
import pg from 'pg';
import { describe, expect, test } from 'vitest';

import { FakeServer, healthy, serverError } from './fake-server.js';

async function thrown(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('databases that are refused', () => {
  const refused = [
    ['not-migrated', {}, undefined],
    ['not-migrated', {}, 0],
    ['schema-too-new', {}, 2],
    ['read-only', { replica: true }, 1],
    ['read-only', { read_only: 'on' }, 1],
    ['not-durable', { synchronous_commit: 'off' }, 1],
    ['not-durable', { fsync: 'off' }, 1],
    ['not-durable', { full_page_writes: 'off' }, 1],
    ['server-too-old', { server: 110_022 }, 1],
  ] as const;
  test.each(refused)('%s: %j, schema version %s', async (kind, facts, version) => {
    const server = new FakeServer();
    server.facts = { ...healthy, ...facts };
    server.schemaVersion = version;
    const found = await thrown(openPostgres(server));
    expect(PostgresUnsuitableError.is(found)).toBe(true);
    expect(found).toMatchObject({ kind, effect: 'none' });
    expect(server.sent).toEqual([]);
  });

  test('what is not synced is accepted when that is asked for, and declared', async () => {
    const server = new FakeServer();
    server.facts = { ...healthy, synchronous_commit: 'off' };
    await using storage = await openPostgres(server, { acknowledge: 'unsynced' });
    expect(storage.report.acknowledges).toBe('unsynced');
    expect([storage.ledger.supports.durable, storage.leaser.supports.durable]).toEqual([false, false]);
  });

  test('a good one is used, and the report says what was found', async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    expect(storage.report).toMatchObject({ serverVersion: 150_020, acknowledges: 'synced', problems: [] });
    expect([storage.ledger.supports, storage.leaser.supports]).toEqual([
      { follow: true, shared: true, durable: true },
      { scope: 'fleet', durable: true },
    ]);
  });

  test('a probe of a bad one says everything that is wrong', async () => {
    const server = new FakeServer();
    server.facts = { ...healthy, replica: true, fsync: 'off' };
    const { problems } = await probePostgres(server);
    expect(problems.map(({ kind }) => kind)).toEqual(['read-only', 'not-durable']);
  });

  test('a replica is not migrated', async () => {
    const replica = { query: async () => ({ rows: [{ replica: true }] }) };
    expect(await thrown(migratePostgres(replica))).toMatchObject({ kind: 'read-only' });
  });
});

describe('arguments', () => {
  test.each(['', 'Upper', 'a b', 'a;drop', 'pg_mine', '1a', 'a'.repeat(49)])(
    'schema %j is refused',
    async (schema) => {
      const server = new FakeServer();
      expect(await thrown(openPostgres(server, { schema }))).toBeInstanceOf(TypeError);
      expect(await thrown(migratePostgres(server, { schema }))).toBeInstanceOf(TypeError);
      expect(server.sent).toEqual([]);
    },
  );

  test.each(['statementMilliseconds', 'lockMilliseconds', 'ttlMilliseconds', 'pollMilliseconds'])(
    '%s must be a time',
    async (option) => {
      for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(await thrown(openPostgres(new FakeServer(), { [option]: value }))).toBeInstanceOf(RangeError);
      }
    },
  );
});

describe('credentials', () => {
  const password = 'hunter2-Secret';

  /** Everything that a logger could find, whatever it does with an error. */
  function everythingIn(error: unknown): string {
    const json = JSON.stringify(error);
    return `${inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })} ${json} ${(error as Error).stack}`;
  }

  test.each([
    `cannot parse "postgres://user:${password}@host/db"`,
    `connection to postgres://user:${password}@host:5432/db?sslmode=require refused`,
    `invalid dsn: host=h user=u password=${password} dbname=d`,
    `invalid dsn: password='${password}' host=h`,
    `{"password": "${password}"}`,
    `could not connect to postgres://${password}@host`,
    `postgres://user:my ${password}@host/db?sslpassword=${password}`,
  ])('are masked in %j', async (message) => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      throw Object.assign(serverError('28P01', 'FATAL', message), { connectionParameters: { password } });
    };
    const found = await thrown(storage.ledger.append('log', 0, [Uint8Array.of(1)]));
    expect(everythingIn(found)).toContain('28P01');
    expect(everythingIn(found)).not.toContain(password);
  });

  test('are masked in the causes of what a client threw too', async () => {
    const server = new FakeServer();
    await using storage = await openPostgres(server);
    server.answer = () => {
      const cause = new Error('dial', { cause: new Error(`sslpassword='my ${password}' host=h`) });
      throw new AggregateError([new Error(`postgres://u:${password}@h`), cause]);
    };
    const found = await thrown(storage.ledger.append('log', 0, [Uint8Array.of(1)]));
    expect(everythingIn(found)).toContain('postgres://***@h; dial; sslpassword=***');
    expect(everythingIn(found)).not.toContain(password);
  });

  test('of a real client that cannot connect are nowhere in the error', async () => {
    const pool = new pg.Pool({ connectionString: `postgres://user:${password}@127.0.0.1:1/db` });
    const found = await thrown(openPostgres(pool));
    expect(PostgresStatementError.is(found)).toBe(true);
    expect(everythingIn(found)).toContain('ECONNREFUSED');
    expect(everythingIn(found)).not.toContain(password);
    await pool.end();
  });
});
