import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { afterAll, describe, it } from 'vitest';

import { ledger, removeDirectories } from '../src/harness.mjs';

afterAll(removeDirectories);

for (const harness of [ledger, prefixedLedgerHarness(ledger), secondViewLedgerHarness(ledger)]) {
  testLedger({ describe, it }, harness);
}
