import { readFileSync } from 'node:fs';
import os from 'node:os';

import { run } from '../shared/process.mjs';

/**
 * @typedef {object} Machine
 * @property {string} node
 * @property {string} system
 * @property {string} processor
 * @property {number} processors
 * @property {string} memory
 * @property {string} fileSystem Where temporary directories are.
 * @property {string} commit
 */

/**
 * What a reader needs to judge figures.
 * @param {string} root The repository.
 * @returns {Promise<Machine>}
 */
export async function describeMachine(root) {
  return {
    node: process.version,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    processor: os.cpus()[0]?.model ?? 'unknown',
    processors: os.cpus().length,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    fileSystem: fileSystemOf(os.tmpdir()),
    commit: await commitOf(root),
  };
}

/** @param {string} root */
async function commitOf(root) {
  const head = await run('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root });
  if (head.code !== 0) return 'not a git checkout';
  const status = await run('git', ['status', '--porcelain', '--untracked-files=no'], { cwd: root });
  return head.stdout.trim() + (status.stdout.trim() === '' ? '' : ' with local changes');
}

/**
 * The type of the file system that holds a directory, from the table of mounts; Linux only.
 * @param {string} directory
 */
export function fileSystemOf(directory) {
  let mounts;
  try {
    mounts = readFileSync('/proc/self/mounts', 'utf8');
  } catch {
    return 'unknown';
  }
  let best = { point: '', type: 'unknown' };
  for (const line of mounts.split('\n')) {
    const [, point = '', type = ''] = line.split(' ');
    const inside = point === '/' || directory === point || directory.startsWith(`${point}/`);
    if (inside && point.length >= best.point.length) best = { point, type };
  }
  return best.type;
}
