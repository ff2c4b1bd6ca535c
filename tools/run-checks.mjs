#!/usr/bin/env node
/**
 * Runs every check that looks at the repository without running its tests. Shows the output of a check only when it
 * fails; the last line is the total. `npm run check -- lint format` runs the named ones.
 */
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { run } from './shared/process.mjs';
import { Tally } from './shared/tally.mjs';
import { repositoryRoot } from './shared/workspace.mjs';

const binaries = path.join(repositoryRoot, 'node_modules', '.bin');
/** @param {string} name @param {...string} args @returns {[string, ...string[]]} */
const binary = (name, ...args) => [path.join(binaries, name), ...args];
/** @param {string} file @param {...string} args @returns {[string, ...string[]]} */
const tool = (file, ...args) => [process.execPath, path.join(repositoryRoot, 'tools', file), ...args];

/** @type {readonly (readonly [name: string, what: string, command: [string, ...string[]]])[]} */
const checks = [
  ['types', 'types of the packages', binary('tsc', '-b')],
  ['test-types', 'types of the tests', binary('tsc', '-p', 'tsconfig.tests.json')],
  ['tool-types', 'types of the tools', binary('tsc', '-p', 'tools')],
  ['lint', 'lint with type information', binary('oxlint', '--type-aware', '--deny-warnings')],
  ['format', 'format and order of imports', binary('biome', 'check', '--linter-enabled=false', '.')],
  [
    'direction',
    'direction between packages, no cycles',
    binary('depcruise', '--config', '.dependency-cruiser.cjs', 'packages'),
  ],
  ['boundaries', 'disk writes, dependencies, manifests', tool('check-boundaries/check-boundaries.mjs')],
  ['sizes', 'sizes of files', tool('check-sizes/check-sizes.mjs')],
  ['links', 'links of the documentation', tool('check-links/check-links.mjs')],
  ['errors', 'error classes and their page', tool('check-errors/check-errors.mjs')],
  ['examples', 'types of the documentation examples', tool('check-readme/check-readme.mjs', '--types')],
  ['packages', 'packed packages', tool('check-package/check-package.mjs')],
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !checks.some(([known]) => known === name));
if (unknown.length > 0) {
  console.error(`no such check: ${unknown.join(', ')}; there are ${checks.map(([name]) => name).join(', ')}`);
  process.exit(2);
}

const tally = new Tally();
for (const [name, what, [command, ...args]] of checks) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const result = await run(command, args, { cwd: repositoryRoot });
  const ok = result.code === 0;
  tally.count(ok);
  const seconds = (result.durationMs / 1000).toFixed(1).padStart(5);
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name.padEnd(11)} ${seconds} s  ${what}`);
  // Some of the programs colour their output whatever they are told.
  const output = process.stdout.isTTY ? result.output : stripVTControlCharacters(result.output);
  if (!ok) console.log(`\n${output.trimEnd()}\n`);
}
console.log(String(tally));
process.exitCode = tally.exitCode;
