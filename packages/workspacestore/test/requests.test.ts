import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { layerBlobs, metricsLayer } from '@holdfast/blobs/layers';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach, beforeEach, expect, test } from 'vitest';

let place = '';
beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'holdfast-requests-'));
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

test.each([false, true])(
  'a checkpoint of ten changed files is four calls of the blobs, none of them a read (cache: %s)',
  async (cached) => {
    const root = path.join(place, 'root');
    for (let i = 0; i < 10; i += 1) {
      mkdirSync(path.join(root, `d${i}`), { recursive: true });
      for (let j = 0; j < 5; j += 1) writeFileSync(path.join(root, `d${i}/f${j}`), `${i} ${j}\n`.repeat(200));
    }
    const calls: string[] = [];
    const blobs = layerBlobs(memoryBlobs(), [metricsLayer(({ operation }) => calls.push(operation))]);
    const options = cached ? { cacheDirectory: path.join(place, 'cache') } : {};
    const store = await WorkspaceStore.open(blobs, options);
    let { ref, hold } = await store.snapshot(root);
    // What follows the first snapshot of a store has had its time.
    await store.collect({ live: () => [ref] });
    for (let round = 0; round < 3; round += 1) {
      store.release(hold);
      for (let i = 0; i < 10; i += 1) writeFileSync(path.join(root, `d${i}/f1`), `round ${round} ${i}\n`);
      calls.length = 0;
      ({ ref, hold } = await store.snapshot(root, { base: ref }));
      expect([round, [...calls]]).toEqual([round, ['put', 'stat', 'put', 'put']]);
    }
    await store.close();
    await blobs.close();
  },
);
