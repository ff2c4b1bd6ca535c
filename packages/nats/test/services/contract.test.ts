import { testLedger } from '@holdfast/journal/testing';
import { testLeaser } from '@holdfast/lease/testing';
import { afterAll, describe, it } from 'vitest';

import { testLeaserViews, testLedgerViews } from '../../../../tools/engines/suites.mjs';
import { natsLeaserHarness, natsLedgerHarness, World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

testLedgerViews({ describe, it }, natsLedgerHarness(world));
testLeaserViews({ describe, it }, natsLeaserHarness(world));
// What is heard may be lost: everything works for who hears nothing at all.
testLedger({ describe, it }, natsLedgerHarness(world, { adapter: 'nats, told nothing', deaf: true }));
testLeaser({ describe, it }, natsLeaserHarness(world, { adapter: 'nats, told nothing', deaf: true }));
