import { testLedger } from '@holdfast/journal/testing';
import { testLeaser } from '@holdfast/lease/testing';
import { afterAll, describe, it } from 'vitest';

import { testLeaserViews, testLedgerViews } from '../../../../tools/engines/suites.mjs';
import { postgresLeaserHarness, postgresLedgerHarness, World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

const pooled = { adapter: 'postgres, behind a pooler', client: world.transactionPooler() };
testLedgerViews({ describe, it }, postgresLedgerHarness(world));
testLedger(
  { describe, it },
  postgresLedgerHarness(world, { adapter: 'postgres, told of appends', listen: true }),
);
testLedger({ describe, it }, postgresLedgerHarness(world, pooled));
testLeaserViews({ describe, it }, postgresLeaserHarness(world));
testLeaser({ describe, it }, postgresLeaserHarness(world, pooled));
