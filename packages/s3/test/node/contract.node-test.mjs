// The contract suite under `node --test`, on the built package, over the double: npx tsc -b packages/s3, then this file.
import { after, before, describe, it } from 'node:test';

import { testBlobs } from '@holdfast/blobs/testing';
import { openS3Blobs } from '@holdfast/s3';
import { S3Double } from '@holdfast/s3/testing';

let double;
before(async () => {
  double = await S3Double.start({ pageSize: 70 });
});
after(async () => {
  await double[Symbol.asyncDispose]();
});

const prefixes = new WeakMap();
let count = 0;
async function open(prefix) {
  const { bucket, client } = double;
  const store = await openS3Blobs({ bucket, client, prefix, probe: false });
  prefixes.set(store, prefix);
  return store;
}
const harness = {
  adapter: 's3, over a double in memory',
  limits: { manyKeys: 100 },
  fresh: async () => await open(`store-${(count += 1)}`),
  reopen: async (store) => await open(prefixes.get(store)),
};

testBlobs({ describe, it }, harness);
