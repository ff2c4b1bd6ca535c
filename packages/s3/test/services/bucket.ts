import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';

import { CreateBucketCommand, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { systemClock } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';
import { openS3Blobs, type S3BlobsOptions } from '@holdfast/s3';

import { serviceVariable } from '../../../../tools/services/control.mjs';

/** How a client reaches the server of the run, or a proxy before it. */
export function clientConfig(endpoint: string = serviceVariable('HOLDFAST_S3_ENDPOINT')): S3ClientConfig {
  return {
    endpoint,
    region: serviceVariable('HOLDFAST_S3_REGION'),
    forcePathStyle: true,
    credentials: {
      accessKeyId: serviceVariable('HOLDFAST_S3_ACCESS_KEY_ID'),
      secretAccessKey: serviceVariable('HOLDFAST_S3_SECRET_ACCESS_KEY'),
    },
  };
}

/** A new bucket of its own for a test file. */
export async function makeBucket(): Promise<string> {
  const bucket = `holdfast-${randomBytes(6).toString('hex')}`;
  const client = new S3Client(clientConfig());
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return bucket;
}

/** Stores of all harnesses of a file share its bucket. */
let count = 0;

/** A harness over the real server: one bucket, a prefix for each store, an agent for each view that counts connections. */
export function bucketHarness(
  bucket: () => string,
  options: Partial<S3BlobsOptions> = {},
  through: (store: Blobs) => Blobs = (store) => store,
): BlobsHarness {
  const views = new WeakMap<Blobs, { readonly prefix: string; readonly agent: Agent }>();
  const open = async (prefix: string): Promise<Blobs> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 50 });
    const client = { ...clientConfig(), requestHandler: { httpAgent: agent } };
    const store = through(await openS3Blobs({ bucket: bucket(), client, prefix, probe: false, ...options }));
    views.set(store, { prefix, agent });
    return store;
  };
  const view = (store: Blobs) => views.get(store) as { readonly prefix: string; readonly agent: Agent };
  return {
    adapter: 's3, real server',
    limits: { manyKeys: 120 },
    fresh: async () => {
      count += 1;
      return await open(`store-${process.pid}-${count}`);
    },
    reopen: async (store) => await open(view(store).prefix),
    // The server is another process: what it acknowledged does not depend on how this one ends.
    crash: async (store) => await open(view(store).prefix),
    corrupt: async (store, key) => {
      const client = new S3Client(clientConfig());
      const body = Buffer.from('damaged');
      await client.send(
        new PutObjectCommand({
          Bucket: bucket(),
          Key: `${view(store).prefix}/${key}`,
          Body: body,
          Metadata: { 'holdfast-sha256': '0'.repeat(64) },
        }),
      );
      client.destroy();
    },
    held: async (store) => {
      // A socket that was destroyed leaves the agent with the next turn of the event loop.
      await systemClock.sleep(1);
      return Object.values(view(store).agent.sockets).flat().length;
    },
  };
}
