#!/usr/bin/env node
/**
 * Runs every test that needs no external server: all vitest projects in one run, the contract suites under `node:test`,
 * and every example of the documentation. Then checks that every error class was raised and that every test which the
 * page of conformance names has passed. The last line is the total.
 *
 * Arguments are passed to vitest (`npm test -- packages/blobs`); such a partial run leaves the rest out and says so.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { run } from './shared/process.mjs';
import { parseTally, Tally } from './shared/tally.mjs';
import { readNodeTestSummary, readVitestReport } from './shared/test-reports.mjs';
import { listPackages, repositoryRoot } from './shared/workspace.mjs';

const vitestArguments = process.argv.slice(2);
const partial = vitestArguments.length > 0;
/** A filter leaves out thousands; the first ones tell enough. */
const shownEntries = 40;
const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-tests-'));
const notes = path.join(scratch, 'error-notes');
mkdirSync(notes);

const recorder = pathToFileURL(path.join(repositoryRoot, 'tools', 'check-errors', 'record.mjs')).href;
const env = {
  ...process.env,
  NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${recorder}`.trim(),
  HOLDFAST_ERROR_NOTES: notes,
};

const total = new Tally();
/** @type {string[]} */
const leftOut = ['tests against servers: npm run test:services'];

const reportFile = path.join(scratch, 'vitest.json');

/** Vitest, all projects in one run. */
async function runVitest() {
  const program = path.join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const result = await run(
    process.execPath,
    [
      program,
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${reportFile}`,
      ...vitestArguments,
    ],
    { cwd: repositoryRoot, env, output: 'inherit' },
  );
  const report = existsSync(reportFile)
    ? readVitestReport(JSON.parse(readFileSync(reportFile, 'utf8')))
    : { passed: 0, failed: 0, leftOut: [] };
  // Errors outside of any test (a failed import, an unhandled rejection) show only in the exit code.
  if (result.code !== 0 && report.failed === 0) report.failed = 1;
  total.add(report);
  leftOut.push(...report.leftOut);
}

/** The same contract cases through the second door, `node:test`, against the built packages. */
async function runNodeTests() {
  const files = listPackages().flatMap((item) => {
    const directory = path.join(item.path, 'test', 'node');
    if (!existsSync(directory)) return [];
    return readdirSync(directory)
      .filter((file) => file.endsWith('.node-test.mjs'))
      .map((file) => path.join(directory, file));
  });
  if (files.length === 0) {
    leftOut.push('suites under node:test: there is no packages/*/test/node/*.node-test.mjs');
    return;
  }
  const tapFile = path.join(scratch, 'node-test.tap');
  const result = await run(
    process.execPath,
    [
      '--test',
      '--test-concurrency=2',
      '--test-reporter=dot',
      '--test-reporter-destination=stdout',
      '--test-reporter=tap',
      `--test-reporter-destination=${tapFile}`,
      ...files,
    ],
    { cwd: repositoryRoot, env, output: 'inherit' },
  );
  const tap = existsSync(tapFile) ? readFileSync(tapFile, 'utf8') : '';
  const summary = readNodeTestSummary(tap);
  if (result.code !== 0 && summary.failed === 0) summary.failed = 1;
  if (summary.failed > 0)
    console.log(
      tap
        .split('\n')
        .filter((line) => !line.startsWith('# Subtest'))
        .join('\n'),
    );
  console.log(`\nnode:test: ${summary.passed} passed, ${summary.failed} failed in ${files.length} files`);
  total.add(summary);
  if (summary.skipped > 0) leftOut.push(`${summary.skipped} cases skipped under node:test`);
}

/** Every example of the documentation, as a complete program. */
async function runExamples() {
  const tool = path.join(repositoryRoot, 'tools', 'check-readme', 'check-readme.mjs');
  const result = await run(process.execPath, [tool, '--run'], { cwd: repositoryRoot, output: 'both' });
  total.add(parseTally(result.output) ?? { passed: 0, failed: 1 });
}

/** Every error class was raised by a package in some test. */
async function checkErrorsRaised() {
  const tool = path.join(repositoryRoot, 'tools', 'check-errors', 'check-errors.mjs');
  const result = await run(process.execPath, [tool, '--notes', notes], { cwd: repositoryRoot });
  console.log(`\nerrors: ${result.output.trim().replaceAll('\n', '\n  ')}`);
  total.count(result.code === 0);
}

/** Every test that the page of conformance names ran and passed. */
async function checkConformance() {
  const tool = path.join(repositoryRoot, 'tools', 'check-conformance', 'check-conformance.mjs');
  const result = await run(process.execPath, [tool, reportFile], { cwd: repositoryRoot });
  console.log(`\nconformance: ${result.output.trim().replaceAll('\n', '\n  ')}`);
  total.count(result.code === 0);
}

try {
  await runVitest();
  if (partial) {
    leftOut.push(
      'suites under node:test, documentation examples, and the checks of raised errors and of conformance: this run is partial',
    );
  } else {
    await runNodeTests();
    await runExamples();
    await checkErrorsRaised();
    await checkConformance();
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

console.log('\nleft out:');
for (const entry of leftOut.slice(0, shownEntries)) console.log(`  ${entry}`);
if (leftOut.length > shownEntries) console.log(`  and ${leftOut.length - shownEntries} more`);
console.log(String(total));
process.exitCode = total.exitCode;
