import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { verifySuite } from '@holdfast/base/testing';

/**
 * One mistake in the sources of an adapter: the right driver with one rule broken, which runs against the right server.
 * @typedef {object} WrongDriver
 * @property {string} mistake
 * @property {readonly string[]} seenBy Clauses of the contract's suite, or names of tests of the kit or of the adapter. Every
 *   one of them has to notice.
 * @property {readonly (readonly [file: string, from: string, to: string])[]} edits Files are in `src`; what is replaced
 *   stands there exactly once.
 */

/**
 * The adapter with a mistake in it, or as it is: a copy of its sources, which `[Symbol.dispose]` removes.
 * @template T
 * @param {URL} home Directory of the package.
 * @param {WrongDriver | undefined} wrong
 * @returns {Promise<Disposable & { readonly module: T }>}
 */
export async function openWrongDriver(home, wrong) {
  const from = fileURLToPath(home);
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-wrong-driver-'));
  cpSync(path.join(from, 'src'), path.join(directory, 'src'), { recursive: true });
  symlinkSync(path.join(from, 'node_modules'), path.join(directory, 'node_modules'));
  for (const [file, before, after] of wrong?.edits ?? []) {
    const target = path.join(directory, 'src', file);
    const parts = readFileSync(target, 'utf8').split(before);
    if (parts.length !== 2) {
      throw new Error(
        `${wrong?.mistake}: ${JSON.stringify(before)} is ${parts.length - 1} times in ${file}, not once`,
      );
    }
    writeFileSync(target, parts.join(after));
  }
  const module = /** @type {T} */ (
    await import(/* @vite-ignore */ pathToFileURL(path.join(directory, 'src', 'index.ts')).href)
  );
  return {
    module,
    [Symbol.dispose]: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Those of some clauses whose cases fail, in the order of the suite.
 * @template {import('@holdfast/base/testing').ContractHarness} H
 * @param {import('@holdfast/base/testing').ContractSuite<H>} suite
 * @param {H} harness
 * @param {readonly string[]} clauses
 */
export async function brokenAmong(suite, harness, clauses) {
  const cases = suite.cases.filter(({ clause }) => clauses.includes(clause));
  // A case that a mistake makes wait for ever need not be waited for.
  const limits = { ...harness.limits, caseMilliseconds: 15_000 };
  const report = await verifySuite({ ...suite, cases }, { ...harness, limits });
  return report.cases.flatMap(({ failure, clause }) => (failure === undefined ? [] : [clause]));
}

/**
 * The tests that a function of the kit registers, by name.
 * @param {(runner: import('@holdfast/base/testing').TestRunner) => void} register
 * @returns {Map<string, () => Promise<void>>}
 */
export function testsOf(register) {
  /** @type {Map<string, () => Promise<void>>} */
  const tests = new Map();
  register({
    describe: (_name, body) => body(),
    it: (name, body) => {
      tests.set(name, async () => {
        await body();
      });
    },
  });
  return tests;
}

/** A clause, as contracts number them; anything else that notices is a test. @param {string} seenBy */
export function isClause(seenBy) {
  return /^\d+\.\d+$/.test(seenBy);
}

/**
 * Those of `seenBy` that notice.
 * @template {import('@holdfast/base/testing').ContractHarness} H
 * @param {readonly string[]} seenBy
 * @param {object} means
 * @param {import('@holdfast/base/testing').ContractSuite<H>} means.suite
 * @param {H} means.harness
 * @param {ReadonlyMap<string, () => Promise<void>>} means.tests
 */
export async function noticedBy(seenBy, { suite, harness, tests }) {
  const noticed = await brokenAmong(suite, harness, seenBy.filter(isClause));
  for (const name of seenBy.filter((one) => !isClause(one))) {
    const test = tests.get(name);
    if (test === undefined) throw new Error(`there is no test ${JSON.stringify(name)}`);
    await test().catch(() => noticed.push(name));
  }
  return noticed;
}
