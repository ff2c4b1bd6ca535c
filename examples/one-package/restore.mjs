// Brings a live directory back, by a plan that is shown first, without a session or a journal.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { applyRestore, noJournal, previewRestore, recover } from '@holdfast/restore';
import { WorkspaceStore } from '@holdfast/workspacestore';

const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'one-restore-')));
const root = path.join(place, 'project');
mkdirSync(root);
writeFileSync(path.join(root, 'main.ts'), 'good');
const store = await WorkspaceStore.open(memoryBlobs());
const { ref } = await store.snapshot(root);
const damage = () => writeFileSync(path.join(root, 'main.ts'), 'broken');
damage();
writeFileSync(path.join(root, 'debris.ts'), '');

await recover(root, { isAlive: () => 'dead' }); // first, always: a restore may have been interrupted
const plan = await previewRestore(store, ref, root);
assert.deepEqual([plan.replace.length, plan.delete.length], [1, 1]);
const options = {
  session: 'one-package',
  owner: { pid: process.pid },
  hostLock: async () => await Promise.resolve({ [Symbol.asyncDispose]: async () => await Promise.resolve() }),
  journal: noJournal,
};
const receipt = await applyRestore(store, ref, root, { ...options, plan });
assert.deepEqual([receipt.exact, receipt.replaced, receipt.deleted], [true, 1, 1]);
assert.deepEqual(readdirSync(root), ['main.ts']);
assert.equal((await store.scan(root)).treeKey, (await store.openTree(ref)).treeKey);

damage();
await assert.rejects(applyRestore(store, ref, root, { ...options, plan }), { code: 'RESTORE_FAILED' }); // a stale plan
await store.close();
rmSync(place, { recursive: true });
