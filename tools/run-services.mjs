#!/usr/bin/env node
/**
 * Runs the tests that need real servers: starts each server of `services/registry.mjs` on loopback with its data in a
 * temporary directory, then `test/services/**` of every package and example, first under vitest, then under `node:test`.
 * A server that is missing or does not start is a failure. The last line is the total.
 *
 * Names of services choose which are started, anything else is passed to vitest: `npm run test:services -- s3 packages/s3`.
 * One file runs at a time, so that a test may kill the server.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { openControl } from './services/control.mjs';
import { services } from './services/registry.mjs';
import { run } from './shared/process.mjs';
import { Tally } from './shared/tally.mjs';
import { readNodeTestSummary, readVitestReport } from './shared/test-reports.mjs';
import { listFiles, repositoryRoot } from './shared/workspace.mjs';

const wanted = process.argv.slice(2).filter((argument) => argument in services);
const vitestArguments = process.argv.slice(2).filter((argument) => !(argument in services));
const partial = vitestArguments.length > 0;
const scratch = mkdtempSync(path.join(tmpdir(), 'hf-'));
// The user that Postgres runs as has to pass through; what is inside has modes of its own.
chmodSync(scratch, 0o711);

const total = new Tally();
/** @type {string[]} */
const leftOut = [];
/** @type {Map<string, import('./services/registry.mjs').RunningService>} */
const running = new Map();

async function stopAll() {
  for (const [name, service] of [...running].reverse()) {
    running.delete(name);
    await service.stop();
  }
}

/** @returns {Promise<boolean>} */
async function startAll() {
  let complete = true;
  for (const [name, service] of Object.entries(services)) {
    if (wanted.length > 0 && !wanted.includes(name)) {
      leftOut.push(`the server ${name}: not asked for`);
      continue;
    }
    const started = performance.now();
    try {
      const directory = path.join(scratch, name);
      mkdirSync(directory, { mode: 0o700 });
      const one = await service.start(directory);
      running.set(name, one);
      console.log(`${name}: ${one.version}, up in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    } catch (error) {
      complete = false;
      total.count(false);
      console.log(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      console.log(
        `  (Debian packages: ${service.debianPackages.join(' ')}; node tools/services/install.mjs)`,
      );
    }
  }
  return complete;
}

/** @param {NodeJS.ProcessEnv} env */
async function runVitest(env) {
  const reportFile = path.join(scratch, 'vitest.json');
  const program = path.join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const args = ['run', '--config', 'vitest.services.config.ts', '--reporter=default', '--reporter=json'];
  const { code } = await run(
    process.execPath,
    [program, ...args, `--outputFile.json=${reportFile}`, ...vitestArguments],
    { cwd: repositoryRoot, env, output: 'inherit' },
  );
  const report = existsSync(reportFile)
    ? readVitestReport(JSON.parse(readFileSync(reportFile, 'utf8')))
    : { passed: 0, failed: 0, leftOut: [] };
  // Errors outside of any test (a failed import, an unhandled rejection) show only in the exit code.
  if (code !== 0 && report.failed === 0) report.failed = 1;
  total.add(report);
  leftOut.push(...report.leftOut);
}

/** The same suites against the built packages under `node:test`. @param {NodeJS.ProcessEnv} env */
async function runNodeTests(env) {
  const files = ['packages', 'examples'].flatMap((parent) =>
    listFiles(path.join(repositoryRoot, parent), (file) =>
      /\/test\/services\/(.*\/)?[^/]*\.node-test\.mjs$/.test(file),
    ).map((file) => path.join(repositoryRoot, parent, file)),
  );
  if (files.length === 0) {
    leftOut.push('suites under node:test: there is no test/services/**/*.node-test.mjs');
    return;
  }
  const tapFile = path.join(scratch, 'node-test.tap');
  const { code } = await run(
    process.execPath,
    [
      '--import',
      './tools/services/all-serve.mjs',
      '--test',
      '--test-concurrency=1',
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
  if (code !== 0 && summary.failed === 0) summary.failed = 1;
  if (summary.failed > 0) console.log(tap);
  total.add(summary);
  console.log(`\nnode:test: ${summary.passed} passed, ${summary.failed} failed in ${files.length} files`);
  if (summary.skipped > 0) leftOut.push(`${summary.skipped} cases skipped under node:test`);
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    const end = () => {
      rmSync(scratch, { recursive: true, force: true });
      process.exit(1);
    };
    stopAll().then(end, end);
  });
}

try {
  if (await startAll()) {
    const control = await openControl(running);
    try {
      const env = Object.assign(
        { ...process.env },
        control.env,
        ...[...running.values()].map((service) => service.env),
      );
      await runVitest(env);
      if (partial) leftOut.push('suites under node:test: this run is partial');
      else await runNodeTests(env);
    } finally {
      control.close();
    }
  }
} finally {
  await stopAll();
  rmSync(scratch, { recursive: true, force: true });
}

if (leftOut.length > 0) console.log('\nleft out:');
for (const entry of leftOut) console.log(`  ${entry}`);
console.log(String(total));
process.exitCode = total.exitCode;
