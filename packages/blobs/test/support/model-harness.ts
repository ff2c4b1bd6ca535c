import { ManualClock } from '@holdfast/base/testing';
import type { Blobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import type { BlobsHarness } from '@holdfast/blobs/testing';
import { CrashPoint, ModelFileSystem, readTree } from '@holdfast/durable/testing';

/** Where the store lies on a model disk; the parents do not exist at first. */
export const modelDirectory = '/var/store';

/** Opens the fs store of a model disk; model time does not move, so no writer ever looks dead. */
export async function openModelBlobs(fileSystem: ModelFileSystem): Promise<Blobs> {
  return await openFsBlobs(modelDirectory, { fileSystem, clock: new ManualClock(0) });
}

/** What a loss of power leaves that takes everything it may take. */
export function loseEverything(fileSystem: ModelFileSystem): ModelFileSystem {
  const point = new CrashPoint(fileSystem);
  const [, worst] = [...point.choices({ exhaustiveUpTo: 0, samples: 0 })];
  return point.state(worst ?? []);
}

/** A harness over the strict crash model of a disk. */
export function modelHarness(): BlobsHarness {
  const disks = new WeakMap<Blobs, ModelFileSystem>();
  const open = async (disk: ModelFileSystem): Promise<Blobs> => {
    const store = await openModelBlobs(disk);
    disks.set(store, disk);
    return store;
  };
  const diskOf = (store: Blobs): ModelFileSystem => disks.get(store) as ModelFileSystem;
  return {
    adapter: 'fs on the strict crash model',
    limits: { manyKeys: 120 },
    fresh: async () => await open(new ModelFileSystem()),
    reopen: async (store) => await open(diskOf(store)),
    crash: async (store) => await open(loseEverything(diskOf(store))),
    leftovers: async (store) => {
      const names = Object.keys(readTree(diskOf(store), '/'));
      return await Promise.resolve(names.filter((name) => name.includes('.holdfast-')).length);
    },
  };
}
