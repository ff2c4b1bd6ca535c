#!/usr/bin/env node
/**
 * Checks the error classes of every package: prefix and form of the codes, documentation, exports, and that
 * `docs/errors.md` is what `--write` would write. With `--notes DIR` it checks instead that every class was raised by a
 * package during the test run that left its notes there.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { listPackages, publishedEntries, readJson, repositoryRoot } from '../shared/workspace.mjs';
import { collectErrorClasses } from './collect.mjs';
import { renderErrors } from './render.mjs';
import { readNotes, verifyClasses, verifyExports, verifyOutcomes, verifyThrown } from './verify.mjs';

/** @typedef {import('../shared/workspace.mjs').WorkspacePackage} WorkspacePackage */

/**
 * Imports the built entry points and lists the codes of the error classes they export.
 * @param {readonly WorkspacePackage[]} packages
 * @returns {Promise<Map<string, Set<string>>>}
 */
async function exportedCodes(packages) {
  /** @type {Map<string, Set<string>>} */
  const codes = new Map();
  for (const item of packages) {
    /** @type {Set<string>} */
    const own = new Set();
    for (const entry of publishedEntries(item)) {
      if (!existsSync(entry.file)) throw new Error(`${entry.specifier} is not built: run npm run setup`);
      const exports = await import(pathToFileURL(entry.file).href);
      for (const value of Object.values(exports)) {
        if (typeof value === 'function' && typeof value.code === 'string' && value.code !== '')
          own.add(value.code);
      }
    }
    codes.set(item.directory, own);
  }
  return codes;
}

const { values } = parseArgs({ options: { write: { type: 'boolean' }, notes: { type: 'string' } } });
const packages = listPackages();
const classes = packages.flatMap(collectErrorClasses);
const table = readJson(path.join(repositoryRoot, 'tools', 'check-errors', 'outcomes.json'));
/** @type {string[]} */
let problems = [];

if (values.notes !== undefined) {
  const directory = values.notes;
  const texts = readdirSync(directory).map((file) => readFileSync(path.join(directory, file), 'utf8'));
  problems = verifyThrown(classes, readNotes(texts), new Map(Object.entries(table.raisedByOthers)));
  if (problems.length === 0) console.log(`all ${classes.length} error classes were raised in tests`);
} else {
  problems = [...verifyClasses(classes), ...verifyExports(classes, await exportedCodes(packages))];
  problems.push(...verifyOutcomes(classes, table.outcomes));
  const page = renderErrors(
    packages.map((item) => ({ name: item.manifest.name, directory: item.directory })),
    classes,
    table.outcomes,
  );
  const file = path.join(repositoryRoot, 'docs', 'errors.md');
  if (values.write === true) writeFileSync(file, page);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== page) {
    problems.push('docs/errors.md is not current: run node tools/check-errors/check-errors.mjs --write');
  }
  if (problems.length === 0) console.log(`${classes.length} error classes in order, docs/errors.md current`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
