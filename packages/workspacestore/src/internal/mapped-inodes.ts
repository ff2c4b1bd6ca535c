import { readdirSync, readFileSync } from 'node:fs';

import { Pacer } from '@holdfast/base';

/**
 * Inodes of files that some process has mapped shared and writable. Only the first store to a page of such a mapping
 * moves the file's ctime, so a file that was read while it was mapped may change again without a trace in its stat.
 * Inode numbers alone: a file of another disk with the same number is merely read once more. Processes that cannot be
 * looked at, and platforms without `/proc`, contribute nothing. In slices: it takes a tenth of a millisecond a process.
 */
export async function mappedInodes(): Promise<ReadonlySet<bigint>> {
  const pacer = new Pacer({ budget: 3 });
  const steps = findMapped();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (pacer.due) await pacer.rest();
  }
}

/** The same in steps, one for each process. */
export function* findMapped(): Generator<void, ReadonlySet<bigint>> {
  const inodes = new Set<bigint>();
  for (const id of processIds()) {
    addMapped(id, inodes);
    yield;
  }
  return inodes;
}

function processIds(): string[] {
  return (quietly(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name));
}

const writableShared = [' rw-s ', ' rwxs ', ' -w-s ', ' -wxs '];

function addMapped(id: string, inodes: Set<bigint>): void {
  const maps = quietly(() => readFileSync(`/proc/${id}/maps`));
  // Most processes map nothing so: told by a search for bytes, without a look at every line.
  if (maps === undefined || !writableShared.some((permissions) => maps.includes(permissions))) return;
  for (const [, inode] of maps.toString('latin1').matchAll(/^\S+ .w.s \S+ \S+ (\d+) /gm)) {
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
