// Sessions with a root of their own: each turn ends with a durable checkpoint; files and conversation go back together.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { defineRig, sessionWorkspaces } from '@holdfast/rig';
import { WorkspaceStore } from '@holdfast/workspacestore';

const base = mkdtempSync(path.join(tmpdir(), 'one-rig-'));
const blobs = memoryBlobs();
const leaser = memoryLeaser();
const store = await WorkspaceStore.open(blobs);
/** @param {string} id */
const notes = (id) => path.join(base, id, 'notes.txt');
const turn = async ({ input, session }) => writeFileSync(notes(session.id), String(input));
const rig = defineRig({
  loops: [{ name: 'assistant', turn }],
  primers: ['assistant'],
  sessionStore: await SessionStore.open({ ledgers: memorySessionLedgers(), leaser, blobs }),
  workspace: sessionWorkspaces(store, base),
  snapshots: { trigger: 'turn-done', priority: 'required' },
});
const session = await rig.newSession();
const good = await session.submit('good');
await good.outcome;
await (await session.submit('bad')).outcome;
await session.rewindTo(good.turn);
await session.shutdown();
const again = await rig.openSession(session.id, { drift: 'fail' });
assert.equal(readFileSync(notes(again.id), 'utf8'), 'good');
assert.equal((await again.checkpoints()).filter(({ trigger }) => trigger === 'turn-done').length, 2);
await again.shutdown();
rmSync(base, { recursive: true });
