import { setTimeout as sleep } from 'node:timers/promises';

import { findCause } from '@holdfast/base';
import { AppendVerifyError, type Ledger, LedgerConflictError, LedgerDeletedError } from '@holdfast/journal';
import { verifyLedger } from '@holdfast/journal/testing';
import { verifyLeaser } from '@holdfast/lease/testing';
import { NatsRequestError, NatsUnsuitableError, openNats, probeNats } from '@holdfast/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection, RequestOptions } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, describe, expect, test } from 'vitest';

import { controlService } from '../../../../tools/services/control.mjs';
import { openTcpProxy } from '../../../../tools/services/tcp-proxy.mjs';
import { natsLeaserHarness, natsLedgerHarness, natsUrl, World } from './harness.mjs';

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

async function proxied(): Promise<{ url: string; proxy: Awaited<ReturnType<typeof openTcpProxy>> }> {
  const url = new URL(natsUrl());
  const proxy = await openTcpProxy(Number(url.port));
  cleanups.push(async () => await proxy.close());
  return { url: `nats://127.0.0.1:${proxy.port}`, proxy };
}

/** Appends records that carry their number, through whatever happens. */
async function appendThrough(ledger: Ledger, count: number, between: () => Promise<void>): Promise<number> {
  let tip = 0;
  let failures = 0;
  for (let at = 1; at <= count; at += 1) {
    await between();
    const record = new TextEncoder().encode(`record ${at}`);
    while (tip < at) {
      try {
        tip = (await ledger.appendDefinite('log', tip, [record])).tip;
      } catch (error) {
        failures += 1;
        expect(failures).toBeLessThan(2_000);
        const { retryable } = error as { retryable?: boolean };
        if (!AppendVerifyError.is(error) && !LedgerConflictError.is(error) && retryable !== true) throw error;
        await sleep(20);
        // An unknown outcome may have landed.
        tip = await ledger.tip('log').catch(() => tip);
      }
    }
  }
  return failures;
}

async function expectExactlyOnce(ledger: Ledger, count: number): Promise<void> {
  const found: string[] = [];
  for await (const { data } of ledger.read('log')) found.push(new TextDecoder().decode(data));
  expect(found).toEqual(Array.from({ length: count }, (_, at) => `record ${at + 1}`));
}

describe('the server and the wire', () => {
  test('a server that is killed and comes back has everything that it acknowledged, once', async () => {
    await using storage = await openNats(await connectionAt(natsUrl()), {
      ...accepted,
      prefix: world.prefix(),
    });
    let writing = true;
    const killing = (async () => {
      let kills = 0;
      while (writing) {
        await sleep(100 + Math.random() * 300);
        await controlService('nats', 'kill');
        kills += 1;
        await controlService('nats', 'restart');
      }
      return kills;
    })();
    await appendThrough(storage.ledger, 300, async () => await sleep(5));
    writing = false;
    expect(await killing).toBeGreaterThan(1);
    await expectExactlyOnce(storage.ledger, 300);
  });

  test('connections that are cut before, while and after the server works', async () => {
    const { url, proxy } = await proxied();
    const settings = { ...accepted, requestMilliseconds: 300, prefix: world.prefix() };
    await using storage = await openNats(await connectionAt(url), settings);
    let faults = 0;
    await appendThrough(storage.ledger, 120, async () => {
      const dice = Math.random();
      if (dice > 0.3) return;
      faults += 1;
      if (dice < 0.1) proxy.cutResponsesAfter(Math.floor(Math.random() * 60));
      else if (dice < 0.2) proxy.cutRequestsAfter(Math.floor(Math.random() * 300));
      else proxy.cut();
    });
    expect(faults).toBeGreaterThan(10);
    expect(proxy.connections()).toBeGreaterThan(10);
    await expectExactlyOnce(storage.ledger, 120);
  });

  test('a holder that is cut off knows before the server lets go, by real clocks', async () => {
    const { url, proxy } = await proxied();
    const settings = {
      ...accepted,
      requestMilliseconds: 300,
      prefix: world.prefix(),
      ttlMilliseconds: 1_500,
      pollMilliseconds: 20,
    };
    const cut = await openNats(await connectionAt(url), settings);
    await using other = await openNats(await connectionAt(natsUrl()), settings);
    const lease = await cut.leaser.acquire('name');
    let lostAt = 0;
    lease.signal.addEventListener('abort', () => {
      lostAt = performance.now();
    });
    const waiting = other.leaser
      .acquire('name', { wait: true })
      .then((next) => ({ next, at: performance.now() }));
    proxy.refuse(true);
    const { next, at } = await waiting;
    expect(next.epoch).toBeGreaterThan(lease.epoch);
    expect(lostAt).toBeGreaterThan(0);
    expect(lostAt).toBeLessThan(at);
    expect(lease.signal.reason).toMatchObject({ kind: 'self-fenced' });
    proxy.refuse(false);
    await cut.close().catch(() => undefined);
  });

  test('a lease is kept for as long as its holder renews it, by the real ageing of the server', async () => {
    const settings = { ...accepted, prefix: world.prefix(), ttlMilliseconds: 1_000 };
    await using storage = await openNats(await connectionAt(natsUrl()), settings);
    const lease = await storage.leaser.acquire('name');
    await sleep(3_500);
    await lease.check();
    expect(lease.held).toBe(true);
  });

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

  test('an answer that does not come is a typed outcome that can be retried', async () => {
    const { url, proxy } = await proxied();
    const settings = { ...accepted, requestMilliseconds: 200, prefix: world.prefix() };
    await using storage = await openNats(await connectionAt(url), settings);
    await storage.ledger.append('log', 0, [Uint8Array.of(1)]);
    proxy.silence(true);
    const append = await storage.ledger.append('log', 1, [Uint8Array.of(2)]).catch((error: unknown) => error);
    expect(append).toMatchObject({ code: 'JOURNAL_AMBIGUOUS', effect: 'unknown' });
    expect(findCause(append, NatsRequestError)).toMatchObject({ definite: false, retryable: true });
    const tip = await storage.ledger.tip('log').catch((error: unknown) => error);
    expect(tip).toMatchObject({ code: 'JOURNAL_BACKEND', retryable: true });
    const acquire = await storage.leaser.acquire('name').catch((error: unknown) => error);
    expect(acquire).toMatchObject({ code: 'LEASE_BACKEND', retryable: true });
    proxy.silence(false);
  });

  test('appends that race deletions leave nothing behind', async () => {
    const prefix = world.prefix();
    await using storage = await openNats(await connectionAt(natsUrl()), { ...accepted, prefix });
    const { ledger } = storage;
    const large = new Uint8Array(300_000).fill(1);
    let [deleting, appended] = [true, 0];
    const deleter = (async () => {
      while (deleting) {
        await ledger.delete('log');
        await sleep(2);
      }
    })();
    try {
      await Promise.all(
        [1, 2, 3].map(async (writer) => {
          for (let round = 0; round < 60; round += 1) {
            try {
              const record = writer === 1 && round % 5 === 0 ? large : Uint8Array.of(round);
              await ledger.append('log', await ledger.tip('log'), [record, record]);
              appended += 1;
            } catch (error) {
              if (!LedgerConflictError.is(error)) throw error;
            }
            try {
              let expected = 1;
              for await (const { seq } of ledger.read('log')) {
                expect(seq).toBe(expected);
                expected += 1;
              }
            } catch (error) {
              if (!LedgerDeletedError.is(error)) throw error;
            }
          }
        }),
      );
    } finally {
      deleting = false;
      await deleter;
    }
    await ledger.delete('log');
    expect(appended).toBeGreaterThan(10);
    const info = await (await world.manager()).streams.info(`${prefix}-journal`);
    expect(info.state.messages).toBe(0);
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
      const report = await verifyLedger({ ...harness, limits: { caseMilliseconds: 3_000 } });
      const failed = report.cases.filter(({ failure }) => failure !== undefined).map(({ clause }) => clause);
      expect(failed).toEqual(expect.arrayContaining([...clauses]));
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
      const report = await verifyLeaser({ ...harness, limits: { caseMilliseconds: 3_000 } });
      const failed = report.cases.filter(({ failure }) => failure !== undefined).map(({ clause }) => clause);
      expect(failed).toEqual(expect.arrayContaining([...clauses]));
    },
    600_000,
  );

  test('the same harness passes when nobody lies', async () => {
    const instead = (): undefined => undefined;
    expect((await verifyLedger(natsLedgerHarness(world, { instead }))).ok).toBe(true);
    expect((await verifyLeaser(natsLeaserHarness(world, { instead }))).ok).toBe(true);
  });
});
