import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { findCause } from '@holdfast/base';
import { openS3Blobs, S3RequestError, type ServerSideEncryption } from '@holdfast/s3';
import { beforeAll, expect, test } from 'vitest';

import { serviceVariable } from '../../../../tools/services/control.mjs';
import { clientConfig, makeBucket } from './bucket.js';

let bucket = '';
beforeAll(async () => {
  bucket = await makeBucket();
});

const content = new Uint8Array(100_000).fill(5);
const customerKey = new Uint8Array(32).fill(9);

/** What the service says of an object to somebody who asks without keys. */
async function asked(key: string): Promise<unknown> {
  const client = new S3Client(clientConfig());
  try {
    const { ServerSideEncryption: by, SSEKMSKeyId: keyId } = await client.send(
      new GetObjectCommand({ Bucket: bucket, Key: key }),
    );
    return { by, keyId };
  } catch (error) {
    return (error as { name: string }).name;
  } finally {
    client.destroy();
  }
}

const modes: readonly (readonly [prefix: string, () => ServerSideEncryption, stored: () => unknown])[] = [
  [
    'kms',
    () => ({ keys: 'kms', keyId: serviceVariable('HOLDFAST_S3_KMS_KEY') }),
    () => ({ by: 'aws:kms', keyId: serviceVariable('HOLDFAST_S3_KMS_KEY') }),
  ],
  ['customer', () => ({ keys: 'customer', key: customerKey }), () => 'InvalidArgument'],
];

test.each(modes)('objects are encrypted by the server, %s', async (prefix, mode, stored) => {
  const options = { bucket, client: clientConfig(), prefix, serverSideEncryption: mode() };
  // The probe asks the server to confirm it.
  await using blobs = await openS3Blobs(options);
  expect(await blobs.put('a', content)).toEqual({ created: true });
  expect(await blobs.put('a', content)).toEqual({ created: false });
  expect(Buffer.from(await blobs.getBytes('a')).equals(content)).toBe(true);
  const part = await blobs.getBytes('a', { range: { start: 70_000, end: 70_003 } });
  expect(Buffer.from(part).equals(content.subarray(0, 3))).toBe(true);
  expect(await blobs.stat('a')).toMatchObject({ size: content.length });
  expect(await asked(`${prefix}/a`)).toEqual(stored());
});

test('what was put with a key of the customer is a failure without it, never absence', async () => {
  const client = clientConfig();
  const encrypted = { serverSideEncryption: { keys: 'customer', key: customerKey } } as const;
  await using mine = await openS3Blobs({ bucket, client, prefix: 'keyed', ...encrypted });
  await mine.put('a', content);
  await using other = await openS3Blobs({ bucket, client, prefix: 'keyed', probe: false });
  for (const call of [async () => await other.getBytes('a'), async () => await other.stat('a')]) {
    const failure = await call().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'BLOBS_BACKEND', retryable: false });
    expect(findCause(failure, S3RequestError)?.status).toBe(400);
  }
});

test('this server takes an object that it shall encrypt with its own keys, does not, and is refused', async () => {
  const opening = openS3Blobs({
    bucket,
    client: clientConfig(),
    prefix: 'service',
    serverSideEncryption: { keys: 'service' },
  });
  await expect(opening).rejects.toMatchObject({ code: 'S3_BUCKET_UNSUITABLE', kind: 'ignores-encryption' });
});
