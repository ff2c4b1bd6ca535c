import { verifyBlobs } from '@holdfast/blobs/testing';
import { openS3Blobs, S3BucketUnsuitableError } from '@holdfast/s3';
import { S3Double, type S3Lie } from '@holdfast/s3/testing';
import { describe, expect, test } from 'vitest';

import { doubleHarness } from './support/double-harness.js';
import { instantClock } from './support/instant-clock.js';

const lies: readonly (readonly [S3Lie, S3BucketUnsuitableError['kind']])[] = [
  ['ignores-conditions', 'ignores-conditions'],
  ['checks-then-writes', 'ignores-conditions'],
  ['overwrites-when-refusing', 'ignores-conditions'],
  ['ignores-ranges', 'ignores-ranges'],
  ['short-ranges', 'ignores-ranges'],
  ['stale-reads', 'stale-reads'],
  ['stale-listing', 'stale-listing'],
  ['lists-deleted', 'stale-listing'],
  ['unsorted-listing', 'unsorted-listing'],
];

describe('the probe', () => {
  test.each(lies)('refuses a bucket that %s', async (lie, kind) => {
    await using double = await S3Double.start({ lies: [lie] });
    // Order shows only where there are two objects.
    if (lie === 'unsorted-listing')
      for (const name of ['a', 'b']) double.plant(`.holdfast-probe/${name}`, new Uint8Array(1));
    const { bucket, client } = double;
    const failure: unknown = await openS3Blobs({ bucket, client }).catch((error: unknown) => error);
    expect(S3BucketUnsuitableError.is(failure) && [failure.bucket, failure.kind]).toEqual(['bucket', kind]);
  });

  test('refuses a bucket that does not confirm encryption, and opens it without', async () => {
    await using double = await S3Double.start({ lies: ['ignores-encryption'] });
    const { bucket, client } = double;
    const opening = openS3Blobs({ bucket, client, serverSideEncryption: { keys: 'service' } });
    await expect(opening).rejects.toMatchObject({ code: 'S3_BUCKET_UNSUITABLE', kind: 'ignores-encryption' });
    await (await openS3Blobs({ bucket, client })).close();
  });

  test('leaves nothing in an honest bucket, and asks little of it', async () => {
    await using double = await S3Double.start();
    const { bucket, client } = double;
    await using blobs = await openS3Blobs({ bucket, client, prefix: 'one/two' });
    expect(double.names()).toEqual([]);
    expect(double.requests.length).toBeLessThanOrEqual(10);
    expect(blobs.supports).toEqual({ visibility: 'strong', durable: true });
  });

  test('removes what dead probes left a day ago, and nothing younger', async () => {
    await using double = await S3Double.start();
    const { bucket, client } = double;
    double.plant('.holdfast-probe/dead', new Uint8Array(1));
    await (await openS3Blobs({ bucket, client, clock: instantClock(23 * 3600e3) })).close();
    expect(double.names()).toEqual(['.holdfast-probe/dead']);
    await (await openS3Blobs({ bucket, client, clock: instantClock(25 * 3600e3) })).close();
    expect(double.names()).toEqual([]);
  });
});

describe('the contract suite', () => {
  const seen = lies.filter(([lie]) => !['checks-then-writes', 'short-ranges', 'lists-deleted'].includes(lie));
  test.each(seen)('fails over a bucket that %s', async (lie) => {
    await using double = await S3Double.start({ lies: [lie], pageSize: 70 });
    const report = await verifyBlobs({
      ...doubleHarness(() => double, { clock: instantClock() }),
      limits: { largeObjectBytes: 200_000, manyKeys: 100 },
    });
    expect(report.ok).toBe(false);
  });
});

describe('encryption at rest', () => {
  const header = 'x-amz-server-side-encryption';
  const key = new Uint8Array(32).fill(7);
  test.each([
    [{ keys: 'service' }, { [header]: 'AES256' }, {}],
    [{ keys: 'kms', keyId: 'mine' }, { [header]: 'aws:kms', [`${header}-aws-kms-key-id`]: 'mine' }, {}],
    [
      { keys: 'customer', key },
      { [`${header}-customer-key`]: Buffer.from(key).toString('base64') },
      { [`${header}-customer-key`]: Buffer.from(key).toString('base64') },
    ],
  ] as const)('%j is asked for in every request that needs it', async (mode, written, read) => {
    await using double = await S3Double.start();
    const { bucket, client } = double;
    await using blobs = await openS3Blobs({ bucket, client, serverSideEncryption: mode });
    await blobs.put('a', new Uint8Array(10));
    await blobs.getBytes('a');
    await blobs.stat('a');
    const puts = double.requests.filter(({ method }) => method === 'PUT');
    const gets = double.requests.filter(({ method, name }) => method === 'GET' && name !== '');
    expect([puts.length, gets.length].every((count) => count >= 2)).toBe(true);
    for (const { headers } of puts) expect(headers).toMatchObject(written);
    for (const { headers } of gets) {
      expect(headers).toMatchObject(read);
      // What is only asked of writes makes services refuse reads.
      expect(headers[header]).toBeUndefined();
    }
  });
});
