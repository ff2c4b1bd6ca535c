import {
  type ContractReport,
  type ContractSuite,
  defineSuite,
  type RunOptions,
  registerSuite,
  type TestRunner,
  verifySuite,
} from '@holdfast/base/testing';

import { abortingCases } from './cases/aborting.js';
import { closingCases } from './cases/closing.js';
import { declaringCases } from './cases/declaring.js';
import { deletingCases } from './cases/deleting.js';
import { feedingCases } from './cases/feeding.js';
import { gettingCases } from './cases/getting.js';
import { lookingCases } from './cases/looking.js';
import { namingCases } from './cases/naming.js';
import { puttingCases } from './cases/putting.js';
import { seeingCases } from './cases/seeing.js';
import { survivingCases } from './cases/surviving.js';
import type { BlobsHarness } from './harness.js';

/** The contract of `blobs/1` as cases, one per clause of its page. */
export const blobsContract: ContractSuite<BlobsHarness> = defineSuite('blobs/1', 'docs/contracts/blobs.md', [
  ...namingCases,
  ...puttingCases,
  ...feedingCases,
  ...gettingCases,
  ...lookingCases,
  ...deletingCases,
  ...seeingCases,
  ...abortingCases,
  ...closingCases,
  ...declaringCases,
  ...survivingCases,
]);

/** Registers every case with a runner that has `describe` and `it`. */
export function testBlobs(runner: TestRunner, harness: BlobsHarness): void {
  registerSuite(blobsContract, runner, harness);
}

/** Runs every case against a real backend and reports; for people who want to know before they trust it. */
export async function verifyBlobs(harness: BlobsHarness, options: RunOptions = {}): Promise<ContractReport> {
  return await verifySuite(blobsContract, harness, options);
}
