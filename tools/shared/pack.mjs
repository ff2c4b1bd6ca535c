import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { toolEnvironment } from '../setup.mjs';
import { run } from './process.mjs';
import { repositoryRoot } from './workspace.mjs';

/**
 * @typedef {object} PackedPackage
 * @property {string} name
 * @property {string} version
 * @property {string} tarball Absolute path.
 * @property {readonly string[]} files Paths inside the package.
 */

/**
 * Packs every published package as it would be published.
 * @param {string} destination Directory for the packed files; made when missing.
 * @returns {Promise<PackedPackage[]>}
 */
export async function packAll(destination) {
  mkdirSync(destination, { recursive: true });
  const args = [
    '--recursive',
    '--filter',
    './packages/*',
    'pack',
    '--pack-destination',
    destination,
    '--json',
  ];
  const result = await run('pnpm', args, { cwd: repositoryRoot, env: toolEnvironment(repositoryRoot) });
  if (result.code !== 0) throw new Error(`pnpm pack failed\n${result.output}`);
  /** @type {{ name: string, version: string, filename: string }[]} */
  const packed = JSON.parse(result.stdout);
  return packed
    .map((item) => ({
      name: item.name,
      version: item.version,
      tarball: path.resolve(destination, item.filename),
    }))
    .map((item) => ({ ...item, files: listPacked(item.tarball) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Lists the files of a packed package. The list that pnpm reports lacks the licence, which it adds from the root.
 * @param {string} tarball
 * @returns {string[]}
 */
function listPacked(tarball) {
  const listing = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' });
  return listing
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith('/'))
    .map((line) => line.replace(/^package\//, ''))
    .sort();
}

/**
 * Reads one file of a packed package.
 * @param {string} tarball
 * @param {string} file
 * @returns {string}
 */
export function readPacked(tarball, file) {
  return execFileSync('tar', ['-xzOf', tarball, `package/${file}`], { encoding: 'utf8' });
}
