// The same suite under another runner and from the built files.
import { after, describe, it } from 'node:test';

import { prefixedLeaserHarness, secondViewLeaserHarness, testLeaser } from '@holdfast/lease/testing';

import { redisLeaserHarness } from '../../src/harness.mjs';

const url = process.env['HOLDFAST_REDIS_URL'];
if (url === undefined)
  throw new Error('HOLDFAST_REDIS_URL is not set: run this test by npm run test:services');
const harness = redisLeaserHarness(url);
after(async () => {
  await harness.close();
});

for (const one of [harness, prefixedLeaserHarness(harness), secondViewLeaserHarness(harness)]) {
  testLeaser({ describe, it }, one);
}
