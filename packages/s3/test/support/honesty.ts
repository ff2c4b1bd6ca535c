import { BlobIntegrityError, type Blobs, BlobsAmbiguousError, BlobsBackendError } from '@holdfast/blobs';
import type { openS3Blobs } from '@holdfast/s3';
import { S3Double, type S3DoubleRequest, type S3Fault } from '@holdfast/s3/testing';

const content = new Uint8Array(64 * 1024).fill(7);

const faults: readonly (readonly [what: string, fault: S3Fault])[] = [
  ['refused', { kind: 'refuse', status: 403, code: 'AccessDenied' }],
  ['throttled', { kind: 'refuse', status: 503, code: 'SlowDown' }],
  ['answered with an internal error', { kind: 'refuse', status: 500, code: 'InternalError' }],
  ['answered by the page of a proxy', { kind: 'page' }],
  ['reset before it is done', { kind: 'reset' }],
  ['done, and its answer lost', { kind: 'lose-answer' }],
  ['done, and answered by a gateway with 502', { kind: 'replace-answer', status: 502, code: 'BadGateway' }],
  ['answered by half', { kind: 'cut-answer' }],
];

/**
 * What a driver says that is not so while single requests fail: a success that is none, a definite failure of what was
 * done, absence of what is there, a request that was sent again.
 */
export async function liesOf(open: typeof openS3Blobs): Promise<string[]> {
  const lies: string[] = [];
  for (const [what, fault] of faults) {
    let armed: string | undefined;
    const sent: string[] = [];
    await using double = await S3Double.start({
      fault: ({ method }: S3DoubleRequest) => {
        sent.push(method);
        if (method !== armed) return undefined;
        armed = undefined;
        return fault;
      },
    });
    await using blobs = await open({ bucket: double.bucket, client: double.client, probe: false });
    const there = (key: string): boolean => double.bytes(key) !== undefined;
    /** The outcome of one call whose first request of the method fails. */
    const during = async <T>(method: string, call: () => Promise<T>): Promise<T | Error> => {
      armed = method;
      sent.length = 0;
      const outcome = await call().catch((error: unknown) => error as Error);
      armed = undefined;
      const times = sent.filter((one) => one === method).length;
      if (times > 1) lies.push(`${method} ${what}: sent ${times} times`);
      return outcome;
    };

    for (const [call, method, key, changed] of [
      ['put', 'PUT', 'new', true],
      ['delete', 'DELETE', 'old', false],
    ] as const) {
      double.plant('old', content);
      const outcome = await during(method, async () => {
        if (call === 'put') await blobs.put(key, content);
        else await blobs.delete(key);
      });
      const done = there(key) === changed;
      if (!(outcome instanceof Error)) {
        if (!done) lies.push(`a ${call} ${what} is said to be done`);
      } else if (BlobsBackendError.is(outcome)) {
        if (done) lies.push(`a ${call} ${what} is said not to be done`);
      } else if (!BlobsAmbiguousError.is(outcome)) lies.push(`a ${call} ${what}: ${String(outcome)}`);
    }

    double.plant('old', content);
    const reads: Record<string, (from: Blobs) => Promise<unknown>> = {
      get: async (from) => Buffer.from(await from.getBytes('old')).equals(content),
      range: async (from) =>
        Buffer.from(await from.getBytes('old', { range: { start: 10, end: 40_000 } })).equals(
          content.subarray(10, 40_000),
        ),
      stat: async (from) => (await from.stat('old'))?.size === content.length,
      list: async (from) => {
        for await (const { key } of from.list('old')) if (key === 'old') return true;
        return false;
      },
    };
    for (const [call, read] of Object.entries(reads)) {
      const outcome = await during('GET', async () => await read(blobs));
      if (outcome === false) lies.push(`a ${call} ${what} gives something else`);
      if (!(outcome instanceof Error)) continue;
      const passing = ['throttled', 'reset before it is done', 'answered by half'].includes(what);
      if (!BlobsBackendError.is(outcome)) lies.push(`a ${call} ${what}: ${outcome.name}`);
      else if (passing && outcome.retryable !== true) lies.push(`a ${call} ${what} is said not to pass`);
    }
  }
  const enough = new AbortController();
  await using double = await S3Double.start({
    fault: ({ method, name }) => {
      // The whole request is under way.
      if (name === 'late') enough.abort();
      return method === 'GET' ? { kind: 'flip' } : undefined;
    },
  });
  await using blobs = await open({ bucket: double.bucket, client: double.client, probe: false });
  await blobs.put('flipped', content);
  const outcome = await blobs.getBytes('flipped').catch((error: unknown) => error);
  if (!BlobIntegrityError.is(outcome)) lies.push('an object with a flipped bit is said to be whole');
  const late = await blobs.put('late', content, { signal: enough.signal }).catch((error: unknown) => error);
  // What is not there yet may come: its whole request has been sent.
  if (late instanceof Error) lies.push('a put whose abort came too late is said to be aborted');
  return lies;
}
