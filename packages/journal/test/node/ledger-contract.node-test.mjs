import { describe, it } from 'node:test';

import {
  memoryLedgerHarness,
  prefixedLedgerHarness,
  secondViewLedgerHarness,
  testLedger,
} from '@holdfast/journal/testing';

const memory = memoryLedgerHarness();
for (const harness of [memory, prefixedLedgerHarness(memory), secondViewLedgerHarness(memory)]) {
  testLedger({ describe, it }, harness);
}
