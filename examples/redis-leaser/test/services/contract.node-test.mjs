// The same suite under another runner and from the built files.
import { after, describe, it } from 'node:test';

import { testLeaserViews } from '../../../../tools/engines/suites.mjs';
import { serviceVariable } from '../../../../tools/services/control.mjs';
import { redisLeaserHarness } from '../../src/harness.mjs';

const harness = redisLeaserHarness(serviceVariable('HOLDFAST_REDIS_URL'));
after(async () => {
  await harness.close();
});

testLeaserViews({ describe, it }, harness);
