import { JournalCorruptError } from '../errors.js';
import type { JournalRecord, ResolvedRecord } from '../record.js';
import type { IdWindow } from './id-window.js';
import { type IndexBody, JournalPosition, parseIndexBody } from './journal-position.js';
import type { RecordReader } from './record-reader.js';

/**
 * Finds where a journal stands without reading all of it.
 *
 * 1. Read the last record; it names the last index record.
 * 2. Start from that index record's fold, and fill the id window from as many older ones as it spans.
 * 3. Replay what came after the index record, checking the chain up to the last record.
 */
export async function loadPosition(
  reader: RecordReader,
  ids: IdWindow,
  signal?: AbortSignal,
): Promise<JournalPosition> {
  const position = JournalPosition.beginningOf(reader.sessionId);
  const tip = await reader.tip(signal);
  if (tip === 0) return position;
  const last = await reader.one(tip, signal);
  const start = isIndex(last) ? last.seq : last.index;
  if (start > 0) {
    const index = await readIndex(reader, start, signal);
    if (index !== 'other-version') {
      position.startAt(index.record, index.body);
      const floor = Math.max(0, tip - ids.size);
      const { indexes, unread } = await indexesBack(reader, index.body, floor, signal);
      if (unread > floor) {
        for await (const record of reader.read({ from: floor + 1, to: unread, signal })) {
          ids.add(record.id, record.seq);
        }
      }
      for (const older of indexes) ids.addRange(older.body.previousIndex + 1, older.body.ids);
      ids.addRange(index.body.previousIndex + 1, index.body.ids);
    }
  }
  await replay(reader, position, ids, tip, signal);
  return position;
}

/** Reads what was appended since and moves `position` there. */
export async function replay(
  reader: RecordReader,
  position: JournalPosition,
  ids: IdWindow,
  to: number,
  signal?: AbortSignal,
): Promise<void> {
  const { digest: after, fold } = position;
  const range = { from: position.tip + 1, to, after, epoch: fold.fenceEpoch, signal };
  for await (const record of reader.read(range)) {
    const resolved = await reader.resolve(record, signal);
    position.add(resolved);
    ids.add(record.id, record.seq);
  }
}

export interface LoadedIndex {
  readonly record: ResolvedRecord;
  readonly body: IndexBody;
}

/**
 * Reads the index records before `newest` while they cover anything above `floor`, oldest first. `unread`: up to where
 * records must be read instead, because an index record has another fold version; 0 when there is none.
 */
export async function indexesBack(
  reader: RecordReader,
  newest: Pick<IndexBody, 'previousIndex' | 'previousDigest'>,
  floor: number,
  signal?: AbortSignal,
): Promise<{ readonly indexes: readonly LoadedIndex[]; readonly unread: number }> {
  const found: LoadedIndex[] = [];
  let link = newest;
  while (link.previousIndex > Math.max(0, floor)) {
    const index = await readIndex(reader, link.previousIndex, signal);
    if (index === 'other-version') return { indexes: found.reverse(), unread: link.previousIndex };
    if (index.record.digest !== link.previousDigest) {
      throw new JournalCorruptError(reader.sessionId, 'chain-broken', { seq: index.record.seq });
    }
    found.push(index);
    link = index.body;
  }
  return { indexes: found.reverse(), unread: 0 };
}

async function readIndex(
  reader: RecordReader,
  seq: number,
  signal: AbortSignal | undefined,
): Promise<LoadedIndex | 'other-version'> {
  const record = await reader.resolve(await reader.one(seq, signal), signal);
  const body = record.kind === 'index' ? parseIndexBody(seq, record.body) : undefined;
  if (body === undefined) throw new JournalCorruptError(reader.sessionId, 'index-invalid', { seq });
  return body === 'other-version' ? body : { record, body };
}

function isIndex(record: JournalRecord): boolean {
  return record.kind === 'index' || record.of === 'index';
}
