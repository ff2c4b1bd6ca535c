import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { afterAll, describe, it } from 'vitest';

import {
  levelLedgerHarness,
  removeTemporaryDirectories,
  sessionLedgerHarness,
} from './support/level-harness.js';

afterAll(removeTemporaryDirectories);

const database = levelLedgerHarness();
const session = sessionLedgerHarness();
for (const harness of [
  database,
  prefixedLedgerHarness(database),
  session,
  prefixedLedgerHarness(session),
  secondViewLedgerHarness(session),
]) {
  testLedger({ describe, it }, harness);
}
