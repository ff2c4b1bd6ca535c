import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

import { run } from '../shared/process.mjs';

/** Where other versions of Node and TypeScript are kept between runs: outside of every workspace. */
export const cacheDirectory =
  process.env['HOLDFAST_TOOLS_CACHE'] ??
  path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'holdfast-tools');

/**
 * Installs one npm package into a folder of its own in the cache, once.
 * @param {string} name
 * @param {string} version
 * @param {string} proof A path below `node_modules` that must exist afterwards.
 * @returns {Promise<string>} The absolute path of the proof.
 */
async function cached(name, version, proof) {
  const directory = path.join(cacheDirectory, `${name}-${version}`);
  const file = path.join(directory, 'node_modules', proof);
  if (existsSync(file)) return file;
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `${name}@${version}`];
  const result = await run('npm', args, { cwd: directory, timeoutMs: 180_000 });
  if (result.code !== 0 || !existsSync(file))
    throw new Error(`npm install ${name}@${version} failed\n${result.output}`);
  return file;
}

/**
 * The program of a Node major version: the running one, or the binary that the npm package `node` carries.
 * @param {number} major
 * @returns {Promise<string>}
 */
export async function nodeProgram(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  return await cached(
    'node',
    String(major),
    path.join('node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node'),
  );
}

/**
 * The compiler script of a TypeScript version.
 * @param {string} version
 * @returns {Promise<string>}
 */
export async function typescriptCompiler(version) {
  return await cached('typescript', version, path.join('typescript', 'lib', 'tsc.js'));
}
