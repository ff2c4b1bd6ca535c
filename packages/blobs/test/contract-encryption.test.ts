import { Blobs } from '@holdfast/blobs';
import { encryptionLayer, layerBlobs, prefixLayer, retryLayer } from '@holdfast/blobs/layers';
import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { describe, it } from 'vitest';

import { spareDriver, spareHarness } from './support/spare-driver.js';

const keys = { one: new Uint8Array(32).fill(1), two: new Uint8Array(32).fill(2) };
const nameKey = new Uint8Array(32).fill(3);

const plainNames = spareHarness(
  (storage) => layerBlobs(new Blobs(spareDriver(storage)), [encryptionLayer({ keys, active: 'one' })]),
  { adapter: 'encrypted' },
);
const hiddenNames = spareHarness(
  (storage) =>
    layerBlobs(new Blobs(spareDriver(storage)), [
      retryLayer(),
      prefixLayer('tenant'),
      encryptionLayer({ keys, active: 'two', nameKey, listWindow: 7 }),
    ]),
  { adapter: 'encrypted, with hidden digests' },
);

testBlobs({ describe, it }, plainNames);
testBlobs({ describe, it }, prefixedHarness(plainNames));
testBlobs({ describe, it }, secondViewHarness(plainNames));
testBlobs(
  { describe, it },
  { ...hiddenNames, limits: { ...hiddenNames.limits, maxKeyBytes: 505 }, corrupt: undefined },
);
