#!/usr/bin/env node
/**
 * Packs every package and looks at the packed files as a registry would serve them: no stray and no missing file,
 * publint, and attw for ESM consumers.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

import { packAll, readPacked } from '../shared/pack.mjs';
import { run } from '../shared/process.mjs';
import { repositoryRoot } from '../shared/workspace.mjs';
import { checkPacked } from './packed-rules.mjs';

/**
 * @param {string} tarball
 * @param {Record<string, unknown>} manifest
 * @returns {Promise<string[]>}
 */
async function runPublint(tarball, manifest) {
  const bytes = readFileSync(tarball);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
  return messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code);
}

/**
 * @param {string} tarball
 * @returns {Promise<string[]>}
 */
async function runAttw(tarball) {
  const attw = path.join(repositoryRoot, 'node_modules', '.bin', 'attw');
  const result = await run(attw, ['--profile', 'esm-only', '--no-color', '--no-emoji', tarball]);
  return result.code === 0 ? [] : [result.output.trim()];
}

const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-packed-'));
/** @type {string[]} */
const problems = [];
let bytes = 0;
try {
  const packed = await packAll(directory);
  for (const item of packed) {
    const manifest = JSON.parse(readPacked(item.tarball, 'package.json'));
    bytes += readFileSync(item.tarball).byteLength;
    const [lint, types] = await Promise.all([runPublint(item.tarball, manifest), runAttw(item.tarball)]);
    problems.push(...checkPacked(item.name, item.files, manifest));
    problems.push(...lint.map((message) => `${item.name}: publint: ${message}`));
    problems.push(...types.map((message) => `${item.name}: attw: ${message}`));
  }
  if (problems.length === 0)
    console.log(`${packed.length} packed packages in order, ${Math.round(bytes / 1024)} KiB`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
