import type { JsonValue } from '@holdfast/base';
import { sha256Hex } from '@holdfast/base';

import { JournalCorruptError } from '../errors.js';
import { isRecordId, type JournalRecord, type RecordKind, recordVersion } from '../record.js';
import { JournalVersionError } from '../session-errors.js';
import { parseJsonText, writeJsonText } from './json-text.js';
import { type Sealed, sealText, unsealText } from './sealed-text.js';

/** What a writer knows of a record before it has a place in the journal. */
export interface RecordDraft {
  readonly kind: RecordKind;
  readonly id: string;
  readonly epoch: number;
  readonly time: number;
  readonly type?: string | undefined;
  readonly loop?: string | undefined;
  readonly of?: 'event' | 'private' | 'index' | undefined;
  /** The body as JSON text. */
  readonly bodyText: string;
  /** Members of a copied record that this version does not know. */
  readonly extra?: Readonly<Record<string, JsonValue>> | undefined;
}

/** Where a record goes. */
export interface RecordPlace {
  readonly seq: number;
  readonly previous: string;
  readonly index: number;
}

/** The `previous` of a session's first record: it ties a journal to its session, so that a swapped one is found. */
export function genesisDigest(sessionId: string): string {
  return sha256Hex(new TextEncoder().encode(`holdfast journal 1\n${sessionId}`));
}

/** Writes a record in its place. */
export function encodeRecord(draft: RecordDraft, place: RecordPlace): Sealed {
  const members = [
    `"v":${String(recordVersion)}`,
    `"seq":${String(place.seq)}`,
    `"kind":"${draft.kind}"`,
    `"id":"${draft.id}"`,
    `"epoch":${String(draft.epoch)}`,
    `"time":${String(draft.time)}`,
    `"previous":"${place.previous}"`,
    `"index":${String(place.index)}`,
  ];
  if (draft.of !== undefined) members.push(`"of":"${draft.of}"`);
  if (draft.type !== undefined) members.push(`"type":${JSON.stringify(draft.type)}`);
  if (draft.loop !== undefined) members.push(`"loop":${JSON.stringify(draft.loop)}`);
  for (const [name, value] of Object.entries(draft.extra ?? noMembers)) {
    const written = writeJsonText(value, name);
    if (knownMembers.has(name) || 'problem' in written) {
      throw new TypeError(`a record cannot have the extra member ${JSON.stringify(name)}`);
    }
    members.push(`${JSON.stringify(name)}:${written.text}`);
  }
  members.push(`"body":${draft.bodyText}`);
  return sealText(`{${members.join(',')}}`);
}

const knownMembers = new Set([
  'v',
  'seq',
  'kind',
  'id',
  'epoch',
  'time',
  'previous',
  'index',
  'of',
  'type',
  'loop',
  'body',
]);
const kinds = new Set<unknown>(['event', 'private', 'fence', 'index', 'pointer']);
const hex64 = /^[0-9a-f]{64}$/;

/**
 * Reads the record stored at `seq`.
 * @throws JournalCorruptError when a bit differs from what was written.
 * @throws JournalVersionError when a newer version wrote it.
 */
export function decodeRecord(sessionId: string, seq: number, bytes: Uint8Array): JournalRecord {
  const sealed = unsealText(bytes);
  if (sealed === undefined) throw new JournalCorruptError(sessionId, 'digest-mismatch', { seq });
  let parsed: JsonValue;
  try {
    parsed = parseJsonText(sealed.text);
  } catch (error) {
    throw new JournalCorruptError(sessionId, 'undecodable', { seq, cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new JournalCorruptError(sessionId, 'undecodable', { seq, detail: 'a record is a JSON object' });
  }
  const members = parsed as Readonly<Record<string, JsonValue>>;
  const { v, kind, id, epoch, time, previous, index = 0, of, type, loop, body } = members;
  if (v !== recordVersion)
    throw new JournalVersionError(sessionId, seq, `format version ${JSON.stringify(v)}`);
  if (!kinds.has(kind)) throw new JournalVersionError(sessionId, seq, `kind ${JSON.stringify(kind)}`);
  const expect = (holds: boolean, detail: string): void => {
    if (!holds) throw new JournalCorruptError(sessionId, 'undecodable', { seq, detail });
  };
  if (members['seq'] !== seq) {
    throw new JournalCorruptError(sessionId, 'sequence-mismatch', {
      seq,
      detail: `the record says ${JSON.stringify(members['seq'])}`,
    });
  }
  const typed = kind === 'pointer' ? of : kind;
  expect(isRecordId(id), 'id');
  expect(isCount(epoch, 1), 'epoch');
  expect(Number.isSafeInteger(time), 'time');
  expect(typeof previous === 'string' && hex64.test(previous), 'previous');
  expect(isCount(index, 0) && (index as number) < seq, 'index');
  expect(kind !== 'pointer' || of === 'event' || of === 'private' || of === 'index', 'of');
  expect((typeof type === 'string') === (typed === 'event' || typed === 'private'), 'type');
  expect(loop === undefined || typeof loop === 'string', 'loop');
  expect(body !== undefined, 'body');
  return {
    seq,
    kind: kind as RecordKind,
    id: id as string,
    epoch: epoch as number,
    time: time as number,
    digest: sealed.digest,
    previous: previous as string,
    index: index as number,
    type: type as string | undefined,
    loop: loop as string | undefined,
    of: of as JournalRecord['of'],
    body: body as JsonValue,
    extra: extraMembers(members),
    bytes: bytes.length,
  };
}

function extraMembers(members: Readonly<Record<string, JsonValue>>): Readonly<Record<string, JsonValue>> {
  const unknown = Object.entries(members).filter(([key]) => !knownMembers.has(key));
  // fromEntries defines members, so that one called `__proto__` stays a member.
  return unknown.length === 0 ? noMembers : Object.fromEntries(unknown);
}

const noMembers: Readonly<Record<string, JsonValue>> = Object.freeze({});

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}
