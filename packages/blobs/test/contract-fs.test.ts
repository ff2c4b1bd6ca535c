import { testBlobs } from '@holdfast/blobs/testing';
import { afterAll, describe, it } from 'vitest';

import { fsHarness } from './support/fs-harness.js';

const harnesses = [
  fsHarness(),
  fsHarness({ durable: false, listWindow: 3 }, 'fs without syncs, with a tiny list window'),
];

afterAll(() => {
  for (const harness of harnesses) harness[Symbol.dispose]();
});

for (const harness of harnesses) testBlobs({ describe, it }, harness);
