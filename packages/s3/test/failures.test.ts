import { inspect } from 'node:util';

import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { BlobIntegrityError, type Blobs, BlobsAmbiguousError, BlobsBackendError } from '@holdfast/blobs';
import { failing } from '@holdfast/blobs/testing';
import {
  isS3Error,
  openS3Blobs,
  type S3BlobsOptions,
  S3BucketUnsuitableError,
  S3RequestError,
  type S3RequestEvent,
} from '@holdfast/s3';
import { S3Double, type S3DoubleRequest, type S3Fault } from '@holdfast/s3/testing';
import { describe, expect, test } from 'vitest';

import { instantClock } from './support/instant-clock.js';

const kib = 1024;
const small = new Uint8Array(64 * kib).fill(7);
const large = new Uint8Array(3 * kib * kib).fill(9);

/** Opens a double whose requests fail as `fault` says once it is set. */
async function open(options: Partial<S3BlobsOptions> = {}) {
  const state: { fault: ((request: S3DoubleRequest) => S3Fault | undefined) | undefined } = {
    fault: undefined,
  };
  const double = await S3Double.start({ fault: (request) => state.fault?.(request) });
  const blobs = await openS3Blobs({ bucket: double.bucket, client: double.client, probe: false, ...options });
  return {
    double,
    blobs,
    /** The next request of this method fails. */
    next: (method: string, fault: S3Fault) => {
      state.fault = (request) => {
        if (request.method !== method) return undefined;
        state.fault = undefined;
        return fault;
      };
    },
    [Symbol.asyncDispose]: async () => {
      await blobs.close();
      await double[Symbol.asyncDispose]();
    },
  };
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

const refuse = (status: number, code: string): S3Fault => ({ kind: 'refuse', status, code });

describe('a put', () => {
  test.each([
    ['refused with 403', refuse(403, 'AccessDenied'), false, false],
    ['throttled', refuse(503, 'SlowDown'), false, true],
    ['refused for too many requests', refuse(429, 'TooManyRequests'), false, true],
    ['answered by an overloaded gateway', refuse(502, 'BadGateway'), true, true],
    ['answered with an internal error', refuse(500, 'InternalError'), true, true],
    ['reset before the service saw it', { kind: 'reset' }, true, true],
    ['whose answer was lost', { kind: 'lose-answer' }, true, true],
  ] as const)('%s says what is known', async (_what, fault, ambiguous, retryable) => {
    await using opened = await open();
    opened.next('PUT', fault);
    const failure = await failureOf(opened.blobs.put('a', small));
    expect(ambiguous ? BlobsAmbiguousError.is(failure) : BlobsBackendError.is(failure)).toBe(true);
    expect((failure as BlobsBackendError).retryable).toBe(retryable);
    expect((failure as BlobsBackendError).effect).toBe(ambiguous ? 'unknown' : 'none');
    expect(isS3Error((failure as Error).cause)).toBe(true);
    // Repeating settles it, whatever happened.
    const { created } = await opened.blobs.put('a', small);
    expect(created).toBe(fault.kind !== 'lose-answer');
  });

  test('that meets another write of its key is repeated', async () => {
    await using opened = await open();
    opened.next('PUT', refuse(409, 'ConditionalRequestConflict'));
    expect(await opened.blobs.put('a', small)).toEqual({ created: true });
    expect(opened.double.requests.map(({ method }) => method)).toEqual(['PUT', 'PUT']);
  });

  test('that meets other writes again and again gives up, and nothing was stored', async () => {
    await using double = await S3Double.start({ fault: () => refuse(409, 'ConditionalRequestConflict') });
    await using blobs = await openS3Blobs({
      bucket: 'bucket',
      client: double.client,
      probe: false,
      clock: instantClock(),
    });
    const failure = await failureOf(blobs.put('a', small));
    expect(BlobsBackendError.is(failure) && [failure.retryable, failure.effect]).toEqual([true, 'none']);
    expect(double.requests.length).toBe(12);
  });

  test('under a key that is taken and not to be found, again and again, gives up', async () => {
    await using double = await S3Double.start({
      fault: ({ method }) => (method === 'PUT' ? refuse(412, 'PreconditionFailed') : undefined),
    });
    await using blobs = await openS3Blobs({
      bucket: 'bucket',
      client: double.client,
      probe: false,
      clock: instantClock(),
    });
    const failure = await failureOf(blobs.put('a', small));
    expect(findCause(failure, S3BucketUnsuitableError)?.kind).toBe('stale-reads');
    expect(BlobsBackendError.is(failure) && [failure.retryable, failure.effect]).toEqual([false, 'none']);
  });

  test('to nobody is definite and worth a retry', async () => {
    const double = await S3Double.start();
    await using blobs = await openS3Blobs({ bucket: 'bucket', client: double.client, probe: false });
    await double[Symbol.asyncDispose]();
    const failure = await failureOf(blobs.put('a', small));
    expect(BlobsBackendError.is(failure) && failure.retryable).toBe(true);
    expect(findCause(failure, S3RequestError)).toMatchObject({ kind: 'unreachable', reason: 'ECONNREFUSED' });
  });

  test('without credentials is never sent', async () => {
    await using double = await S3Double.start();
    const credentials = async () => await Promise.reject(new Error('no credentials: secret-of-the-vault'));
    await using blobs = await openS3Blobs({
      bucket: 'bucket',
      client: { ...double.client, credentials },
      probe: false,
    });
    const failure = await failureOf(blobs.put('a', small));
    expect(BlobsBackendError.is(failure) && failure.retryable).toBe(false);
    expect(findCause(failure, S3RequestError)).toMatchObject({ kind: 'unsent' });
    expect(inspect(failure, { depth: Infinity, showHidden: true })).not.toContain('secret-of-the-vault');
    expect(double.requests).toEqual([]);
  });

  test('of a large object that is cut in its middle leaves no doubt', async () => {
    await using opened = await open();
    opened.next('PUT', { kind: 'reset' });
    const failure = await failureOf(opened.blobs.put('a', large));
    expect(BlobsBackendError.is(failure) && [failure.retryable, failure.effect]).toEqual([true, 'none']);
    expect(opened.double.names()).toEqual([]);
  });

  test('of a large object whose source changes between its two readings fails, and nothing is stored', async () => {
    await using opened = await open();
    let reads = 0;
    const source = {
      size: large.length,
      open: async function* () {
        reads += 1;
        yield new Uint8Array(large.length).fill(reads);
        await Promise.resolve();
      },
    };
    await expect(opened.blobs.put('a', source)).rejects.toMatchObject({
      code: 'BLOBS_SOURCE',
      kind: 'failed',
    });
    expect(reads).toBe(2);
    expect(opened.double.names()).toEqual([]);
  });

  test('of a large object whose source fails while it is sent passes that failure on', async () => {
    await using opened = await open();
    let reads = 0;
    const source = {
      size: large.length,
      open: () => {
        reads += 1;
        return reads === 1 ? chunksOf(large) : failing(large, new Error('the disk is gone')).open();
      },
    };
    await expect(opened.blobs.put('a', source)).rejects.toMatchObject({
      code: 'BLOBS_SOURCE',
      kind: 'failed',
    });
    expect(opened.double.names()).toEqual([]);
  });

  test('under a key whose object somebody else put compares the contents', async () => {
    await using opened = await open();
    opened.double.plant('a', small);
    expect(await opened.blobs.put('a', small)).toEqual({ created: false });
    opened.double.plant('a', new Uint8Array(small.length));
    await expect(opened.blobs.put('a', small)).rejects.toMatchObject({ code: 'BLOBS_CONFLICT' });
  });
});

describe('a request that nobody answers', () => {
  test.each([
    ['put', 'PUT', async (blobs: Blobs) => await blobs.put('b', small), 'BLOBS_AMBIGUOUS'],
    ['delete', 'DELETE', async (blobs: Blobs) => await blobs.delete('a'), 'BLOBS_AMBIGUOUS'],
    ['get', 'GET', async (blobs: Blobs) => await blobs.getBytes('a'), 'BLOBS_BACKEND'],
    ['stat', 'GET', async (blobs: Blobs) => await blobs.stat('a'), 'BLOBS_BACKEND'],
  ] as const)('ends a %s by its timeout', async (_what, method, call, code) => {
    const clock = new ManualClock();
    let arrived = (): void => undefined;
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await using opened = await open({ clock, idleTimeoutMilliseconds: 5000 });
    opened.double.plant('a', small);
    opened.next(method, { kind: 'hang' });
    const failed = failureOf(call(opened.blobs));
    const poll = setInterval(() => opened.double.requests.length > 0 && arrived(), 1);
    await arrival;
    clearInterval(poll);
    await clock.advance(5000 + small.length / 50 + 1);
    const failure = await failed;
    expect(failure).toMatchObject({ code, retryable: true });
    expect(findCause(failure, S3RequestError)).toMatchObject({ kind: 'timeout' });
  });
});

describe('an answer that stops in its middle', () => {
  /** Lets the time pass until the call has ended. */
  async function passing(clock: ManualClock, call: Promise<unknown>): Promise<unknown> {
    let ended = false;
    const outcome = failureOf(call.finally(() => (ended = true)));
    while (!ended) {
      await clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return await outcome;
  }

  test('ends a read by its timeout', async () => {
    const clock = new ManualClock();
    await using opened = await open({ clock });
    opened.double.plant('a', small);
    opened.next('GET', { kind: 'stall-answer' });
    const failure = await passing(clock, opened.blobs.getBytes('a'));
    expect(failure).toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
    expect(findCause(failure, S3RequestError)?.kind).toBe('timeout');
  });

  test('does not hold up a stat, which has what it needs', async () => {
    const clock = new ManualClock();
    await using opened = await open({ clock });
    opened.double.plant('a', small);
    opened.next('GET', { kind: 'stall-answer' });
    const stat = opened.blobs.stat('a');
    expect(await passing(clock, stat)).toBeUndefined();
    expect(await stat).toMatchObject({ size: small.length });
  });
});

describe('a read', () => {
  test('of a damaged object is an error before its last chunk', async () => {
    await using opened = await open();
    await opened.blobs.put('a', small);
    opened.next('GET', { kind: 'flip' });
    const reader = await opened.blobs.get('a');
    let received = 0;
    const failure = await failureOf(
      (async () => {
        for await (const chunk of reader) received += chunk.length;
      })(),
    );
    expect(BlobIntegrityError.is(failure) && failure.kind).toBe('changed');
    expect(received).toBeLessThan(small.length);
  });

  test('that is cut is worth a retry', async () => {
    await using opened = await open();
    await opened.blobs.put('a', large);
    opened.next('GET', { kind: 'cut-answer' });
    const failure = await failureOf(opened.blobs.getBytes('a'));
    expect(failure).toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
  });

  test.each(['get', 'stat'] as const)(
    '%s takes a missing bucket, and a page, for failures, not for absence',
    async (call) => {
      await using opened = await open();
      await using elsewhere = await openS3Blobs({
        bucket: 'elsewhere',
        client: opened.double.client,
        probe: false,
      });
      const failure = await failureOf(elsewhere[call]('a'));
      expect(failure).toMatchObject({ code: 'BLOBS_BACKEND', retryable: false });
      expect(findCause(failure, S3RequestError)).toMatchObject({ status: 404, reason: 'NoSuchBucket' });
      opened.next('GET', { kind: 'page' });
      await expect(opened.blobs[call]('a')).rejects.toMatchObject({ code: 'BLOBS_BACKEND' });
      expect(await opened.blobs.stat('a')).toBeUndefined();
    },
  );
});

describe('secrets', () => {
  const secrets = [
    'AKIASECRETACCESSKEY',
    'top-secret-access-key',
    'session-token-of-mine',
    'customer-key-of-32-bytes-exactly',
  ];
  const echoes = `<AWSAccessKeyId>${secrets[0]}</AWSAccessKeyId><StringToSign>${secrets[1]}</StringToSign><CanonicalRequest>${secrets[2]}</CanonicalRequest>`;
  const faults: readonly S3Fault[] = [
    { kind: 'refuse', status: 403, code: 'SignatureDoesNotMatch', more: echoes },
    { kind: 'refuse', status: 500, code: `${secrets[1]} in a code`, more: echoes },
    { kind: 'refuse', status: 400, code: 'InvalidRequest', more: echoes },
    { kind: 'page' },
    { kind: 'reset' },
    { kind: 'lose-answer' },
    { kind: 'cut-answer' },
  ];

  test('are in no error, event or log', async () => {
    const written: string[] = [];
    const streams = [process.stdout, process.stderr];
    const writers = streams.map((stream) => stream.write.bind(stream));
    for (const stream of streams)
      stream.write = ((text: string) => written.push(String(text)) > 0) as typeof stream.write;
    const events: S3RequestEvent[] = [];
    const failures: unknown[] = [];
    try {
      for (const fault of faults) {
        await using double = await S3Double.start({ fault: () => fault });
        const credentials = {
          accessKeyId: secrets[0] as string,
          secretAccessKey: secrets[1] as string,
          sessionToken: secrets[2] as string,
        };
        const options: S3BlobsOptions = {
          bucket: 'bucket',
          client: { ...double.client, credentials },
          serverSideEncryption: { keys: 'customer', key: Buffer.from(secrets[3] as string) },
          onRequest: (event) => events.push(event),
        };
        failures.push(await failureOf(openS3Blobs(options)));
        await using blobs = await openS3Blobs({ ...options, probe: false });
        const calls = [
          blobs.put('a', small),
          blobs.put('b', large),
          blobs.getBytes('a'),
          blobs.getBytes('a', { range: { start: 1, end: 3 } }),
          blobs.stat('a'),
          blobs.list('a').next(),
          blobs.delete('a'),
        ];
        failures.push(...(await Promise.all(calls.map(failureOf))));
      }
    } finally {
      for (const [index, stream] of streams.entries()) stream.write = writers[index] as typeof stream.write;
    }
    expect(failures.filter((failure) => failure !== undefined).length).toBeGreaterThan(40);
    expect(events.length).toBeGreaterThan(40);
    const shown = [
      ...failures.flatMap((failure) => [
        inspect(failure, { depth: Infinity, showHidden: true }),
        JSON.stringify(failure),
        (failure as Error | undefined)?.stack ?? '',
      ]),
      inspect(events, { depth: Infinity }),
      written.join(''),
    ].join('\n');
    for (const secret of secrets) {
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain(Buffer.from(secret).toString('base64'));
    }
    expect(shown).not.toMatch(/x-amz-signature|Signature=/i);
  });
});

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += 64 * kib) yield bytes.subarray(start, start + 64 * kib);
}
