import { afterAll, describe, it } from 'vitest';

import { testLeaserViews, testLedgerViews } from '../../../../tools/engines/suites.mjs';
import { natsLeaserHarness, natsLedgerHarness, World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

testLedgerViews({ describe, it }, natsLedgerHarness(world));
testLeaserViews({ describe, it }, natsLeaserHarness(world));
