import { type Blobs, MemoryBlobStorage, memoryBlobs } from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';

/** A harness over memory; `reopen` finds the storage of a store in a table of its own. */
export function memoryHarness(adapter: string = 'memory'): BlobsHarness {
  const storages = new WeakMap<Blobs, MemoryBlobStorage>();
  const open = (storage: MemoryBlobStorage): Blobs => {
    const store = memoryBlobs({ storage });
    storages.set(store, storage);
    return store;
  };
  return {
    adapter,
    fresh: async () => await Promise.resolve(open(new MemoryBlobStorage())),
    reopen: async (store) => await Promise.resolve(open(storages.get(store) as MemoryBlobStorage)),
  };
}
