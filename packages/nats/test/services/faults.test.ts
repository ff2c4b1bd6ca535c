import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { verifyLedger } from '@holdfast/journal/testing';
import { verifyLeaser } from '@holdfast/lease/testing';
import { NatsUnsuitableError, openNats, probeNats } from '@holdfast/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection, RequestOptions } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, describe, expect, test } from 'vitest';

import { testLeaserFaults } from '../../../../tools/engines/leaser-faults.mjs';
import { testLedgerFaults } from '../../../../tools/engines/ledger-faults.mjs';
import { brokenClauses } from '../../../../tools/engines/suites.mjs';
import { serviceVariable } from '../../../../tools/services/control.mjs';
import { natsLeaserHarness, natsLedgerHarness, natsUnderTest, natsUrl, World } from './harness.mjs';

const world = new World();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  await world.close();
});
const accepted = { acknowledge: 'unsynced', requestMilliseconds: 2_000 } as const;

async function connectionAt(servers: string): Promise<NatsConnection> {
  const connection = await connect({
    servers,
    reconnectTimeWait: 20,
    reconnectJitter: 0,
    maxReconnectAttempts: -1,
  });
  cleanups.push(async () => await connection.close());
  return connection;
}

const engine = natsUnderTest(world);
testLedgerFaults({ describe, it: test }, engine);
testLeaserFaults({ describe, it: test }, engine);

describe('streams', () => {
  test('a holder that was overtaken hears it at once', async () => {
    const prefix = world.prefix();
    const settings = { ...accepted, prefix, ttlMilliseconds: 600_000 };
    await using first = await openNats(await connectionAt(natsUrl()), settings);
    await using second = await openNats(await connectionAt(natsUrl()), settings);
    const lease = await first.leaser.acquire('name');
    // As if its time had run out while it was stopped.
    await (await world.manager()).streams.purge(`${prefix}-leases`);
    await second.leaser.acquire('name');
    if (lease.held) {
      await new Promise((resolve) => {
        lease.signal.addEventListener('abort', resolve);
      });
    }
    expect(lease.signal.reason).toMatchObject({ kind: 'taken-over' });
  });

  test('a long ledger is read from anywhere, in both directions, between the messages of others', async () => {
    await using storage = await openNats(await connectionAt(natsUrl()), {
      ...accepted,
      prefix: world.prefix(),
    });
    const { ledger } = storage;
    let tip = 0;
    for (let at = 0; at < 150; at += 1) {
      tip = (
        await ledger.append(
          'log',
          tip,
          Array.from({ length: 1 + (at % 3) }, () => Uint8Array.of(at)),
        )
      ).tip;
      for (let other = 0; other < at % 4; other += 1)
        await ledger.append(`other/${at}/${other}`, 0, [Uint8Array.of(1)]);
    }
    for (let from = 1; from <= tip; from += 7) {
      for (const reverse of [false, true]) {
        const seqs: number[] = [];
        const to = Math.min(tip, from + 4);
        for await (const { seq } of ledger.read('log', { from, to, reverse })) seqs.push(seq);
        const expected = Array.from({ length: to - from + 1 }, (_, at) => from + at);
        expect(seqs).toEqual(reverse ? expected.reverse() : expected);
      }
    }
  });
});

describe('what servers promise', () => {
  test('this server does not prove that it syncs, so it is refused until less is accepted', async () => {
    const connection = await connectionAt(natsUrl());
    const found = await openNats(connection, { prefix: world.prefix() }).catch((error: unknown) => error);
    expect(NatsUnsuitableError.is(found) && found.kind).toBe('not-durable');
    expect(await probeNats(connection)).toMatchObject({
      acknowledges: 'unsynced',
      evidence: 'none',
      replicas: 1,
    });
  });

  test('asked at its monitoring address, it says what it does, which is not enough either', async () => {
    const connection = await connectionAt(natsUrl());
    const monitoring = [serviceVariable('HOLDFAST_NATS_MONITORING')];
    expect(await probeNats(connection, { monitoring })).toMatchObject({
      acknowledges: 'unsynced',
      evidence: 'monitoring',
      syncMilliseconds: { [monitoring[0] as string]: 120_000 },
    });
    const found = await openNats(connection, { prefix: world.prefix(), monitoring }).catch(
      (error: unknown) => error,
    );
    expect(NatsUnsuitableError.is(found) && found.kind).toBe('not-durable');
  });

  test('one that proves that it syncs every write is opened without asking for less, and declares it', async () => {
    // Servers before 2.10 cannot; this is what newer ones say when they are told `sync_interval: always`.
    const config = { max_memory: 1, sync_interval: 120_000_000_000, sync_always: true, compress_ok: true };
    const server = createServer((_request, response) => {
      response.end(JSON.stringify({ jetstream: { config } }));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    cleanups.push(async () => await new Promise((resolve) => server.close(resolve)));
    const monitoring = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`];
    const connection = await connectionAt(natsUrl());
    await using storage = await openNats(connection, { prefix: world.prefix(), monitoring });
    expect(storage.report).toMatchObject({ acknowledges: 'synced', evidence: 'monitoring' });
    expect([storage.ledger.supports.durable, storage.leaser.supports.durable]).toEqual([true, true]);
    await storage.ledger.append('log', 0, [Uint8Array.of(1)]);
  });

  test('a stream that is made for something else is refused', async () => {
    const prefix = world.prefix();
    const connection = await connectionAt(natsUrl());
    await (await jetstreamManager(connection)).streams.add({
      name: `${prefix}-epochs`,
      subjects: [`${prefix}.epoch.*`],
      max_age: 1_000_000_000,
    });
    const found = await openNats(connection, { ...accepted, prefix }).catch((error: unknown) => error);
    expect(NatsUnsuitableError.is(found) && found.kind).toBe('stream-mismatch');
    const other = world.prefix();
    await (await openNats(connection, { ...accepted, prefix: other })).close();
    const ttl = await openNats(connection, { ...accepted, prefix: other, ttlMilliseconds: 9_000 }).catch(
      (error: unknown) => error,
    );
    expect(ttl).toMatchObject({ kind: 'stream-mismatch' });
  });

  test('any number of hosts open at once', async () => {
    const prefix = world.prefix();
    const connection = await connectionAt(natsUrl());
    const storages = await Promise.all(
      Array.from({ length: 12 }, async () => await openNats(connection, { ...accepted, prefix })),
    );
    const outcomes = await Promise.allSettled(
      storages.map(async ({ leaser }) => await leaser.acquire('name')),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const storage of storages) await storage.close();
  });
});

describe('servers that lie are found by the suite', () => {
  const stale = 'nats-expected-last-subject-sequence';
  type Instead = (
    subject: string,
    options: RequestOptions,
    payload: Uint8Array,
  ) => Promise<unknown> | undefined;
  type Lie = (connection: NatsConnection) => Instead;
  /** Sends the request as it is, but with another expectation. */
  const ignoring =
    (part: string): Lie =>
    (connection) =>
    (subject, options, payload) => {
      const headers = options?.headers;
      if (!subject.includes(part) || headers === undefined) return undefined;
      for (const key of headers.keys()) if (key.toLowerCase() === stale) headers.delete(key);
      return connection.request(subject, payload, options);
    };
  const fake = (body: unknown) => {
    const data = new TextEncoder().encode(JSON.stringify(body));
    return { data, json: () => body, headers: undefined };
  };

  const ledgers: Record<string, readonly [clauses: readonly string[], lie: Lie]> = {
    'the expected sequence is not looked at': [['2.5', '8.5'], ignoring('.journal.')],
    'acknowledged before it is stored': [
      ['2.1', '8.5'],
      (connection) => (subject, options, payload) => {
        if (!subject.includes('.journal.')) return undefined;
        setTimeout(() => {
          connection.request(subject, payload, options).catch(() => undefined);
        }, 20);
        return Promise.resolve(fake({ stream: 'x', seq: 1, duplicate: false }));
      },
    ],
  };
  test.each(Object.entries(ledgers))(
    'ledger: %s',
    async (adapter, [clauses, lie]) => {
      const harness = natsLedgerHarness(world, { adapter, instead: lie(await world.connection) });
      expect(await brokenClauses(verifyLedger, harness)).toEqual(expect.arrayContaining([...clauses]));
    },
    600_000,
  );

  const leasers: Record<string, readonly [clauses: readonly string[], lie: Lie]> = {
    'whoever stores a lease has it': [['2.7', '5.4'], ignoring('.lease.')],
    'the counter forgets': [
      ['3.1', '3.2'],
      () => (subject, _options, payload) => {
        if (!subject.includes('.STREAM.MSG.GET.') || !new TextDecoder().decode(payload).includes('.epoch.'))
          return undefined;
        return Promise.resolve(
          fake({ error: { code: 404, err_code: 10_037, description: 'no message found' } }),
        );
      },
    ],
  };
  test.each(Object.entries(leasers))(
    'leases: %s',
    async (adapter, [clauses, lie]) => {
      const harness = natsLeaserHarness(world, { adapter, instead: lie(await world.connection) });
      expect(await brokenClauses(verifyLeaser, harness)).toEqual(expect.arrayContaining([...clauses]));
    },
    600_000,
  );

  test('the same harness passes when nobody lies', async () => {
    const instead = (): undefined => undefined;
    expect((await verifyLedger(natsLedgerHarness(world, { instead }))).ok).toBe(true);
    expect((await verifyLeaser(natsLeaserHarness(world, { instead }))).ok).toBe(true);
  });
});
