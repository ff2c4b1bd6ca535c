// The golden trees on whatever Node runs this: the built package, no test runner of ours, both orders of creation.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { canonicalOrder, goldenTrees, writeTree } from '@holdfast/workspacestore/testing';

await describe('a logical tree has one ref', async () => {
  for (const { name, nodes, rootMode, rules, ref, omitted } of goldenTrees()) {
    if (omitted.length > 0) continue;
    await it(name, async () => {
      const place = mkdtempSync(path.join(tmpdir(), 'holdfast-golden-'));
      try {
        for (const reverse of [false, true]) {
          const root = path.join(place, String(reverse));
          mkdirSync(root);
          writeTree(nodeFileSystem(), root, canonicalOrder(nodes), { rootMode, reverse });
          const store = await WorkspaceStore.open(memoryBlobs());
          const snapshot = await store.snapshot(root, { ignore: rules });
          await store.close();
          assert.equal(snapshot.ref, ref);
        }
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    });
  }
});
