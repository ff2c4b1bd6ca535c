import { type DirHandle, type FileSystem, FileSystemError } from '@holdfast/durable';

import { joinPath } from './entry-path.js';
import type { IgnoreMatcher } from './ignore-matcher.js';

/** Each level keeps a directory open. */
const deepest = 32;

/**
 * Tells whether a tree has more entries than that, as far as a quick look can: it decides which thread does the work, and
 * nothing else. Looks at `limit` entries and a directory's names at most, each from the directory that holds it, and not far
 * down.
 */
export function hasMoreEntries(
  fileSystem: FileSystem,
  root: DirHandle,
  ignore: IgnoreMatcher,
  limit: number,
): boolean {
  let count = 0;
  /** Whether the limit is passed here or below. */
  const visit = (dir: DirHandle, path: Uint8Array, depth: number): boolean => {
    const names = fileSystem.readdir(dir);
    count += names.length;
    if (count > limit) return true;
    if (depth === deepest) return false;
    return names.some((name) => {
      if (fileSystem.lstat(dir, name)?.kind !== 'directory') return false;
      const below = joinPath(path, name);
      if (ignore.matches(below, true)) return false;
      const child = fileSystem.openDir(dir, name);
      try {
        return visit(child, below, depth + 1);
      } finally {
        fileSystem.close(child);
      }
    });
  };
  try {
    return visit(root, new Uint8Array(0), 1);
  } catch (error) {
    // What cannot be looked at is for the capture to say.
    if (FileSystemError.is(error)) return false;
    throw error;
  }
}
