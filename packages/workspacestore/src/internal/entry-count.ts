import { type Dirent, readdirSync } from 'node:fs';

import { joinPath } from './entry-path.js';
import type { IgnoreMatcher } from './ignore-matcher.js';

/**
 * Tells whether a tree has more entries than that, as far as a quick look at names can: it decides which thread does the
 * work, and nothing else. Looks at `limit` names and a directory's worth at most.
 */
export function hasMoreEntries(root: string, ignore: IgnoreMatcher, limit: number): boolean {
  const waiting: Uint8Array[] = [new Uint8Array(0)];
  let count = 0;
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    const entries = listQuietly(root, directory);
    count += entries.length;
    if (count > limit) return true;
    for (const entry of entries) {
      if (!entry.isDirectory()) continue;
      const path = joinPath(directory, Buffer.from(entry.name, 'latin1'));
      if (!ignore.matches(path, true)) waiting.push(path);
    }
  }
  return false;
}

function listQuietly(root: string, directory: Uint8Array): Dirent[] {
  const path = Buffer.concat([Buffer.from(`${root}/`), directory]);
  try {
    // One byte a character, whatever the bytes of the names are.
    return readdirSync(path, { withFileTypes: true, encoding: 'latin1' });
  } catch {
    return [];
  }
}
