#!/usr/bin/env node
/**
 * Keeps files small enough to be read in one go: sources, tests, package READMEs, and no large file in the repository
 * unless it is a vector of a format.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { listFiles, repositoryRoot } from '../shared/workspace.mjs';

/** The first rule whose pattern matches a path decides. */
const rules = [
  { pattern: /(^|\/)(vectors|fixtures)\//, maxLines: Number.POSITIVE_INFINITY, maxBytes: 4 * 1024 * 1024 },
  // A table of broken drivers is read by entry, not from top to bottom.
  { pattern: /^packages\/[^/]+\/test\/.*mutants.*\.ts$/, maxLines: 1200, maxBytes: 96 * 1024 },
  { pattern: /^packages\/[^/]+\/test\/.*\.(ts|mjs)$/, maxLines: 800, maxBytes: 64 * 1024 },
  { pattern: /\.test\.ts$/, maxLines: 800, maxBytes: 64 * 1024 },
  { pattern: /^(packages|tools|examples)\/.*\.(ts|mjs|js|cjs)$/, maxLines: 400, maxBytes: 32 * 1024 },
  { pattern: /^packages\/[^/]+\/README\.md$/, maxLines: 130, maxBytes: 8 * 1024 },
  { pattern: /^pnpm-lock\.yaml$/, maxLines: Number.POSITIVE_INFINITY, maxBytes: 2 * 1024 * 1024 },
  { pattern: /./, maxLines: Number.POSITIVE_INFINITY, maxBytes: 256 * 1024 },
];

const { values } = parseArgs({ options: { root: { type: 'string', default: repositoryRoot } } });
/** @type {string[]} */
const problems = [];
const files = listFiles(
  values.root,
  (file) => !/\.(log|tgz)$/.test(file) && !file.startsWith('bench-results/'),
);
for (const file of files) {
  const rule = rules.find(({ pattern }) => pattern.test(file));
  if (rule === undefined) continue;
  const absolute = path.join(values.root, file);
  const { size } = statSync(absolute);
  if (size > rule.maxBytes) problems.push(`${file}: ${size} bytes, at most ${rule.maxBytes}`);
  if (!Number.isFinite(rule.maxLines)) continue;
  const lines = readFileSync(absolute, 'utf8').split('\n').length - 1;
  if (lines > rule.maxLines) problems.push(`${file}: ${lines} lines, at most ${rule.maxLines}: split it`);
}
for (const problem of problems) console.error(problem);
if (problems.length === 0) console.log(`${files.length} files are small enough`);
process.exitCode = problems.length === 0 ? 0 : 1;
