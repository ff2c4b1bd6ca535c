import { memoryBlobs } from '@holdfast/blobs';
import { cacheLayer, encryptionLayer, layerBlobs, metricsLayer, retryLayer } from '@holdfast/blobs/layers';
import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { beforeAll, describe, it } from 'vitest';

import { bucketHarness, makeBucket } from './bucket.js';

let bucket = '';
beforeAll(async () => {
  bucket = await makeBucket();
});

const raw = bucketHarness(() => bucket);
const layered = bucketHarness(
  () => bucket,
  {},
  (store) =>
    layerBlobs(store, [
      retryLayer({ immutable: () => true }),
      cacheLayer({ cache: memoryBlobs(), maxBytes: 400_000, immutable: () => true, segmentBytes: 10_000 }),
      metricsLayer(() => undefined),
    ]),
);

const encrypted = bucketHarness(
  () => bucket,
  {},
  (store) =>
    layerBlobs(store, [
      retryLayer(),
      encryptionLayer({
        keys: { one: new Uint8Array(32).fill(1) },
        active: 'one',
        nameKey: new Uint8Array(32).fill(2),
        listWindow: 50,
      }),
    ]),
);

testBlobs({ describe, it }, raw);
testBlobs({ describe, it }, prefixedHarness(raw));
testBlobs({ describe, it }, secondViewHarness(raw));
testBlobs(
  { describe, it },
  { ...layered, adapter: 's3, real server, through retries, a cache and metrics', corrupt: undefined },
);
testBlobs({ describe, it }, { ...encrypted, adapter: 's3, real server, encrypted, with hidden digests' });
