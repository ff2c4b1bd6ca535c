import { setTimeout as sleep } from 'node:timers/promises';

import { findCause } from '@holdfast/base';
import { verifyLedger } from '@holdfast/journal/testing';
import { LeaseHeldError, LeaserBackendError } from '@holdfast/lease';
import { verifyLeaser } from '@holdfast/lease/testing';
import {
  openPostgres,
  type PostgresQuery,
  PostgresStatementError,
  PostgresUnsuitableError,
  probePostgres,
} from '@holdfast/postgres';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, test } from 'vitest';

import { testLeaserFaults } from '../../../../tools/engines/leaser-faults.mjs';
import { testLedgerFaults } from '../../../../tools/engines/ledger-faults.mjs';
import { brokenClauses } from '../../../../tools/engines/suites.mjs';
import {
  postgresLeaserHarness,
  postgresLedgerHarness,
  postgresUnderTest,
  postgresUrl,
  World,
} from './harness.mjs';

const world = new World();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  await world.close();
});

function poolAt(connectionString: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 2_000, ...options });
  pool.on('error', () => undefined);
  cleanups.push(async () => await pool.end());
  return pool;
}

const engine = postgresUnderTest(world);
testLedgerFaults({ describe, it: test }, engine);
testLeaserFaults({ describe, it: test }, engine);

describe('notifications', () => {
  test('a holder that was overtaken hears it by the notification', async () => {
    const schema = await world.schema();
    const options = { schema, ttlMilliseconds: 600_000 };
    await using first = await openPostgres(world.pool, { ...options, listen: () => world.listener() });
    await using second = await openPostgres(world.pool, options);
    const lease = await first.leaser.acquire('name');
    // As if its time had run out while it was stopped.
    await world.pool.query(`update ${schema}.lease set expires = clock_timestamp()`);
    await second.leaser.acquire('name');
    if (lease.held) {
      await new Promise((resolve) => {
        lease.signal.addEventListener('abort', resolve);
      });
    }
    expect(lease.signal.reason).toMatchObject({ kind: 'taken-over' });
  });

  test('who is told goes on being told after its connection was ended', async () => {
    const schema = await world.schema();
    let opened = 0;
    let openedAgain = (): void => undefined;
    const again = new Promise<void>((resolve) => {
      openedAgain = resolve;
    });
    await using reader = await openPostgres(world.pool, {
      schema,
      pollMilliseconds: 600_000,
      listen: () => {
        opened += 1;
        if (opened === 2) openedAgain();
        return world.listener();
      },
    });
    await using writer = await openPostgres(world.pool, { schema, announceAppends: true });
    const controller = new AbortController();
    const following = reader.ledger.follow('log', { signal: controller.signal });
    await writer.ledger.append('log', 0, [Uint8Array.of(1)]);
    expect((await following.next()).value?.seq).toBe(1);
    const pending = following.next();
    const ended = `select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %${schema}%' and pid <> pg_backend_pid()`;
    // Nobody says when it listens.
    while ((await world.pool.query(ended)).rows.length === 0);
    await writer.ledger.append('log', 1, [Uint8Array.of(2)]);
    expect((await pending).value?.seq).toBe(2);
    await again;
    const last = following.next();
    await writer.ledger.append('log', 2, [Uint8Array.of(3)]);
    expect((await last).value?.seq).toBe(3);
    controller.abort();
  });
});

describe('transactions of others', () => {
  test('a row that somebody keeps locked ends the wait on the server, with nothing written and no guess', async () => {
    const schema = await world.schema();
    await using storage = await openPostgres(world.pool, { schema, lockMilliseconds: 100 });
    await storage.ledger.append('log', 0, [Uint8Array.of(1)]);
    await (await storage.leaser.acquire('name')).release();
    const other = world.listener();
    await other.connect();
    try {
      await other.query('begin');
      await other.query(`select 1 from ${schema}.ledger, ${schema}.lease for update`);
      const append = await storage.ledger
        .append('log', 1, [Uint8Array.of(2)])
        .catch((error: unknown) => error);
      expect(append).toMatchObject({ code: 'JOURNAL_BACKEND', effect: 'none', retryable: true });
      const acquire = await storage.leaser.acquire('name').catch((error: unknown) => error);
      expect(LeaserBackendError.is(acquire) && acquire.retryable).toBe(true);
    } finally {
      await other.query('rollback');
      await other.end();
    }
    await storage.ledger.append('log', 1, [Uint8Array.of(2)]);
    const lease = await storage.leaser.acquire('name');
    expect(lease.expiresIn()).toBeGreaterThan(5_000);
  });

  test('time is read when the row is free, not when the statement began', async () => {
    const schema = await world.schema();
    const ttl = 2_000;
    await using storage = await openPostgres(world.pool, { schema, ttlMilliseconds: ttl });
    await (await storage.leaser.acquire('name')).release();
    const other = world.listener();
    await other.connect();
    await other.query('begin');
    await other.query(`select 1 from ${schema}.lease for update`);
    const acquiring = storage.leaser.acquire('name').catch((error: unknown) => error);
    await sleep(ttl + 300);
    await other.query('rollback');
    await other.end();
    // Too late for the holder, who counts from before it asked; but the server counts from when it granted.
    await acquiring;
    const { rows } = await world.pool.query(
      `select epoch, expires = '-infinity' or expires > clock_timestamp() - interval '300 ms' as fresh from ${schema}.lease`,
    );
    expect(rows).toEqual([{ epoch: '2', fresh: true }]);
  });

  test('sessions that isolate their transactions more strictly give the same answers', async () => {
    const strict = poolAt(postgresUrl(), {
      options: '-c default_transaction_isolation=serializable',
      max: 6,
    });
    const report = await verifyLedger(
      postgresLedgerHarness(world, { adapter: 'postgres, serializable', client: strict }),
    );
    expect(report.cases.filter(({ failure }) => failure !== undefined)).toEqual([]);
  });
});

describe('what servers promise', () => {
  test('a session that commits asynchronously is refused, and accepted when asked for', async () => {
    const schema = await world.schema();
    const pool = poolAt(postgresUrl(), { options: '-c synchronous_commit=off' });
    const found = await openPostgres(pool, { schema }).catch((error: unknown) => error);
    expect(PostgresUnsuitableError.is(found) && found.kind).toBe('not-durable');
    await using storage = await openPostgres(pool, { schema, acknowledge: 'unsynced' });
    expect(storage.ledger.supports.durable).toBe(false);
    await storage.ledger.append('log', 0, [Uint8Array.of(1)]);
  });

  test('a session that is made asynchronous behind our back commits our statements all the same', async () => {
    const schema = await world.schema();
    const client = world.listener();
    await client.connect();
    cleanups.push(async () => await client.end());
    await using storage = await openPostgres(client, { schema });
    await client.query('set synchronous_commit = off');
    /** Whether the log of the server was on the disk up to its end right after `work`. */
    const synced = async (work: () => Promise<unknown>): Promise<boolean> => {
      await work();
      const { rows } = await client.query(
        'select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() as done',
      );
      return (rows as { done: boolean }[])[0]?.done === true;
    };
    let theirs = 0;
    let ours = 0;
    for (let round = 0; round < 20; round += 1) {
      if (await synced(async () => await client.query(`update ${schema}.version set version = version`)))
        theirs += 1;
      if (await synced(async () => await storage.ledger.append('log', round, [Uint8Array.of(1)]))) ours += 1;
    }
    // The server writes by itself now and then, so neither is a law.
    expect(theirs).toBeLessThan(10);
    expect(ours).toBeGreaterThan(15);
    expect((await client.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  });

  test('a database that nobody migrated is refused, and a probe changes nothing', async () => {
    const before = (await world.pool.query('select count(*) from pg_class')).rows;
    expect(
      (await probePostgres(world.pool, { schema: 'never_made' })).problems.map(({ kind }) => kind),
    ).toEqual(['not-migrated']);
    expect((await world.pool.query('select count(*) from pg_class')).rows).toEqual(before);
  });

  test('any number of hosts migrate at once', async () => {
    const schema = await world.schema();
    await world.pool.query(`drop schema ${schema} cascade`);
    const { migratePostgres } = await import('@holdfast/postgres');
    await Promise.all(Array.from({ length: 12 }, async () => await migratePostgres(world.pool, { schema })));
    await using storage = await openPostgres(world.pool, { schema });
    await storage.ledger.append('log', 0, [Uint8Array.of(1)]);
    await migratePostgres(world.pool, { schema });
    expect(await storage.ledger.tip('log')).toBe(1);
  });
});

describe('servers that lie are found by the suite', () => {
  type Lie = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;
  const honest: Lie = async (text, values) => await world.pool.query(text, values);
  const liar = (lie: Lie): PostgresQuery => ({ query: async (text, values = []) => await lie(text, values) });

  const ledgers: Record<string, readonly [clauses: readonly string[], lie: Lie]> = {
    'the fence is not looked at': [
      ['2.3', '8.5'],
      async (text, values) => {
        // Whatever tip is expected, it is taken to be the present one.
        if (!text.includes('as written')) return await honest(text, values);
        const table = /update (\S+)\.ledger/.exec(text)?.[1];
        if (table === undefined) return await honest(text, values);
        const { rows } = await honest(`select tip from ${table}.ledger where name = $1`, [values[0]]);
        return await honest(text, values.with(1, rows[0]?.['tip'] ?? values[1]));
      },
    ],
    'acknowledged before it is done': [
      ['2.1', '8.5'],
      async (text, values) => {
        if (!text.includes('as written')) return await honest(text, values);
        setTimeout(() => {
          honest(text, values).catch(() => undefined);
        }, 20);
        return { rows: [{ written: (values[2] as unknown[]).length }] };
      },
    ],
    'only the first record of several is kept': [
      ['2.2', '2.6'],
      async (text, values) => {
        if (!text.includes('as written')) return await honest(text, values);
        const records = values[2] as unknown[];
        await honest(text, values.with(2, records.slice(0, 1)).with(3, (values[3] as unknown[]).slice(0, 1)));
        return { rows: [{ written: records.length }] };
      },
    ],
    'reads come from a replica that lags': [
      ['8.5'],
      (() => {
        const last = new Map<string, { rows: Record<string, unknown>[] }>();
        const lagging: Lie = async (text, values) => {
          if (!text.startsWith('select id, tip')) return await honest(text, values);
          const key = `${text} ${String(values[0])}`;
          const stale = last.get(key);
          last.set(key, await honest(text, values));
          return stale ?? (last.get(key) as { rows: Record<string, unknown>[] });
        };
        return lagging;
      })(),
    ],
  };
  test.each(Object.entries(ledgers))(
    'ledger: %s',
    async (adapter, [clauses, lie]) => {
      const harness = postgresLedgerHarness(world, { adapter, client: liar(lie) });
      expect(await brokenClauses(verifyLedger, harness)).toEqual(expect.arrayContaining([...clauses]));
    },
    600_000,
  );

  const leasers: Record<string, readonly [clauses: readonly string[], lie: Lie]> = {
    'whoever asks is granted the name': [
      ['2.2', '2.3'],
      async (text, values) =>
        await honest(text.replace('where present.expires <= clock_timestamp()', ''), values),
    ],
    'every renewal succeeds': [
      ['5.4'],
      async (text, values) =>
        text.includes('as renewed') ? { rows: [{ renewed: 1 }] } : await honest(text, values),
    ],
    'the counter goes with the row': [
      ['3.1', '3.2'],
      async (text, values) =>
        await honest(
          text.replace(
            /update (\S+) set expires = '-infinity', nonce = '' from guard/,
            'delete from $1 using guard',
          ),
          values,
        ),
    ],
    'releases free whoever has it': [
      ['4.6'],
      async (text, values) =>
        text.includes('freed as')
          ? await honest(
              text.replace(
                'and epoch = $2::bigint and nonce = $3::text',
                "and $2::bigint > 0 and $3::text > ''",
              ),
              values,
            )
          : await honest(text, values),
    ],
  };
  test.each(Object.entries(leasers))(
    'leases: %s',
    async (adapter, [clauses, lie]) => {
      const harness = postgresLeaserHarness(world, { adapter, client: liar(lie) });
      expect(await brokenClauses(verifyLeaser, harness)).toEqual(expect.arrayContaining([...clauses]));
    },
    600_000,
  );

  test('the same harness passes when nobody lies', async () => {
    const client = liar(honest);
    expect((await verifyLedger(postgresLedgerHarness(world, { client }))).ok).toBe(true);
    expect((await verifyLeaser(postgresLeaserHarness(world, { client }))).ok).toBe(true);
  });
});

test('an error of a running storage shows no credentials either', async () => {
  const url = new URL(postgresUrl());
  url.password = 'hunter2-Secret';
  const schema = await world.schema();
  const pool = poolAt(url.href);
  await using storage = await openPostgres(pool, { schema });
  const held = await storage.leaser.acquire('name', { owner: { host: 'a' } });
  const errors: unknown[] = [await storage.leaser.acquire('name').catch((error: unknown) => error)];
  expect(LeaseHeldError.is(errors[0])).toBe(true);
  await held.release();
  await world.pool.query(`drop table ${schema}.record, ${schema}.lease`);
  errors.push(await storage.ledger.append('log', 0, [Uint8Array.of(1)]).catch((error: unknown) => error));
  errors.push(await storage.leaser.acquire('name').catch((error: unknown) => error));
  const { inspect } = await import('node:util');
  for (const error of errors) {
    const text =
      inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(error);
    expect(text).not.toContain('hunter2');
  }
  expect(findCause(errors[1], PostgresStatementError)?.sqlState).toBe('42P01');
});
