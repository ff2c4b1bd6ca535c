import {
  type ContractReport,
  type ContractSuite,
  defineSuite,
  type RunOptions,
  registerSuite,
  type TestRunner,
  verifySuite,
} from '@holdfast/base/testing';

import { abortCases } from './cases/aborts.js';
import { closingCases } from './cases/closing.js';
import { epochCases } from './cases/epochs.js';
import { grantCases } from './cases/grants.js';
import { lossCases } from './cases/losses.js';
import { nameCases } from './cases/names.js';
import { releaseCases } from './cases/releases.js';
import { waitCases } from './cases/waits.js';
import type { LeaserHarness } from './harness.js';

/** Every case of the contract `lease/1`, one per clause of its page. */
export const leaserSuite: ContractSuite<LeaserHarness> = defineSuite('lease/1', 'docs/contracts/lease.md', [
  ...nameCases,
  ...grantCases,
  ...epochCases,
  ...releaseCases,
  ...lossCases,
  ...waitCases,
  ...abortCases,
  ...closingCases,
]);

/** Registers the suite with any runner that has `describe` and `it`. */
export function testLeaser(runner: TestRunner, harness: LeaserHarness): void {
  registerSuite(leaserSuite, runner, harness);
}

/** Runs the suite and reports; for an operator who wants to check a backend before trusting it. */
export async function verifyLeaser(
  harness: LeaserHarness,
  options: RunOptions = {},
): Promise<ContractReport> {
  return await verifySuite(leaserSuite, harness, options);
}
