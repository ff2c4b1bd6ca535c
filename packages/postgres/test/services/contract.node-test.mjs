// The same suites under another runner and from the built files.
import { after, describe, it } from 'node:test';

import { testLeaserViews, testLedgerViews } from '../../../../tools/engines/suites.mjs';
import { postgresLeaserHarness, postgresLedgerHarness, World } from './harness.mjs';

const world = new World();
after(async () => {
  await world.close();
});

testLedgerViews({ describe, it }, postgresLedgerHarness(world));
testLeaserViews({ describe, it }, postgresLeaserHarness(world));
