import type { Blobs } from '@holdfast/blobs';

import type { Appended } from '../event-input.js';
import type { FoldInput, SessionFold } from '../fold.js';
import { EventInvalidError, IdempotencyCollisionError } from '../session-errors.js';
import type { Outcome } from './append-queue.js';
import type { IdWindow } from './id-window.js';
import type { JournalPosition } from './journal-position.js';
import { equalJson, parseJsonText, writeJsonText } from './json-text.js';
import { type CheckedRecord, offload } from './prepare-record.js';
import { encodeRecord, type RecordDraft } from './record-codec.js';
import type { RecordReader } from './record-reader.js';

/** Records that are appended together or not at all. */
export type RecordGroup = readonly CheckedRecord[];

/** A record with its place, ready to be appended. */
export interface PlacedRecord extends FoldInput {
  readonly digest: string;
  readonly bytes: number;
  readonly data: Uint8Array;
}

/** What an append would write, and what each group gets when it succeeds. */
export interface Placement {
  readonly records: readonly PlacedRecord[];
  /** Where the journal stands after the append. */
  readonly next: JournalPosition;
  readonly outcomes: readonly Outcome<readonly Appended[]>[];
}

/** Gives a record the place after `position`, and moves `position` past it. */
export function place(
  position: JournalPosition,
  draft: RecordDraft,
  content: Pick<FoldInput, 'kind' | 'type' | 'body'>,
): PlacedRecord {
  const seq = position.tip + 1;
  const sealed = encodeRecord(draft, { seq, previous: position.digest, index: position.lastIndex });
  const { id, epoch, time } = draft;
  const placed: PlacedRecord = {
    ...content,
    seq,
    id,
    epoch,
    time,
    digest: sealed.digest,
    bytes: sealed.bytes.length,
    data: sealed.bytes,
  };
  position.add(placed);
  return placed;
}

/** Adds an index record when one is due. */
export async function placeIndex(
  position: JournalPosition,
  blobs: Blobs,
  sessionId: string,
  epoch: number,
): Promise<PlacedRecord | undefined> {
  if (!position.indexDue) return undefined;
  const body = position.indexBody();
  const written = writeJsonText(body, 'index');
  if ('problem' in written) throw new TypeError(`${written.problem.path}: ${written.problem.detail}`);
  const id = `index:${String(position.tip + 1)}`;
  const time = position.fold.lastActive;
  const draft = await offload(blobs, sessionId, { kind: 'index', id, epoch, time, bodyText: written.text });
  return place(position, draft, { kind: 'index', type: undefined, body: null });
}

/**
 * Decides what to append for the groups in order: recognises repeated ids, refuses what does not fit the state, and
 * gives places to the rest. Nothing is written and `position` is not changed.
 */
export async function placeGroups(
  groups: readonly RecordGroup[],
  facts: { readonly position: JournalPosition; readonly ids: IdWindow; readonly reader: RecordReader },
): Promise<Placement> {
  const { position, ids, reader } = facts;
  let next = position.clone();
  const records: PlacedRecord[] = [];
  const fresh = new Map<string, { readonly seq: number; readonly record: CheckedRecord }>();
  const outcomes: Outcome<readonly Appended[]>[] = [];
  for (const group of groups) {
    // A group that is refused half-way must leave no trace in the places of the others.
    const candidate = group.length === 1 ? next : next.clone();
    const added: { readonly placed: PlacedRecord; readonly record: CheckedRecord }[] = [];
    const appended: Appended[] = [];
    try {
      for (const record of group) {
        const { id } = record.draft;
        const twin = fresh.get(id) ?? added.find(({ placed }) => placed.id === id);
        const known = twin === undefined ? knownSeq(id, ids, position.fold) : undefined;
        if (twin !== undefined) {
          const seq = 'placed' in twin ? twin.placed.seq : twin.seq;
          if (!sameRecord(record, twin.record))
            throw new IdempotencyCollisionError(reader.sessionId, id, seq);
          appended.push({ seq, id });
        } else if (known !== undefined) {
          await checkSameAsStored(reader, record, known);
          appended.push({ seq: known, id });
        } else {
          checkState(record, candidate.fold);
          const placed = place(candidate, record.draft, {
            kind: record.kind,
            type: record.type,
            body: record.body,
          });
          added.push({ placed, record });
          appended.push({ seq: placed.seq, id });
        }
      }
    } catch (error) {
      outcomes.push({ error });
      continue;
    }
    next = candidate;
    for (const { placed, record } of added) {
      records.push(placed);
      fresh.set(placed.id, { seq: placed.seq, record });
    }
    outcomes.push({ value: appended });
  }
  return { records, next, outcomes };
}

/** Ids of the last checkpoint and restore are known however long ago they were. */
function knownSeq(id: string, ids: IdWindow, fold: SessionFold): number | undefined {
  const recent = ids.seqOf(id);
  if (recent !== undefined) return recent;
  if (fold.lastCheckpoint?.eventId === id) return fold.lastCheckpoint.seq;
  return fold.lastRestore?.restoreId === id ? fold.lastRestore.seq : undefined;
}

function sameRecord(a: CheckedRecord, b: CheckedRecord): boolean {
  if (a.kind !== b.kind || a.type !== b.type || a.draft.loop !== b.draft.loop) return false;
  return a.text === b.text || equalJson(parseJsonText(a.text), parseJsonText(b.text));
}

async function checkSameAsStored(reader: RecordReader, record: CheckedRecord, seq: number): Promise<void> {
  const stored = await reader.resolve(await reader.one(seq));
  const same =
    stored.kind === record.kind &&
    stored.type === record.type &&
    stored.loop === record.draft.loop &&
    equalJson(stored.body, parseJsonText(record.text));
  if (!same) throw new IdempotencyCollisionError(reader.sessionId, record.draft.id, seq);
}

/** A restore has one beginning and one end; a record that would break that is refused before it is written. */
function checkState(record: CheckedRecord, fold: SessionFold): void {
  const open = fold.openRestore?.restoreId;
  const { type, draft } = record;
  if (record.kind === 'private' && type === 'restore-started' && open !== undefined) {
    const detail = `restore ${open} is open: end it first`;
    throw new EventInvalidError(type, 'restore-open', 'body.restoreId', detail);
  }
  if (record.kind === 'private' && (type === 'restore-aborted' || type === 'restore-prepared')) {
    const { restoreId } = record.body as { readonly restoreId: string };
    if (restoreId === open) return;
    const detail = open === undefined ? 'no restore is open' : `restore ${open} is open, not ${restoreId}`;
    throw new EventInvalidError(type, 'restore-not-open', 'body.restoreId', detail);
  }
  if (record.kind === 'event' && type === 'WorkspaceRestored' && open !== undefined && open !== draft.id) {
    const detail = `restore ${open} is open, not ${draft.id}`;
    throw new EventInvalidError(type, 'restore-open', 'id', detail);
  }
}
