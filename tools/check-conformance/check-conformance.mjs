#!/usr/bin/env node
/**
 * Compares the page of conformance with what a whole test run did: each test that it names must have run and passed.
 *
 *   node check-conformance.mjs REPORT     REPORT: vitest's JSON
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { repositoryRoot } from '../shared/workspace.mjs';
import { proofsOf, unproved } from './conformance.mjs';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: check-conformance.mjs REPORT');
  process.exitCode = 2;
} else {
  const page = readFileSync(path.join(repositoryRoot, 'docs', 'seeds-conformance.md'), 'utf8');
  const proofs = proofsOf(page);
  const problems = unproved(proofs, JSON.parse(readFileSync(file, 'utf8')), repositoryRoot);
  for (const problem of problems) console.log(problem);
  const statements = new Set(proofs.map(({ number }) => number)).size;
  console.log(
    `${statements} statements, ${proofs.length} proofs, ${problems.length} of them did not run and pass`,
  );
  process.exitCode = problems.length === 0 && proofs.length > 0 ? 0 : 1;
}
