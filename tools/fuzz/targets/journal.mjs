import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { memoryBlobs } from '@holdfast/blobs';
import {
  checkEvent,
  checkPrivate,
  checkStoredEvent,
  decodeRefsNote,
  decodeSummary,
  memoryLedger,
  parsePreparedEvent,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { memoryLeaser } from '@holdfast/lease';
import { decodeRestoreRecord } from '@holdfast/session';

/** @typedef {import('../target.mjs').Target} Target */

/** @type {{ session: string, records: string[], refs: string, summary: string, bodies: unknown }} */
const vectors = JSON.parse(
  readFileSync(new URL('../../../packages/journal/vectors/journal-1.json', import.meta.url), 'utf8'),
);

/** Writes the leading digest of a sealed text anew. @type {NonNullable<Target['mend']>} */
function mendDigest(bytes, random) {
  if (random.below(5) === 0) return bytes;
  const body = bytes.subarray(65);
  return Buffer.concat([Buffer.from(`${createHash('sha256').update(body).digest('hex')}\n`), body]);
}

const records = vectors.records.map((text) => Buffer.from(text));

/** @type {Target} */
export const journalRecord = {
  name: 'journal-record',
  what: 'a record of a journal, after the records before it',
  // The first byte says which record.
  seeds: () => records.map((bytes, index) => Buffer.concat([Buffer.from([index]), bytes])),
  json: true,
  mend: (bytes, random) => Buffer.concat([bytes.subarray(0, 1), mendDigest(bytes.subarray(1), random)]),
  share: 0.5,
  run: async (bytes) => {
    const index = (bytes[0] ?? 0) % records.length;
    const ledger = memoryLedger();
    const name = `sessions/${vectors.session}/journal`;
    const stored = [...records.slice(0, index), Buffer.from(bytes.subarray(1)), ...records.slice(index + 1)];
    await ledger.append(
      name,
      0,
      stored.map((record) => (record.length === 0 ? Buffer.from('x') : record)),
    );
    const leaser = memoryLeaser();
    const blobs = memoryBlobs();
    const store = await SessionStore.open({ ledgers: sharedSessionLedgers(ledger), leaser, blobs });
    try {
      for await (const _ of store.list()) continue;
      const journal = await store.open(vectors.session);
      try {
        for await (const _ of journal.events()) continue;
        await journal.verify();
      } finally {
        await journal.close();
      }
    } finally {
      await store.close();
      await leaser.close();
    }
  },
};

/** @type {Target} */
export const refsNote = {
  name: 'refs-note',
  what: 'the note of the refs that a session needs',
  seeds: () => [Buffer.from(vectors.refs)],
  json: true,
  mend: mendDigest,
  run: (bytes) => decodeRefsNote(vectors.session, bytes),
};

/** @type {Target} */
export const summaryNote = {
  name: 'summary-note',
  what: 'the summary that a list of sessions shows',
  seeds: () => [Buffer.from(vectors.summary)],
  json: true,
  mend: mendDigest,
  run: (bytes) => {
    const summary = decodeSummary(vectors.session, bytes);
    if (summary === undefined) return;
    if (typeof summary.title !== 'string' && summary.title !== undefined)
      throw new Error('a title that is no text');
    if (!Number.isFinite(summary.createdAt) || !Number.isFinite(summary.lastActive))
      throw new Error('a time that is none');
    if (typeof summary.state !== 'string') throw new Error('a state that is no text');
  },
};

const event = { id: 'event-1', time: 1_700_000_000_000, type: 'note', body: { text: 'x' } };
const restored = {
  id: 'event-2',
  time: 1_700_000_000_000,
  type: 'WorkspaceRestored',
  body: { ref: `v1:sha256:${'0'.repeat(64)}` },
};

/** @type {Target} */
export const preparedEvent = {
  name: 'prepared-event',
  what: 'an event that was prepared before a restore',
  seeds: () => [event, restored].map((value) => Buffer.from(JSON.stringify(value))),
  json: true,
  run: (bytes) => parsePreparedEvent(bytes),
};

/** @type {Target} */
export const restoreRecord = {
  name: 'restore-record',
  what: 'what a restore keeps for the journal in its intent',
  seeds: () => [
    Buffer.from(
      JSON.stringify({
        v: 1,
        event: JSON.stringify(restored),
        prepared: { restoreId: '0'.repeat(32), ref: restored.body.ref, strategy: 'reconcile', exact: true },
        rewind: { id: 'r', to: 'turn-1', seq: 4 },
      }),
    ),
  ],
  json: true,
  run: (bytes) => decodeRestoreRecord(bytes),
};

/** Bodies of the catalogue, from a journal that has all of them. */
const bodies = records.flatMap((bytes) => {
  const { kind, type, body } = JSON.parse(bytes.subarray(65).toString());
  return kind === 'event' || kind === 'private' ? [{ kind, type, body }] : [];
});

/** @type {Target} */
export const eventBody = {
  name: 'event-body',
  what: 'the body of an event of the catalogue',
  seeds: () => bodies.map((value) => Buffer.from(JSON.stringify(value))),
  json: true,
  run: (bytes) => {
    let value;
    try {
      value = JSON.parse(Buffer.from(bytes).toString());
    } catch {
      return;
    }
    const { kind, type, body } = value ?? {};
    if (kind === 'private') checkPrivate(type, body);
    else if (Buffer.from(bytes).length % 2 === 0) checkEvent(type, body);
    else checkStoredEvent(type, body);
  },
};
