// The contract suite under `node --test`, on the built package, against the real server: npm run test:services.
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { encryptionLayer, layerBlobs } from '@holdfast/blobs/layers';
import { secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { openS3Blobs } from '@holdfast/s3';

import { serviceVariable } from '../../../../tools/services/control.mjs';

const bucket = `holdfast-${randomBytes(6).toString('hex')}`;
const client = {
  endpoint: serviceVariable('HOLDFAST_S3_ENDPOINT'),
  region: serviceVariable('HOLDFAST_S3_REGION'),
  forcePathStyle: true,
  credentials: {
    accessKeyId: serviceVariable('HOLDFAST_S3_ACCESS_KEY_ID'),
    secretAccessKey: serviceVariable('HOLDFAST_S3_SECRET_ACCESS_KEY'),
  },
};
before(async () => {
  const admin = new S3Client(client);
  await admin.send(new CreateBucketCommand({ Bucket: bucket }));
  admin.destroy();
});

let count = 0;
function harnessOf(adapter, through) {
  const prefixes = new WeakMap();
  const open = async (prefix) => {
    const store = through(await openS3Blobs({ bucket, client, prefix, probe: false }));
    prefixes.set(store, prefix);
    return store;
  };
  return {
    adapter,
    limits: { manyKeys: 100 },
    fresh: async () => await open(`store-${(count += 1)}`),
    reopen: async (store) => await open(prefixes.get(store)),
  };
}

const keys = { one: new Uint8Array(32).fill(1) };
const raw = harnessOf('s3, real server', (store) => store);
testBlobs({ describe, it }, raw);
testBlobs({ describe, it }, secondViewHarness(raw));
testBlobs(
  { describe, it },
  harnessOf('s3, real server, encrypted', (store) =>
    layerBlobs(store, [encryptionLayer({ keys, active: 'one' })]),
  ),
);
