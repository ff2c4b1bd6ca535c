import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';
import { S3Double } from '@holdfast/s3/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';

import { doubleHarness } from './support/double-harness.js';

let double: S3Double;
beforeAll(async () => {
  double = await S3Double.start({ pageSize: 70 });
});
afterAll(async () => {
  await double[Symbol.asyncDispose]();
});

const harness = doubleHarness(() => double);
testBlobs({ describe, it }, harness);
testBlobs({ describe, it }, prefixedHarness(harness));
testBlobs({ describe, it }, secondViewHarness(harness));
