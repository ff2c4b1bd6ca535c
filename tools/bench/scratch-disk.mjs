import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { must } from './timed.mjs';

/**
 * Mounts a fresh ext4 with journal from an image file, for machines whose own disk has none. Needs root.
 * @param {string} directory Holds the image; the mount point is in it.
 * @param {number} gib Size; the file is sparse.
 * @returns {{ path: string, remove: () => void }}
 */
export function mountScratchDisk(directory, gib) {
  mkdirSync(directory, { recursive: true });
  const image = path.join(directory, 'disk.img');
  const point = path.join(directory, 'disk');
  writeFileSync(image, '');
  truncateSync(image, gib * 2 ** 30);
  // Small files by the hundred thousand need more inodes than the default has.
  must(['mkfs.ext4', '-q', '-F', '-i', '4096', image], { cwd: '/' });
  mkdirSync(point, { recursive: true });
  must(['mount', '-o', 'loop', image, point], { cwd: '/' });
  return {
    path: point,
    remove: () => {
      must(['umount', point], { cwd: '/' });
      rmSync(image);
    },
  };
}
