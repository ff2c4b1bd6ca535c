import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { afterAll, describe, it } from 'vitest';

import { fsHarness } from './support/fs-harness.js';
import { modelHarness } from './support/model-harness.js';

const plain = fsHarness();
const unsynced = fsHarness({ durable: false, listWindow: 3 }, 'fs without syncs, with a tiny list window');

afterAll(() => {
  plain[Symbol.dispose]();
  unsynced[Symbol.dispose]();
});

testBlobs({ describe, it }, plain);
testBlobs({ describe, it }, prefixedHarness(unsynced));
testBlobs({ describe, it }, modelHarness());
testBlobs({ describe, it }, prefixedHarness(modelHarness()));
testBlobs({ describe, it }, secondViewHarness(modelHarness()));
