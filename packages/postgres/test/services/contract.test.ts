import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { prefixedLeaserHarness, secondViewLeaserHarness, testLeaser } from '@holdfast/lease/testing';
import { afterAll, describe, it } from 'vitest';

import { postgresLeaserHarness, postgresLedgerHarness, World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

const pooled = world.transactionPooler();
const ledger = postgresLedgerHarness(world);
for (const harness of [
  ledger,
  prefixedLedgerHarness(ledger),
  secondViewLedgerHarness(ledger),
  postgresLedgerHarness(world, { adapter: 'postgres, told of appends', listen: true }),
  postgresLedgerHarness(world, { adapter: 'postgres, behind a pooler', client: pooled }),
]) {
  testLedger({ describe, it }, harness);
}

const leaser = postgresLeaserHarness(world);
for (const harness of [
  leaser,
  prefixedLeaserHarness(leaser),
  secondViewLeaserHarness(leaser),
  postgresLeaserHarness(world, { adapter: 'postgres, behind a pooler', client: pooled }),
]) {
  testLeaser({ describe, it }, harness);
}
