import { memoryBlobs } from '@holdfast/blobs';
import { MemorySessionStorage, memorySessionLedgers, SessionStore } from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

describe('session store', () => {
  it('creates a session, appends, closes and opens it again', async () => {
    const storage = new MemorySessionStorage();
    const leaser = memoryLeaser();
    const blobs = memoryBlobs();
    const store = await SessionStore.open({ ledgers: memorySessionLedgers({ storage }), leaser, blobs });
    const journal = await store.create({ title: 'first' });
    const { seq } = await journal.append({ type: 'SessionStarted', body: {} });
    expect(seq).toBe(3);
    await journal.append({ type: 'note', body: { big: 'x'.repeat(600_000) } });
    const { id } = journal;
    await journal.close();
    const again = await store.open(id);
    const events = [];
    for await (const event of again.events()) events.push(event.type);
    expect(events).toEqual(['SessionStarted', 'note']);
    expect(again.fold.title).toBe('first');
    expect(again.epoch).toBe(2);
    expect(await again.verify()).toEqual({ records: 5, events: 2, offloaded: 1 });
    const list = [];
    for await (const summary of store.list()) list.push(summary);
    expect(list).toMatchObject([{ id, title: 'first', state: 'idle' }]);
    await store.close();
  });
});
