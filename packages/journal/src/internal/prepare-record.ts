import { type JsonValue, type Random, randomHex, sha256Hex } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';

import { checkEvent, checkPrivate, checkStoredEvent, isCatalogueType } from '../event-catalogue.js';
import type { PreparedEvent } from '../event-input.js';
import { isRecordId, type PointerBody } from '../record.js';
import { EventInvalidError } from '../session-errors.js';
import { parseJsonText, writeJsonText } from './json-text.js';
import type { RecordDraft } from './record-codec.js';

/** A body of more bytes than this goes to the blob store. */
export const offloadAboveBytes = 524_288;

/** The largest body of a record, in bytes of JSON text. */
export const maxBodyBytes: number = 64 * 1_048_576;

/** A record that was checked and owns everything it holds, ready for its place in the journal. */
export interface CheckedRecord {
  readonly draft: RecordDraft;
  readonly kind: 'event' | 'private';
  readonly type: string;
  /** The body as JSON text, also when the draft points to it. */
  readonly text: string;
  /** Our own copy for the fold; `null` where the fold does not look at the body. */
  readonly body: JsonValue;
}

export interface RecordInput {
  readonly kind: 'event' | 'private';
  readonly type: string;
  readonly body: unknown;
  readonly id?: string | undefined;
  readonly loop?: string | undefined;
  readonly time?: number | undefined;
  /** A copy of another journal's event: types that only a newer version knows are taken too. */
  readonly copied?: boolean | undefined;
  readonly extra?: Readonly<Record<string, JsonValue>> | undefined;
}

export interface Stamps {
  readonly epoch: number;
  readonly now: number;
  readonly random: Random;
}

/**
 * Checks an input and takes ownership of it. Synchronous, so that what the caller changes afterwards does not matter.
 * @throws EventInvalidError naming what is wrong.
 */
export function checkRecord(input: RecordInput, stamps: Stamps): CheckedRecord {
  const { kind, type } = input;
  const id = input.id ?? randomHex(stamps.random, 16);
  const time = input.time ?? Math.floor(stamps.now);
  if (!isRecordId(id)) {
    throw new EventInvalidError(
      type,
      'id',
      'id',
      'an id is 1 to 128 of A-Z a-z 0-9 . _ : -, letter or digit first',
    );
  }
  if (!Number.isSafeInteger(time)) {
    throw new EventInvalidError(type, 'time', 'time', 'a time is whole milliseconds since 1970');
  }
  if (input.loop !== undefined && (typeof input.loop !== 'string' || input.loop === '')) {
    throw new EventInvalidError(type, 'loop', 'loop', 'a loop is named by text');
  }
  const written = writeJsonText(input.body, 'body');
  if ('problem' in written) {
    throw new EventInvalidError(type, 'not-json', written.problem.path, written.problem.detail);
  }
  const bodyText = written.text;
  const known = kind === 'private' || isCatalogueType(type);
  const body = known ? parseJsonText(bodyText) : null;
  if (kind === 'private') checkPrivate(type, body);
  else if (input.copied === true) checkStoredEvent(type, body);
  else checkEvent(type, body);
  const draft: RecordDraft = {
    kind,
    id,
    epoch: stamps.epoch,
    time,
    type,
    loop: input.loop,
    bodyText,
    extra: input.extra,
  };
  return { draft, kind, type, text: bodyText, body };
}

/**
 * Returns the draft to store: itself, or a pointer after its large body was put into the blob store.
 * @throws EventInvalidError when the body is larger than any record may be.
 */
export async function offload(blobs: Blobs, sessionId: string, draft: RecordDraft): Promise<RecordDraft> {
  // A character takes at most three bytes: most bodies need no counting.
  if (draft.bodyText.length * 3 <= offloadAboveBytes) return draft;
  const bytes = new TextEncoder().encode(draft.bodyText);
  if (bytes.length <= offloadAboveBytes) return draft;
  if (bytes.length > maxBodyBytes) {
    const detail = `has ${String(bytes.length)} bytes, at most ${String(maxBodyBytes)} are taken`;
    throw new EventInvalidError(draft.type ?? draft.kind, 'too-large', 'body', detail);
  }
  const sha256 = sha256Hex(bytes);
  const pointer: PointerBody = { key: bodyKey(sessionId, sha256), size: bytes.length, sha256 };
  await blobs.put(pointer.key, bytes);
  const of = draft.kind === 'event' || draft.kind === 'private' ? draft.kind : 'index';
  return { ...draft, kind: 'pointer', of, bodyText: JSON.stringify(pointer) };
}

/** The object key of a large body. */
export function bodyKey(sessionId: string, sha256: string): string {
  return `${bodyPrefix(sessionId)}${sha256}`;
}

/** What the keys of a session's large bodies begin with. */
export function bodyPrefix(sessionId: string): string {
  return `journal/${sessionId}/`;
}

/** Makes a prepared event of a checked one. */
export function preparedOf(record: CheckedRecord): PreparedEvent {
  const { id, time, loop } = record.draft;
  const members = [`"id":${JSON.stringify(id)}`, `"time":${String(time)}`];
  if (loop !== undefined) members.push(`"loop":${JSON.stringify(loop)}`);
  members.push(`"type":${JSON.stringify(record.type)}`, `"body":${record.text}`);
  return Object.freeze({
    type: record.type,
    id,
    time,
    loop,
    body: parseJsonText(record.text),
    bytes: new TextEncoder().encode(`{${members.join(',')}}`),
  });
}
