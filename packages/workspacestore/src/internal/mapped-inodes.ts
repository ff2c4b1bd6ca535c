import { readdirSync, readFileSync } from 'node:fs';

import { Pacer } from '@holdfast/base';

/**
 * Inodes of files that some process has mapped shared and writable. Only the first store to a page of such a mapping
 * moves the file's ctime, so a file that was read while it was mapped may change again without a trace in its stat.
 * Inode numbers alone: a file of another disk with the same number is merely read once more. Processes that cannot be
 * looked at, and platforms without `/proc`, contribute nothing.
 */
export function mappedInodes(): ReadonlySet<bigint> {
  const inodes = new Set<bigint>();
  for (const id of processIds()) addMapped(id, inodes);
  return inodes;
}

/** The same in slices, for a thread that has other things to do. */
export async function mappedInodesLater(): Promise<ReadonlySet<bigint>> {
  const inodes = new Set<bigint>();
  const pacer = new Pacer({ budget: 3 });
  for (const id of processIds()) {
    addMapped(id, inodes);
    if (pacer.due) await pacer.rest();
  }
  return inodes;
}

function processIds(): string[] {
  return (quietly(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name));
}

function addMapped(id: string, inodes: Set<bigint>): void {
  const maps = quietly(() => readFileSync(`/proc/${id}/maps`, 'latin1'));
  for (const [, inode] of maps?.matchAll(/^\S+ .w.s \S+ \S+ (\d+) /gm) ?? []) {
    if (inode !== '0') inodes.add(BigInt(inode as string));
  }
}

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
