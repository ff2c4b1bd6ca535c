import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { run } from '../../shared/process.mjs';

/** @typedef {'ext4' | 'xfs'} DiskType */

/** Smaller ones are refused by some versions of mkfs.xfs. */
const imageBytes = 400 * 2 ** 20;

/**
 * Runs a program of the system, and says what went wrong.
 * @param {string} command
 * @param {...string} args
 */
async function system(command, ...args) {
  const { code, output } = await run(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${code}: ${output.trim()}`);
}

/**
 * A real file system on a loop device, which can be taken away from under its users: `shutDown` stops all input and
 * output at once and writes nothing back, so that after `remount` only what was durable is there.
 */
export class LoopDisk {
  /** @param {string} directory @param {DiskType} type */
  constructor(directory, type) {
    this.type = type;
    this.image = path.join(directory, `${type}.img`);
    this.mountPoint = path.join(directory, type);
    this.mounted = false;
  }

  async make() {
    mkdirSync(this.mountPoint);
    writeFileSync(this.image, '');
    truncateSync(this.image, imageBytes);
    await system(`mkfs.${this.type}`, '-q', this.type === 'xfs' ? '-f' : '-F', this.image);
    await this.mount();
  }

  async mount() {
    await system('mount', '-o', 'loop', this.image, this.mountPoint);
    this.mounted = true;
  }

  async shutDown() {
    await system(...shutdownCommand(this.mountPoint));
  }

  async remount() {
    await this.unmount();
    await this.mount();
  }

  async unmount() {
    if (this.mounted) await system('umount', this.mountPoint);
    this.mounted = false;
  }

  async remove() {
    await this.unmount();
    rmSync(this.image, { force: true });
  }
}

/**
 * Both file systems have the same control call for it.
 * @param {string} mountPoint
 * @returns {[string, ...string[]]}
 */
export function shutdownCommand(mountPoint) {
  return ['xfs_io', '-x', '-c', 'shutdown', mountPoint];
}

/**
 * Why disks cannot be taken away here; `undefined` when they can. Tries it, since no right can be asked about.
 * @param {string} directory
 * @param {DiskType} type
 * @returns {Promise<string | undefined>}
 */
export async function obstacle(directory, type) {
  if (process.platform !== 'linux') return 'loop devices need Linux';
  if (process.getuid?.() !== 0) return 'mounting a loop device needs root';
  const disk = new LoopDisk(directory, type);
  try {
    await disk.make();
    await disk.shutDown();
    await disk.remount();
    return undefined;
  } catch (error) {
    return `no ${type} loop disk: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    await disk.remove().catch(() => undefined);
    rmSync(disk.mountPoint, { recursive: true, force: true });
  }
}
