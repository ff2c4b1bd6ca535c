import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';

import { NatsRequestError, NatsUnsuitableError, openNats, probeNats } from '@holdfast/nats';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterEach, describe, expect, test } from 'vitest';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A connection to a server that answers every request of JetStream with `answer`. */
function fakeConnection(info: Record<string, unknown>, answer: () => unknown = () => ({})): NatsConnection {
  const request = async (): Promise<unknown> => {
    const body = await answer();
    const data = new TextEncoder().encode(JSON.stringify(body));
    return { data, json: () => body, headers: undefined };
  };
  const features = { get: () => ({ ok: true, min: '2.9.0' }), require: () => undefined };
  const fake = { info, options: { timeout: 100 }, features, request };
  return fake as unknown as NatsConnection;
}

const good = { version: '2.10.27', jetstream: true, max_payload: 1_048_576 };

/** The monitoring address of a server that says this about JetStream. */
async function monitoring(config: unknown): Promise<string> {
  const server = createServer((request, response) => {
    expect(request.url).toBe('/varz');
    response.end(JSON.stringify({ jetstream: { config } }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanups.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function thrown(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('how durable what is acknowledged is', () => {
  test.each([
    ['synced', { sync_always: true, sync_interval: 120_000_000_000 }, 0],
    ['unsynced', { sync_interval: 120_000_000_000 }, 120_000],
    ['unsynced', { sync_interval: 1_000_000 }, 1],
    ['unsynced', {}, 120_000],
  ] as const)('%s: %j', async (grade, config, milliseconds) => {
    const address = await monitoring(config);
    const report = await probeNats(fakeConnection(good), { monitoring: [address] });
    expect(report).toMatchObject({ acknowledges: grade, evidence: 'monitoring', serverVersion: '2.10.27' });
    expect(report.syncMilliseconds).toEqual({ [address]: milliseconds });
  });

  test('without evidence nothing is claimed, whatever the version', async () => {
    expect(await probeNats(fakeConnection(good))).toMatchObject({
      acknowledges: 'unsynced',
      evidence: 'none',
    });
    expect(await probeNats(fakeConnection(good), { replicas: 3 })).toMatchObject({
      acknowledges: 'replicated',
    });
  });

  test('one server of several that does not sync, or that was not asked, spoils it', async () => {
    const [always, lazy] = [await monitoring({ sync_always: true }), await monitoring({})];
    const grade = async (addresses: readonly string[], replicas: number) =>
      (await probeNats(fakeConnection(good), { monitoring: addresses, replicas })).acknowledges;
    expect(await grade([always, lazy], 1)).toBe('unsynced');
    expect(await grade([always, lazy, always], 3)).toBe('replicated');
    expect(await grade([always], 3)).toBe('replicated');
  });

  test('a monitoring address that cannot be asked is an error, not a guess', async () => {
    const found = await thrown(
      probeNats(fakeConnection(good), { monitoring: ['http://user:hunter2@127.0.0.1:1'] }),
    );
    expect(NatsRequestError.is(found)).toBe(true);
    expect(inspect(found, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain('hunter2');
  });

  test('one server that is named three times is one', async () => {
    const always = await monitoring({ sync_always: true });
    const report = await probeNats(fakeConnection(good), {
      monitoring: [always, always, always],
      replicas: 3,
    });
    expect(report.acknowledges).toBe('replicated');
  });

  test('opening asks for synced unless something weaker is accepted', async () => {
    const found = await thrown(openNats(fakeConnection(good)));
    expect(NatsUnsuitableError.is(found)).toBe(true);
    expect(found).toMatchObject({ kind: 'not-durable', effect: 'none' });
    const weak = await thrown(openNats(fakeConnection(good), { acknowledge: 'replicated' }));
    expect(weak).toMatchObject({ kind: 'not-durable' });
  });
});

describe('servers that are refused', () => {
  test.each([
    ['server-too-old', { ...good, version: '2.8.4' }],
    ['server-too-old', { ...good, version: '1.9.0' }],
    ['server-too-old', { ...good, version: 'what' }],
    ['no-jetstream', { ...good, jetstream: false }],
    ['no-jetstream', { ...good, jetstream: undefined }],
  ])('%s: %j', async (kind, info) => {
    expect(await thrown(probeNats(fakeConnection(info)))).toMatchObject({ code: 'NATS_UNSUITABLE', kind });
  });

  test('an account without JetStream', async () => {
    const answer = () => ({ error: { code: 503, err_code: 10_039, description: 'not enabled for account' } });
    expect(await thrown(probeNats(fakeConnection(good, answer)))).toMatchObject({ kind: 'no-jetstream' });
  });

  test('one that does not answer is no verdict', async () => {
    const answer = async (): Promise<never> => await Promise.reject(new Error('timeout'));
    const found = await thrown(probeNats(fakeConnection(good, answer)));
    expect(NatsRequestError.is(found)).toBe(true);
    expect(found).toMatchObject({ definite: false, retryable: true });
  });
});

describe('arguments', () => {
  test.each(['', 'a.b', 'a b', 'a*', '>', 'a'.repeat(49)])('prefix %j is refused', async (prefix) => {
    expect(await thrown(openNats(fakeConnection(good), { prefix }))).toBeInstanceOf(TypeError);
  });

  test.each(['requestMilliseconds', 'ttlMilliseconds', 'pollMilliseconds', 'replicas'])(
    '%s must be one',
    async (option) => {
      for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(await thrown(openNats(fakeConnection(good), { [option]: value }))).toBeInstanceOf(RangeError);
      }
    },
  );
});

test.each([
  new Error('cannot reach nats://hunter2@host'),
  new Error('not reached', {
    cause: new Error('dial nats://me:my hunter2@host', { cause: 'password: hunter2' }),
  }),
  new AggregateError([new Error('nats://a:b@h1,nats://me:hunter2@h2'), new Error('jwt=hunter2')]),
  Object.assign(new Error('authorization: Bearer hunter2'), { code: 10_039, status: 503 }),
])('credentials are masked in %s and in what caused it', async (client) => {
  const found = await thrown(probeNats(fakeConnection(good, async () => await Promise.reject(client))));
  const text = inspect(found, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(found);
  expect(text).not.toContain('hunter2');
});

test("credentials of a connection that cannot be made are its caller's, and of ours there are none", async () => {
  const found = await thrown(
    connect({ servers: 'nats://127.0.0.1:1', user: 'me', pass: 'hunter2', timeout: 200 }),
  );
  expect(found).toBeDefined();
  const message = 'cannot reach nats://me:hunter2@host:4222 (token=hunter2, seed: "hunter2")';
  const failing = fakeConnection(
    good,
    async () => await Promise.reject(Object.assign(new Error(message), { options: { pass: 'hunter2' } })),
  );
  const error = await thrown(probeNats(failing));
  expect(NatsRequestError.is(error)).toBe(true);
  const text = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(error);
  expect(text).toContain('cannot reach');
  expect(text).not.toContain('hunter2');
});
