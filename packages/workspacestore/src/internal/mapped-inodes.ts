import { readdirSync, readFileSync } from 'node:fs';

/**
 * Inodes of files that some process has mapped shared and writable. Only the first store to a page of such a mapping
 * moves the file's ctime, so a file that was read while it was mapped may change again without a trace in its stat.
 * Inode numbers alone: a file of another disk with the same number is merely read once more. Processes that cannot be
 * looked at, and platforms without `/proc`, contribute nothing.
 */
export function mappedInodes(): ReadonlySet<bigint> {
  const inodes = new Set<bigint>();
  for (const process of quietly(() => readdirSync('/proc')) ?? []) {
    if (!/^\d+$/.test(process)) continue;
    const maps = quietly(() => readFileSync(`/proc/${process}/maps`, 'latin1'));
    if (maps === undefined) continue;
    for (const [, inode] of maps.matchAll(/^\S+ .w.s \S+ \S+ (\d+) /gm)) {
      if (inode !== '0') inodes.add(BigInt(inode as string));
    }
  }
  return inodes;
}

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
