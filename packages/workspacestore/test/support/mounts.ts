import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { LoopDisk } from '../../../../tools/crash/disk/loop-disk.mjs';

export const fileSystems = ['ext4', 'xfs', 'tmpfs', 'overlay'] as const;
export type FileSystemType = (typeof fileSystems)[number];

export interface Mounted {
  /** The directory that is on the file system. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Mounts a fresh file system below a directory. Tries it, since no right can be asked about: a text says why not.
 *
 * @param below Fills the lower layer of an overlay before it is mounted.
 */
export async function mountFresh(
  directory: string,
  type: FileSystemType,
  below: (lower: string) => void = () => undefined,
): Promise<Mounted | string> {
  if (process.platform !== 'linux') return 'mounting needs Linux';
  if (process.getuid?.() !== 0) return 'mounting needs root';
  const undo: (() => Promise<void> | void)[] = [];
  const remove = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const mount = (point: string, ...options: readonly string[]): string => {
    fs.mkdirSync(point, { recursive: true });
    execFileSync('mount', [...options, point], { stdio: 'pipe' });
    undo.push(() => {
      execFileSync('umount', [point], { stdio: 'pipe' });
    });
    return point;
  };
  try {
    if (type === 'ext4' || type === 'xfs') {
      const disk = new LoopDisk(directory, type);
      undo.push(() => disk.remove());
      await disk.make();
      return { path: disk.mountPoint, remove };
    }
    const memory = mount(path.join(directory, 'memory'), '-t', 'tmpfs', 'tmpfs');
    if (type === 'tmpfs') return { path: memory, remove };
    const [lower, upper, work] = ['lower', 'upper', 'work'].map((name) => path.join(memory, name));
    for (const layer of [lower, upper, work]) fs.mkdirSync(layer as string);
    below(lower as string);
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    const merged = mount(path.join(directory, 'merged'), '-t', 'overlay', 'overlay', '-o', layers);
    return { path: merged, remove };
  } catch (error) {
    await remove().catch(() => undefined);
    return `no ${type}: ${error instanceof Error ? error.message.trim() : String(error)}`;
  }
}
