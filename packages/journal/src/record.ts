import type { JsonValue } from '@holdfast/base';

/** What a record of a session journal is. `pointer` stands for an event, private or index record with a large body. */
export type RecordKind = 'event' | 'private' | 'fence' | 'index' | 'pointer';

/** A record as it is stored, decoded and checked. `docs/formats/journal-record.md` has every field. */
export interface JournalRecord {
  /** 1-based, contiguous. */
  readonly seq: number;
  readonly kind: RecordKind;
  /** Unique in the session: the key of idempotent appends. */
  readonly id: string;
  /** Epoch of the lease under which it was written; never falls along the journal. */
  readonly epoch: number;
  /** Milliseconds since 1970 by the writer's clock. For display only. */
  readonly time: number;
  /** SHA-256 of the record, lower-case hex. */
  readonly digest: string;
  /** Digest of the record before it; of the first record: a value derived from the session id. */
  readonly previous: string;
  /** Sequence of the last index record before this one; 0 when there is none. */
  readonly index: number;
  /** Event and private records, and pointers to them: the type. */
  readonly type: string | undefined;
  /** The loop that an event belongs to. */
  readonly loop: string | undefined;
  /** Pointers: the kind of record that the pointer stands for. */
  readonly of: 'event' | 'private' | 'index' | undefined;
  readonly body: JsonValue;
  /** Members that this version does not know, as they were found. */
  readonly extra: Readonly<Record<string, JsonValue>>;
  /** Stored size in bytes. */
  readonly bytes: number;
}

/** A record with its real body, whether that was stored in the record or beside it. */
export interface ResolvedRecord extends Omit<JournalRecord, 'kind' | 'of'> {
  readonly kind: 'event' | 'private' | 'fence' | 'index';
  /** `true`: the body was too large for a record and lies in the blob store. */
  readonly offloaded: boolean;
}

/** The body of a pointer record: where the real body is, and what it must be. */
export interface PointerBody {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Version of the record format that this package writes. */
export const recordVersion = 1;

/** The longest record id, in characters. */
export const maxRecordIdLength = 128;

const recordId = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;

/** Tells whether `id` is a legal record id: 1 to 128 of `A-Z a-z 0-9 . _ : -`, beginning with a letter or digit. */
export function isRecordId(id: unknown): id is string {
  return typeof id === 'string' && id.length <= maxRecordIdLength && recordId.test(id);
}
