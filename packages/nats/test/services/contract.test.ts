import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { prefixedLeaserHarness, secondViewLeaserHarness, testLeaser } from '@holdfast/lease/testing';
import { afterAll, describe, it } from 'vitest';

import { natsLeaserHarness, natsLedgerHarness, World } from './harness.mjs';

const world = new World();
afterAll(async () => {
  await world.close();
});

const ledger = natsLedgerHarness(world);
for (const harness of [ledger, prefixedLedgerHarness(ledger), secondViewLedgerHarness(ledger)]) {
  testLedger({ describe, it }, harness);
}
const leaser = natsLeaserHarness(world);
for (const harness of [leaser, prefixedLeaserHarness(leaser), secondViewLeaserHarness(leaser)]) {
  testLeaser({ describe, it }, harness);
}
