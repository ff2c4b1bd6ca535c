// Snapshots of a directory, compared and taken elsewhere: no session, no journal, no lease.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { openFsBlobs } from '@holdfast/blobs/fs';
import { WorkspaceStore } from '@holdfast/workspacestore';

const place = mkdtempSync(path.join(tmpdir(), 'one-workspacestore-'));
const root = path.join(place, 'root');
mkdirSync(path.join(root, 'bin'), { recursive: true });
const program = path.join(root, 'bin', 'run.sh');
writeFileSync(program, '#!/bin/sh\n');
chmodSync(program, 0o755);
// A file that changed a moment before it was captured is read once more: a second change could have left the same times.
while (Date.now() - statSync(program).ctimeMs < 50) await setTimeout(10);

const blobs = await openFsBlobs(path.join(place, 'blobs'));
const store = await WorkspaceStore.open(blobs, { cacheDirectory: path.join(place, 'cache') });
const first = await store.snapshot(root);
writeFileSync(path.join(root, 'notes.txt'), 'new\n');
const second = await store.snapshot(root, { base: first.ref });
assert.equal(second.stats.filesRead, 1, 'what did not change is not read again');

const { changes } = await store.diff(first.ref, second.ref);
assert.deepEqual(
  changes.map(({ path: name }) => name),
  ['notes.txt'],
);
await store.materialize(first.ref, path.join(place, 'copy'));
assert.equal(readFileSync(path.join(place, 'copy', 'bin', 'run.sh'), 'utf8'), '#!/bin/sh\n');
assert.equal(statSync(path.join(place, 'copy', 'bin', 'run.sh')).mode & 0o777, 0o755);

for (const { hold } of [first, second]) store.release(hold);
assert.deepEqual((await store.verify('all', { deep: true })).problems, []);
await store.close();
await blobs.close();
rmSync(place, { recursive: true });
