import type { JsonValue } from '@holdfast/base';
import {
  type BatchInput,
  checkPrivate,
  EventInvalidError,
  type EventRule,
  isRecordId,
  type PreparedEvent,
  parsePreparedEvent,
  type RestorePreparedBody,
} from '@holdfast/journal';

/** A rewind of the conversation that belongs to a restore. */
export interface RewindRecord {
  readonly id: string;
  /** The turn or event that was asked for. */
  readonly to: string;
  /** The last record that stays in effect. */
  readonly seq: number;
}

/**
 * What the journal gets when a restore is committed, fixed before the restore changes anything: the private facts, the
 * event, and the rewind that belongs to it. Kept in the restore's intent, so that another process can append the same.
 */
export interface RestoreRecord {
  readonly event: PreparedEvent;
  readonly prepared: RestorePreparedBody;
  readonly rewind?: RewindRecord | undefined;
}

export function encodeRestoreRecord(record: RestoreRecord): Uint8Array {
  const { event, prepared, rewind } = record;
  const text = new TextDecoder().decode(event.bytes);
  return new TextEncoder().encode(JSON.stringify({ v: 1, event: text, prepared, rewind }));
}

/** @throws EventInvalidError when the bytes are not a restore record. */
export function decodeRestoreRecord(bytes: Uint8Array): RestoreRecord {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw refusal('not-json', 'intent', 'not JSON in UTF-8', error);
  }
  if (!isObject(value) || value['v'] !== 1 || typeof value['event'] !== 'string') {
    throw refusal('field-type', 'intent', 'not a restore record of version 1');
  }
  const { prepared, rewind } = value;
  if (!isObject(prepared)) throw refusal('field-type', 'intent.prepared', 'must be an object');
  checkPrivate('restore-prepared', prepared as JsonValue);
  if (rewind !== undefined && !isRewind(rewind)) {
    throw refusal('field-type', 'intent.rewind', 'must be an id, a point and a sequence');
  }
  return {
    event: parsePreparedEvent(new TextEncoder().encode(value['event'])),
    prepared: prepared as unknown as RestorePreparedBody,
    rewind,
  };
}

function refusal(rule: EventRule, path: string, detail: string, cause?: unknown): EventInvalidError {
  return new EventInvalidError('WorkspaceRestored', rule, path, detail, { cause });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRewind(value: unknown): value is RewindRecord {
  if (!isObject(value)) return false;
  const { id, to, seq } = value;
  return isRecordId(id) && typeof to === 'string' && Number.isSafeInteger(seq);
}

/** The records of a committed restore, to be appended together. Their ids make a repetition harmless. */
export function recordsOfRestore(record: RestoreRecord): readonly BatchInput[] {
  const { event, prepared, rewind } = record;
  const { id, time } = event;
  const records: BatchInput[] = [
    {
      kind: 'private',
      type: 'restore-prepared',
      id: `${id}.prepared`,
      time,
      body: withoutUndefined(prepared),
    },
    { kind: 'event', type: event.type, id, time, body: event.body },
  ];
  if (rewind !== undefined) {
    const { to, seq } = rewind;
    records.push({ kind: 'event', type: 'ConversationRewound', id: rewind.id, time, body: { to, seq } });
  }
  return records;
}

function withoutUndefined(body: RestorePreparedBody): JsonValue {
  return JSON.parse(JSON.stringify(body)) as JsonValue;
}
