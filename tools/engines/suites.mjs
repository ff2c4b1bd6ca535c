import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { prefixedLedgerHarness, secondViewLedgerHarness, testLedger } from '@holdfast/journal/testing';
import { prefixedLeaserHarness, secondViewLeaserHarness, testLeaser } from '@holdfast/lease/testing';

/** @typedef {import('@holdfast/base/testing').TestRunner} TestRunner */

/**
 * The suite of ledgers: as it is, behind a prefix, and through second views.
 * @param {TestRunner} runner
 * @param {import('@holdfast/journal/testing').LedgerHarness} harness
 */
export function testLedgerViews(runner, harness) {
  for (const one of [harness, prefixedLedgerHarness(harness), secondViewLedgerHarness(harness)])
    testLedger(runner, one);
}

/**
 * The suite of leasers: as it is, behind a prefix, and through second views.
 * @param {TestRunner} runner
 * @param {import('@holdfast/lease/testing').LeaserHarness} harness
 */
export function testLeaserViews(runner, harness) {
  for (const one of [harness, prefixedLeaserHarness(harness), secondViewLeaserHarness(harness)])
    testLeaser(runner, one);
}

/**
 * The clauses that a suite finds broken: what it says about an engine that does not keep its word.
 * @template {{ readonly limits?: object | undefined }} H
 * @param {(harness: H) => Promise<import('@holdfast/base/testing').ContractReport>} verify
 * @param {H} harness
 */
export async function brokenClauses(verify, harness) {
  // A case that a lie makes wait for ever need not be waited for.
  const report = await verify({ ...harness, limits: { ...harness.limits, caseMilliseconds: 3_000 } });
  return report.cases.flatMap(({ failure, clause }) => (failure === undefined ? [] : [clause]));
}

/**
 * Runs the first program of a package's README, as somebody would who copies it.
 * @param {URL} home Directory of the package.
 * @param {Record<string, string>} variables What it reads from its environment.
 */
export function runReadme(home, variables) {
  const page = readFileSync(new URL('README.md', home), 'utf8');
  const [, code] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', code ?? 'process.exit(9)'],
    { cwd: fileURLToPath(home), env: { ...process.env, ...variables }, encoding: 'utf8', timeout: 60_000 },
  );
  return { status, stdout, stderr };
}
