import { statfsSync } from 'node:fs';
import os from 'node:os';

import { must } from './timed.mjs';

/** @type {Readonly<Record<string, string>>} */
const fileSystems = {
  ef53: 'ext4',
  58465342: 'xfs',
  '9123683e': 'btrfs',
  '2fc12fc1': 'zfs',
  1021994: 'tmpfs',
  '794c7630': 'overlay',
};

/**
 * What matters of a machine, without naming it.
 * @param {string} directory On the file system that is measured on.
 */
export function describeMachine(directory) {
  const cpus = os.cpus();
  const magic = (Number(statfsSync(directory).type) >>> 0).toString(16);
  return {
    cpu: (cpus[0]?.model ?? 'unknown').replaceAll(/\s+/g, ' ').trim(),
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release().split('-')[0]}`,
    node: process.version,
    fileSystem: `${fileSystems[magic] ?? `type ${magic}`}${journalOf(directory)}`,
  };
}

/** @typedef {ReturnType<typeof describeMachine>} Machine */

/**
 * Whether an ext4 file system has a journal: without one it steps over inodes that were deleted in the last minutes, so
 * that whatever creates files after a deletion looks slow.
 * @param {string} directory
 */
function journalOf(directory) {
  try {
    const [device = ''] = must(['df', '--output=source', directory], { cwd: '/' })
      .trim()
      .split('\n')
      .slice(-1);
    const facts = must(['dumpe2fs', '-h', device], { cwd: '/' });
    return facts.includes('has_journal') ? ' with journal' : ' without journal';
  } catch {
    // Not ext, or not ours to look at.
    return '';
  }
}
