// The contract suite under `node --test`, on the built package: npx tsc -b packages/blobs, then node --test this file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { MemoryBlobStorage, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { prefixedHarness, secondViewHarness, testBlobs } from '@holdfast/blobs/testing';

const base = mkdtempSync(join(tmpdir(), 'holdfast-blobs-node-'));
after(() => {
  rmSync(base, { recursive: true, force: true });
});

/** Makes a harness of a function that opens a store over some storage, and one that makes a fresh storage. */
function harnessOf(adapter, makeStorage, open) {
  const storages = new WeakMap();
  const openOver = async (storage) => {
    const store = await open(storage);
    storages.set(store, storage);
    return store;
  };
  return {
    adapter,
    limits: { manyKeys: 100 },
    fresh: async () => await openOver(makeStorage()),
    reopen: async (store) => await openOver(storages.get(store)),
  };
}

let count = 0;
const memory = harnessOf(
  'memory',
  () => new MemoryBlobStorage(),
  (storage) => memoryBlobs({ storage }),
);
const fs = harnessOf('fs', () => join(base, String((count += 1))), openFsBlobs);

for (const harness of [memory, fs]) {
  testBlobs({ describe, it }, harness);
  testBlobs({ describe, it }, prefixedHarness(harness));
  testBlobs({ describe, it }, secondViewHarness(harness));
}
