import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import {
  decodeRefsNote,
  decodeSummary,
  memoryLedger,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { memorySessionParts } from '@holdfast/journal/testing';
import { describe, expect, it } from 'vitest';

import { type JournalVectors, makeVectors } from './support/make-vectors.js';
import { collect } from './support/world.js';

// Vectors are added, never changed: journals that were written once must stay readable, bit for bit. A new file is made by
// deleting nothing and running the test once.
const path = new URL('../vectors/journal-1.json', import.meta.url);

function vectors(): JournalVectors {
  return JSON.parse(readFileSync(path, 'utf8')) as JournalVectors;
}

describe('journal vectors', () => {
  it('are what is written today', async () => {
    const made = await makeVectors();
    if (!existsSync(path)) writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`);
    expect(made).toEqual(vectors());
  });

  it('are read by what is documented, without our code', () => {
    const { records, session } = vectors();
    let previous = createHash('sha256').update(`holdfast journal 1\n${session}`).digest('hex');
    for (const [index, record] of records.slice(0, 12).entries()) {
      const digest = record.slice(0, 64);
      const text = record.slice(65);
      expect(record[64]).toBe('\n');
      expect(createHash('sha256').update(text).digest('hex')).toBe(digest);
      const members = JSON.parse(text) as Record<string, unknown>;
      expect(members).toMatchObject({ v: 1, seq: index + 1, previous, index: 0 });
      previous = digest;
    }
    const index = JSON.parse((records.at(-1) as string).slice(65)) as {
      kind: string;
      seq: number;
      body: { ids: string[] };
    };
    expect([index.kind, index.body.ids.length]).toEqual(['index', index.seq - 1]);
  });

  it('are read by our code: events, fold, notes', async () => {
    const { records, session, events, fold, refs, summary } = vectors();
    const ledger = memoryLedger();
    const parts = memorySessionParts({ ledgers: sharedSessionLedgers(ledger) });
    const store = await SessionStore.open(parts);
    const bytes = records.slice(0, 12).map((record) => new TextEncoder().encode(record));
    await ledger.append(`sessions/${session}/journal`, 0, bytes);
    await parts.blobs.put(
      `journal/${session}/${createHash('sha256')
        .update(JSON.stringify('x'.repeat(524_300)))
        .digest('hex')}`,
      new TextEncoder().encode(JSON.stringify('x'.repeat(524_300))),
    );
    const view = await store.read(session);
    const read = (await collect(view.events())).map((event) =>
      event.id === 'large' ? { ...event, body: 'large' } : event,
    );
    expect(JSON.parse(JSON.stringify(read))).toEqual(events);
    await view.verify();
    await view.close();
    const note = decodeRefsNote(session, new TextEncoder().encode(refs));
    expect(note).toMatchObject({ tip: (fold as { seq: number }).seq, epoch: 2 });
    expect(note.refs.length).toBe(1);
    expect(decodeSummary(session, new TextEncoder().encode(summary))).toMatchObject({
      title: 'vectors ✓',
      state: 'idle',
    });
  });
});
