import type { Blobs } from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';
import { openS3Blobs, type S3BlobsOptions } from '@holdfast/s3';
import type { S3Double } from '@holdfast/s3/testing';

/** One double for all stores of a suite; each store has a prefix of its own. */
export function doubleHarness(
  double: () => S3Double,
  options: Partial<S3BlobsOptions> = {},
  openBlobs: typeof openS3Blobs = openS3Blobs,
): BlobsHarness {
  const prefixes = new WeakMap<Blobs, string>();
  let count = 0;
  const open = async (prefix: string): Promise<Blobs> => {
    const { bucket, client } = double();
    const store = await openBlobs({ bucket, client, prefix, probe: false, ...options });
    prefixes.set(store, prefix);
    return store;
  };
  return {
    adapter: 's3, over a double in memory',
    fresh: async () => {
      count += 1;
      return await open(`store-${count}`);
    },
    reopen: async (store) => await open(prefixes.get(store) as string),
    crash: async (store) => await open(prefixes.get(store) as string),
    corrupt: async (store, key) => {
      const name = `${prefixes.get(store) as string}/${key}`;
      const bytes = double().bytes(name) as Uint8Array;
      await Promise.resolve(double().plant(name, bytes.subarray(0, bytes.length / 2)));
    },
  };
}
