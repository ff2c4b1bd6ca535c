import { findCause } from '@holdfast/base';
import {
  BlobConflictError,
  type Blobs,
  BlobsAmbiguousError,
  BlobsBackendError,
  type PutResult,
} from '@holdfast/blobs';
import { layerBlobs, retryLayer } from '@holdfast/blobs/layers';
import { openS3Blobs, type S3BlobsOptions, S3RequestError } from '@holdfast/s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { controlService, serviceVariable } from '../../../../tools/services/control.mjs';
import { openTcpProxy, type TcpProxy } from '../../../../tools/services/tcp-proxy.mjs';
import { clientConfig, makeBucket } from './bucket.js';

const mebibyte = 1024 * 1024;
let bucket = '';
let proxy: TcpProxy;
const opened: Blobs[] = [];

beforeAll(async () => {
  bucket = await makeBucket();
  proxy = await openTcpProxy(Number(new URL(serviceVariable('HOLDFAST_S3_ENDPOINT')).port));
});
afterEach(async () => {
  for (const blobs of opened.splice(0)) await blobs.close();
  proxy.slow(Infinity);
  proxy.silence(false);
  proxy.refuse(false);
});
afterAll(async () => {
  await proxy.close();
});

let stores = 0;
/** A store of its own that reaches the server through the proxy. */
async function open(options: Partial<S3BlobsOptions> = {}): Promise<Blobs> {
  stores += 1;
  const client = clientConfig(`http://127.0.0.1:${proxy.port}`);
  const blobs = await openS3Blobs({ bucket, client, prefix: `failures-${stores}`, probe: false, ...options });
  opened.push(blobs);
  return blobs;
}

/** The same store, straight to the server. */
async function openDirect(): Promise<Blobs> {
  const blobs = await openS3Blobs({
    bucket,
    client: clientConfig(),
    prefix: `failures-${stores}`,
    probe: false,
  });
  opened.push(blobs);
  return blobs;
}

function bytesOf(index: number, size = 2000): Uint8Array {
  return new Uint8Array(size).fill(index % 251);
}

async function outcomeOf(promise: Promise<PutResult>): Promise<PutResult | Error> {
  return await promise.catch((error: unknown) => error as Error);
}

/** A put that failed says truly whether the object is there; a repeat settles it. */
async function expectHonest(
  blobs: Blobs,
  key: string,
  content: Uint8Array,
  outcome: PutResult | Error,
): Promise<void> {
  const direct = await openDirect();
  const stored = await direct.stat(key);
  if (outcome instanceof Error) {
    expect([outcome.name, BlobsAmbiguousError.is(outcome) || BlobsBackendError.is(outcome)]).toEqual([
      outcome.name,
      true,
    ]);
    if (BlobsBackendError.is(outcome)) expect([key, stored]).toEqual([key, undefined]);
  } else {
    expect(stored?.size).toBe(content.length);
  }
  await blobs.put(key, content);
  expect(Buffer.from(await direct.getBytes(key)).equals(content)).toBe(true);
}

describe('the probe', () => {
  test('accepts the server', async () => {
    const requests: string[] = [];
    await open({ probe: true, onRequest: ({ operation }) => requests.push(operation) });
    expect(requests.length).toBeLessThanOrEqual(10);
  });

  test('says of a missing bucket, and of wrong credentials, what they are', async () => {
    const nowhere = openS3Blobs({ bucket: 'holdfast-nowhere', client: clientConfig() });
    expect(findCause(await nowhere.catch((error: unknown) => error), S3RequestError)).toMatchObject({
      reason: 'NoSuchBucket',
      status: 404,
    });
    const credentials = { accessKeyId: 'nobody', secretAccessKey: 'nothing' };
    const stranger = openS3Blobs({ bucket, client: { ...clientConfig(), credentials } });
    expect(findCause(await stranger.catch((error: unknown) => error), S3RequestError)).toMatchObject({
      status: 403,
    });
  });
});

describe('racing writers', () => {
  test('of one key have one winner each time, 16 at once, 25 rounds', async () => {
    const views = await Promise.all(Array.from({ length: 4 }, async () => await openDirect()));
    for (let round = 0; round < 25; round += 1) {
      const key = `race/${round}`;
      const outcomes = await Promise.all(
        Array.from(
          { length: 16 },
          async (_, writer) => await outcomeOf((views[writer % 4] as Blobs).put(key, bytesOf(writer))),
        ),
      );
      const winners = outcomes.flatMap((outcome, writer) => (outcome instanceof Error ? [] : [writer]));
      expect([round, winners.length]).toEqual([round, 1]);
      expect(
        outcomes.filter((outcome) => outcome instanceof Error && !BlobConflictError.is(outcome)),
      ).toEqual([]);
      const stored = await (views[0] as Blobs).getBytes(key);
      expect(Buffer.from(stored).equals(bytesOf(winners[0] as number))).toBe(true);
    }
  });

  test('of one content all succeed, one of them having created it', async () => {
    const views = await Promise.all(Array.from({ length: 4 }, async () => await openDirect()));
    const results = await Promise.all(
      Array.from(
        { length: 16 },
        async (_, writer) => await (views[writer % 4] as Blobs).put('same', bytesOf(1)),
      ),
    );
    expect(results.filter(({ created }) => created).length).toBe(1);
  });
});

describe('connections that break', () => {
  test.each([1, 600, 900, 1500, 2500])(
    'after %i bytes of a small put leave an honest error',
    async (bytes) => {
      const blobs = await open();
      proxy.cutRequestsAfter(bytes);
      const outcome = await outcomeOf(blobs.put('a', bytesOf(3)));
      await expectHonest(blobs, 'a', bytesOf(3), outcome);
    },
  );

  test('before the answer of a put leave a doubt, and the object is there', async () => {
    const blobs = await open();
    proxy.cutResponsesAfter(0);
    const outcome = await outcomeOf(blobs.put('a', bytesOf(3)));
    expect(BlobsAmbiguousError.is(outcome)).toBe(true);
    expect(await blobs.put('a', bytesOf(3))).toEqual({ created: false });
  });

  test('in the middle of a large put leave no doubt and nothing visible', async () => {
    const blobs = await open();
    // Larger than what the system's buffers take over before the cut is noticed.
    const content = bytesOf(5, 24 * mebibyte);
    proxy.cutRequestsAfter(2 * mebibyte);
    const outcome = await outcomeOf(blobs.put('a', content));
    expect(BlobsBackendError.is(outcome) && [outcome.retryable, outcome.effect]).toEqual([true, 'none']);
    expect(await blobs.stat('a')).toBeUndefined();
    expect(await blobs.put('a', content)).toEqual({ created: true });
  });

  test('in the middle of a read are worth a retry, and continue where they broke', async () => {
    const content = bytesOf(7, 3 * mebibyte);
    const blobs = await open();
    await blobs.put('a', content);
    proxy.cutResponsesAfter(mebibyte);
    await expect(blobs.getBytes('a')).rejects.toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
    proxy.cutResponsesAfter(mebibyte);
    const retrying = layerBlobs(blobs, [retryLayer({ immutable: () => true, firstDelayMilliseconds: 1 })], {
      keepOpen: true,
    });
    expect(Buffer.from(await retrying.getBytes('a')).equals(content)).toBe(true);
  });

  test('during a delete leave a doubt', async () => {
    const blobs = await open();
    await blobs.put('a', bytesOf(1));
    proxy.cutResponsesAfter(0);
    await expect(blobs.delete('a')).rejects.toMatchObject({ code: 'BLOBS_AMBIGUOUS' });
    await blobs.delete('a');
    expect(await blobs.stat('a')).toBeUndefined();
  });

  test('all the time end in an error that says so, never in absence', async () => {
    const blobs = await open();
    await blobs.put('a', bytesOf(1));
    proxy.refuse(true);
    const calls = [
      async () => await blobs.getBytes('a'),
      async () => await blobs.stat('a'),
      async () => await blobs.list('').next(),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
    }
    proxy.refuse(false);
    expect(await blobs.stat('a')).toMatchObject({ size: 2000 });
  });
});

describe('links that are slow or silent', () => {
  test('are waited for while something moves', async () => {
    const content = bytesOf(9, 300_000);
    const blobs = await open({ idleTimeoutMilliseconds: 1500 });
    proxy.slow(150_000);
    expect(await blobs.put('a', content)).toEqual({ created: true });
    const started = performance.now();
    expect(Buffer.from(await blobs.getBytes('a')).equals(content)).toBe(true);
    expect(performance.now() - started).toBeGreaterThan(1500);
  });

  test('that swallow answers end by the timeout, and a repeat settles it', async () => {
    const blobs = await open({ idleTimeoutMilliseconds: 500 });
    proxy.silence(true);
    const outcome = await outcomeOf(blobs.put('a', bytesOf(1)));
    expect(BlobsAmbiguousError.is(outcome) && outcome.retryable).toBe(true);
    expect(findCause(outcome, S3RequestError)?.kind).toBe('timeout');
    proxy.silence(false);
    proxy.cut();
    expect(await blobs.put('a', bytesOf(1))).toEqual({ created: false });
  });
});

describe('a server that is killed', () => {
  test('in the middle of puts keeps everything that was acknowledged, and takes up again without a person', async () => {
    const blobs = await open();
    const retrying = layerBlobs(
      blobs,
      [retryLayer({ attempts: 12, firstDelayMilliseconds: 50, maxDelayMilliseconds: 1000 })],
      {
        keepOpen: true,
      },
    );
    const raw: { key: string; content: Uint8Array; outcome: PutResult | Error }[] = [];
    const retried: string[] = [];
    let running = true;
    const writers = [
      ...[0, 1, 2].map(async (writer) => {
        for (let i = 0; running; i += 1) {
          const [key, content] = [`raw/${writer}/${i}`, bytesOf(i + writer)];
          raw.push({ key, content, outcome: await outcomeOf(blobs.put(key, content)) });
        }
      }),
      (async () => {
        for (let i = 0; running; i += 1) {
          await retrying.put(`retried/${i}`, bytesOf(i));
          retried.push(`retried/${i}`);
        }
      })(),
    ];
    const until = async (reached: () => boolean) => {
      while (!reached()) await new Promise((resolve) => setImmediate(resolve));
    };
    for (let round = 1; round <= 3; round += 1) {
      await until(() => raw.filter(({ outcome }) => !(outcome instanceof Error)).length > round * 20);
      await controlService('s3', 'kill');
      await until(() => raw.at(-1)?.outcome instanceof Error);
      await controlService('s3', 'restart');
    }
    await until(() => raw.slice(-3).every(({ outcome }) => !(outcome instanceof Error)));
    running = false;
    await Promise.all(writers);

    const direct = await openDirect();
    const there = new Set<string>();
    for await (const { key } of direct.list()) there.add(key);
    expect(retried.filter((key) => !there.has(key))).toEqual([]);
    const acknowledged = raw.filter(({ outcome }) => !(outcome instanceof Error));
    expect(acknowledged.length).toBeGreaterThan(60);
    expect(acknowledged.filter(({ key }) => !there.has(key))).toEqual([]);
    const failed = raw.filter(({ outcome }) => outcome instanceof Error);
    expect(failed.length).toBeGreaterThan(0);
    const definite = failed.filter(({ outcome }) => BlobsBackendError.is(outcome));
    expect(definite.filter(({ key }) => there.has(key))).toEqual([]);
    expect(
      failed.filter(({ outcome }) => !BlobsBackendError.is(outcome) && !BlobsAmbiguousError.is(outcome)),
    ).toEqual([]);
    for (const { key, content } of raw.slice(0, 200)) {
      if (there.has(key)) expect(Buffer.from(await direct.getBytes(key)).equals(content)).toBe(true);
    }
  });
});
