// The same suites under another runner and from the built files.
import { after, describe, it } from 'node:test';

import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { prefixedLeaserHarness, secondViewLeaserHarness, testLeaser } from '@holdfast/lease/testing';

import { natsLeaserHarness, natsLedgerHarness, World } from './harness.mjs';

const world = new World();
after(async () => {
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
