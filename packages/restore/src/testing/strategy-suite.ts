import {
  type ContractReport,
  type ContractSuite,
  defineSuite,
  type RunOptions,
  registerSuite,
  type TestRunner,
  verifySuite,
} from '@holdfast/base/testing';

import { committingCases } from './cases/committing.js';
import { preparingCases } from './cases/preparing.js';
import { undoingCases } from './cases/undoing.js';
import type { StrategyHarness } from './strategy-harness.js';

/** The contract of `restore-strategy/1` as cases, one per clause of its page. */
export const strategyContract: ContractSuite<StrategyHarness> = defineSuite(
  'restore-strategy/1',
  'docs/contracts/restore-strategy.md',
  [...preparingCases, ...committingCases, ...undoingCases],
);

/** Registers every case with a runner that has `describe` and `it`. */
export function testStrategy(runner: TestRunner, harness: StrategyHarness): void {
  registerSuite(strategyContract, runner, harness);
}

/** Runs every case and reports. */
export async function verifyStrategy(
  harness: StrategyHarness,
  options: RunOptions = {},
): Promise<ContractReport> {
  return await verifySuite(strategyContract, harness, options);
}
