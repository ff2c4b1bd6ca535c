import { readlinkSync } from 'node:fs';

import type { FileSystem } from './file-system.js';
import { AnchoredFileSystem } from './internal/disk/anchored-file-system.js';
import { GuardedFileSystem } from './internal/disk/guarded-file-system.js';

export interface NodeFileSystemOptions {
  /**
   * Default: `anchored` where the platform can (Linux with `/proc`), else `guarded`. Asking for `anchored` where it is
   * not available throws a `RangeError`; asking for `guarded` always works.
   */
  readonly grade?: 'anchored' | 'guarded' | undefined;
}

/** Returns the real disk, in the strongest grade that this platform has. */
export function nodeFileSystem(options: NodeFileSystemOptions = {}): FileSystem {
  const descriptors = options.grade === 'guarded' ? undefined : descriptorDirectory();
  if (descriptors !== undefined) return new AnchoredFileSystem(descriptors);
  if (options.grade === 'anchored') throw new RangeError('grade "anchored" needs Linux with /proc mounted');
  return new GuardedFileSystem({ directoriesOpen: process.platform !== 'win32' });
}

/** `/proc/<pid>/fd/` with the number by which this mount of `/proc` knows the process. */
function descriptorDirectory(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return `/proc/${readlinkSync('/proc/self')}/fd/`;
  } catch {
    return undefined;
  }
}
