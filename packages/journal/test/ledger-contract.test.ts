import {
  memoryLedgerHarness,
  prefixedLedgerHarness,
  secondViewLedgerHarness,
  testLedger,
} from '@holdfast/journal/testing';
import { describe, it } from 'vitest';

const memory = memoryLedgerHarness();
for (const harness of [memory, prefixedLedgerHarness(memory), secondViewLedgerHarness(memory)]) {
  testLedger({ describe, it }, harness);
}
