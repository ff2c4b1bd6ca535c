#!/usr/bin/env node
/**
 * The list of durability mistakes that are made on purpose, from the names of the tests that make them. Compares it with
 * `docs/durability-mutants.md`, or writes that page with `--write`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { run } from '../shared/process.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';

/**
 * Files whose tests make one mistake each, and how such a test is called.
 * @type {readonly (readonly [file: string, pattern: RegExp])[]}
 */
const sources = [
  ['packages/durable/test/mutants.test.ts', /is caught/],
  ['packages/blobs/test/fs-crash.test.ts', /break a promise/],
  ['packages/lease/test/crash.test.ts', /that is left out/],
  ['packages/restore/test/mutants.test.ts', /\bdies?\b/],
  ['packages/workspacestore/test/crashes.test.ts', /notices when/],
  ['tools/crash/crash.test.ts', /is found/],
];
const page = path.join(repositoryRoot, 'docs', 'durability-mutants.md');

/** @returns {Promise<{ file: string, name: string }[]>} */
export async function listMutants() {
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-mutants-'));
  const list = path.join(scratch, 'list.json');
  try {
    const vitest = path.join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
    const files = sources.map(([file]) => file);
    const { code, output } = await run(process.execPath, [vitest, 'list', `--json=${list}`, ...files], {
      cwd: repositoryRoot,
    });
    if (code !== 0) throw new Error(`the tests cannot be listed: ${output}`);
    /** @type {{ file: string, name: string }[]} */
    const tests = JSON.parse(readFileSync(list, 'utf8'));
    return sources.flatMap(([file, pattern]) =>
      tests
        .filter((test) => path.relative(repositoryRoot, test.file) === file && pattern.test(test.name))
        .map(({ name }) => ({ file, name })),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** @param {readonly { file: string, name: string }[]} mutants */
export function writePage(mutants) {
  const lines = [
    '# Durability mutants',
    '',
    `${mutants.length} mistakes in what is made durable and when, each made on purpose by a test that fails when nobody notices.`,
    'Generated from the names of the tests: `node tools/mutants/mutants.mjs --write`.',
  ];
  let last = '';
  for (const { file, name } of mutants) {
    if (file !== last) lines.push('', `## ${file}`, '');
    last = file;
    lines.push(`- ${name.replaceAll(' > ', ': ').replaceAll('`', "'")}`);
  }
  return `${lines.join('\n')}\n`;
}

if (process.argv[1] !== undefined && import.meta.url.endsWith(path.basename(process.argv[1]))) {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  const text = writePage(await listMutants());
  if (values.write) writeFileSync(page, text);
  else if (readFileSync(page, 'utf8') !== text) {
    console.error(
      'docs/durability-mutants.md is not what the tests say: node tools/mutants/mutants.mjs --write',
    );
    process.exitCode = 1;
  }
}
