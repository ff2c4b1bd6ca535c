import {
  type ContractReport,
  type ContractSuite,
  defineSuite,
  type RunOptions,
  registerSuite,
  type TestRunner,
  verifySuite,
} from '@holdfast/base/testing';

import { abortingCases } from './ledger-cases/aborting.js';
import { appendingCases } from './ledger-cases/appending.js';
import { closingCases } from './ledger-cases/closing.js';
import { failingCases } from './ledger-cases/failing.js';
import { followingCases } from './ledger-cases/following.js';
import { lookingCases } from './ledger-cases/looking.js';
import { namingCases } from './ledger-cases/naming.js';
import { readingCases } from './ledger-cases/reading.js';
import type { LedgerHarness } from './ledger-harness.js';

/** The contract of `ledger/1` as cases, one per clause of its page. */
export const ledgerContract: ContractSuite<LedgerHarness> = defineSuite(
  'ledger/1',
  'docs/contracts/ledger.md',
  [
    ...namingCases,
    ...appendingCases,
    ...readingCases,
    ...lookingCases,
    ...followingCases,
    ...abortingCases,
    ...failingCases,
    ...closingCases,
  ],
);

/** Registers every case with a runner that has `describe` and `it`. */
export function testLedger(runner: TestRunner, harness: LedgerHarness): void {
  registerSuite(ledgerContract, runner, harness);
}

/** Runs every case against a real backend and reports; for people who want to know before they trust it. */
export async function verifyLedger(
  harness: LedgerHarness,
  options: RunOptions = {},
): Promise<ContractReport> {
  return await verifySuite(ledgerContract, harness, options);
}
