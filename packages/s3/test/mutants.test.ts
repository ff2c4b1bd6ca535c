import { blobsContract } from '@holdfast/blobs/testing';
import { openS3Blobs, S3BucketUnsuitableError } from '@holdfast/s3';
import { S3Double } from '@holdfast/s3/testing';
import { describe, expect, test } from 'vitest';

import { doubleHarness } from './support/double-harness.js';
import { liesOf } from './support/honesty.js';
import { clausesOf, mutants, openMutant } from './support/mutants.js';

/** Those of the clauses that a driver breaks. */
async function broken(open: typeof openS3Blobs, clauses: readonly string[]): Promise<string[]> {
  await using double = await S3Double.start({ pageSize: 70 });
  const harness = { ...doubleHarness(() => double, {}, open), limits: { manyKeys: 100 } };
  const found: string[] = [];
  for (const one of blobsContract.cases.filter(({ clause }) => clauses.includes(clause)))
    await one.run(harness).catch(() => found.push(one.clause));
  return found;
}

async function isRefused(open: typeof openS3Blobs): Promise<boolean> {
  await using double = await S3Double.start();
  const opening = open({ bucket: double.bucket, client: double.client });
  return S3BucketUnsuitableError.is(await opening.catch((error: unknown) => error));
}

describe('a driver with a mistake in it is noticed', () => {
  test('one without is not', async () => {
    expect(await liesOf(openS3Blobs)).toEqual([]);
    using copy = await openMutant(undefined);
    expect(await liesOf(copy.openS3Blobs)).toEqual([]);
    expect(await broken(copy.openS3Blobs, clausesOf(mutants))).toEqual([]);
    expect(await isRefused(copy.openS3Blobs)).toBe(false);
  });

  test.each(mutants)('by $seenBy: $mistake', async (mutant) => {
    using wrong = await openMutant(mutant);
    const { seenBy } = mutant;
    if (seenBy === 'probe') expect(await isRefused(wrong.openS3Blobs)).toBe(true);
    else if (seenBy === 'honesty') expect(await liesOf(wrong.openS3Blobs)).not.toEqual([]);
    else expect(await broken(wrong.openS3Blobs, [seenBy])).toEqual([seenBy]);
  });
});
