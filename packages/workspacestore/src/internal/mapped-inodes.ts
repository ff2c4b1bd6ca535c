import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

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
  const maps = quietly(() => readMaps(`/proc/${id}/maps`));
  // Most processes map nothing so: told by a search for bytes, without a look at every line.
  if (maps === undefined || !writableShared.some((permissions) => maps.includes(permissions))) return;
  for (const [, inode] of maps.toString('latin1').matchAll(/^\S+ .w.s \S+ \S+ (\d+) /gm)) {
    if (inode !== '0') inodes.add(BigInt(inode as string));
  }
}

const writableShared = [' rw-s ', ' rwxs ', ' -w-s ', ' -wxs '];

/** Holds what was read last. */
let room = Buffer.alloc(64 * 1024);

/** A file of unknown length, which lasts until the next is read. */
function readMaps(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    for (let length = 0; ; ) {
      const count = readSync(file, room, length, room.length - length, null);
      if (count === 0) return room.subarray(0, length);
      length += count;
      if (length === room.length) room = Buffer.concat([room], 2 * length);
    }
  } finally {
    closeSync(file);
  }
}

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
