// A session's journal: a retry is written once, and whoever lost the session cannot write any more.
import assert from 'node:assert/strict';

import { memoryBlobs } from '@holdfast/blobs';
import { JournalFencedError, memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { MemoryLeases, memoryLeaser } from '@holdfast/lease';

const leases = new MemoryLeases();
const store = await SessionStore.open({
  ledgers: memorySessionLedgers(), // any driver of the contract
  leaser: memoryLeaser({ leases }),
  blobs: memoryBlobs(), // for bodies that are too large for a record
});
const journal = await store.create({ title: 'one package' });
await journal.append({ type: 'SessionStarted', body: {} });
const note = { type: 'acme.note', id: 'note-1', body: { text: 'x'.repeat(3_000_000) } };
const { seq } = await journal.append(note);
assert.equal((await journal.append(note)).seq, seq);

leases.expire(`sessions/${journal.id}`, { silently: true }); // as if this process had been stopped for long
const successor = await store.open(journal.id);
assert.ok(successor.epoch > journal.epoch);
await assert.rejects(journal.append({ type: 'acme.late', body: {} }), (error) =>
  JournalFencedError.is(error),
);

const found = [];
for await (const event of successor.events()) found.push(event);
assert.deepEqual(
  found.map(({ type }) => type),
  ['SessionStarted', 'acme.note'],
);
assert.deepEqual(found[1]?.body, note.body);
await successor.close();
const summaries = [];
for await (const summary of store.list()) summaries.push(summary);
assert.deepEqual([summaries.length, summaries[0]?.title], [1, 'one package']);
await store.close();
