import { textOf } from '@holdfast/base';
import { UnsupportedFormatError } from '../errors.js';
import { type Ref, tryParseRef } from '../ref.js';
import { FormatFault } from './byte-reader.js';
import { openSealedJson, sealText } from './sealed-text.js';
import { parseHold } from './store-keys.js';

/** An archive as a record names it. */
export interface ArchiveRef {
  /** 64 hex digits. */
  readonly name: string;
  readonly size: number;
  /** Offset of tree frames and index. */
  readonly tail: number;
}

/** Who a writer works for; informative, except that a later epoch of the same session outlives an earlier one. */
export interface WriterSession {
  readonly id: string;
  readonly epoch: number;
}

/** Numbers of a captured tree, for listings. */
export interface RecordStats {
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  /** Bytes of the archives that this commit added. */
  readonly stored: number;
}

interface Slot {
  readonly writer: string;
  readonly slot: number;
}

/** First slot of every log. */
export interface RegisterRecord extends Slot {
  readonly kind: 'register';
  readonly session: WriterSession | undefined;
  /** The log that this writer continues. */
  readonly previous: string | undefined;
  readonly released: readonly string[];
}

/** A snapshot. Its bytes are also put under the ref. */
export interface CommitRecord extends Slot {
  readonly kind: 'commit';
  readonly ref: Ref;
  /** Every archive that the snapshot needs, oldest first. */
  readonly archives: readonly ArchiveRef[];
  readonly stats: RecordStats;
  /** Holds of earlier commits and merges whose events are durable. */
  readonly released: readonly string[];
}

/** One archive that replaces others. */
export interface MergeRecord extends Slot {
  readonly kind: 'merge';
  readonly archive: ArchiveRef;
  /** Names of the archives whose objects it has. */
  readonly replaces: readonly string[];
  readonly released: readonly string[];
}

/** Put by a collector: the writer must register anew before it relies on anything. */
export interface RetiredRecord extends Slot {
  readonly kind: 'retired';
  readonly collection: string;
}

/** The writer is done. */
export interface ClosedRecord extends Slot {
  readonly kind: 'closed';
  readonly released: readonly string[];
}

/** What a slot of a writer's log can hold. */
export type SlotRecord = RegisterRecord | CommitRecord | MergeRecord | RetiredRecord | ClosedRecord;

const format = 'holdfast-record/1';

/** Writes a record: one line of JSON with its fields in this order, and the closing digest. */
export function encodeRecord(record: SlotRecord): Uint8Array {
  const head = { format, kind: record.kind, writer: record.writer, slot: record.slot };
  return sealText([JSON.stringify({ ...head, ...encodeBody(record) })]);
}

function encodeBody(record: SlotRecord): object {
  switch (record.kind) {
    case 'register':
      return {
        session: record.session === undefined ? null : { id: record.session.id, epoch: record.session.epoch },
        previous: record.previous ?? null,
        released: record.released,
      };
    case 'commit': {
      const { entries, files, bytes, stored } = record.stats;
      return {
        ref: record.ref,
        archives: record.archives.map(encodeArchiveRef),
        stats: { entries, files, bytes, stored },
        released: record.released,
      };
    }
    case 'merge':
      return {
        archive: encodeArchiveRef(record.archive),
        replaces: record.replaces,
        released: record.released,
      };
    case 'retired':
      return { collection: record.collection };
    case 'closed':
      return { released: record.released };
  }
}

/** Reads a record. Unknown fields are ignored; an unknown format or kind is an `UnsupportedFormatError`. */
export function decodeRecord(bytes: Uint8Array, where: string): SlotRecord {
  const json = openSealedJson(bytes, format, where);
  const writer = textField(json, 'writer', /^[0-9a-f]{32}$/);
  const slot = numberField(json, 'slot');
  switch (json['kind']) {
    case 'register':
      return {
        kind: 'register',
        writer,
        slot,
        session: decodeSession(json['session']),
        previous: json['previous'] === null ? undefined : textField(json, 'previous', /^[0-9a-f]{32}$/),
        released: decodeReleased(json),
      };
    case 'commit': {
      const ref = tryParseRef(json['ref']);
      if (ref === undefined) throw new FormatFault('no ref');
      const stats = objectOf(json['stats'], 'stats');
      return {
        kind: 'commit',
        writer,
        slot,
        ref,
        archives: listField(json, 'archives').map(decodeArchiveRef),
        stats: {
          entries: numberField(stats, 'entries'),
          files: numberField(stats, 'files'),
          bytes: numberField(stats, 'bytes'),
          stored: numberField(stats, 'stored'),
        },
        released: decodeReleased(json),
      };
    }
    case 'merge':
      return {
        kind: 'merge',
        writer,
        slot,
        archive: decodeArchiveRef(json['archive']),
        replaces: listField(json, 'replaces').map(archiveName),
        released: decodeReleased(json),
      };
    case 'retired':
      return { kind: 'retired', writer, slot, collection: textField(json, 'collection', /^[0-9a-f]{32}$/) };
    case 'closed':
      return { kind: 'closed', writer, slot, released: decodeReleased(json) };
    default:
      throw new UnsupportedFormatError(`record kind ${textOf(json['kind'])}`, where);
  }
}

const forwardFormat = 'holdfast-forward/1';

/** Writes a forward: the archive that has every object of an older one. */
export function encodeForward(target: ArchiveRef): Uint8Array {
  return sealText([JSON.stringify({ format: forwardFormat, ...encodeArchiveRef(target) })]);
}

export function decodeForward(bytes: Uint8Array, where: string): ArchiveRef {
  return decodeArchiveRef(openSealedJson(bytes, forwardFormat, where));
}

function encodeArchiveRef({ name, size, tail }: ArchiveRef): ArchiveRef {
  return { name, size, tail };
}

function decodeArchiveRef(value: unknown): ArchiveRef {
  const json = objectOf(value, 'an archive');
  const archive = {
    name: archiveName(json['name']),
    size: numberField(json, 'size'),
    tail: numberField(json, 'tail'),
  };
  if (archive.tail >= archive.size || archive.tail % 512 !== 0)
    throw new FormatFault('an archive with a wrong tail');
  return archive;
}

function archiveName(value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value))
    throw new FormatFault('a wrong archive name');
  return value;
}

function decodeSession(value: unknown): WriterSession | undefined {
  if (value === null) return undefined;
  const json = objectOf(value, 'session');
  return { id: textField(json, 'id', /^[\s\S]{0,512}$/), epoch: numberField(json, 'epoch') };
}

function decodeReleased(json: Record<string, unknown>): string[] {
  return listField(json, 'released').map((hold) => {
    if (typeof hold !== 'string' || parseHold(hold) === undefined) throw new FormatFault('a wrong hold');
    return hold;
  });
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FormatFault(`no ${what}`);
  return value as Record<string, unknown>;
}

function listField(json: Record<string, unknown>, name: string): unknown[] {
  const value = json[name];
  if (!Array.isArray(value)) throw new FormatFault(`no list ${name}`);
  return value as unknown[];
}

function numberField(json: Record<string, unknown>, name: string): number {
  const value = json[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new FormatFault(`no number ${name}`);
  return value;
}

function textField(json: Record<string, unknown>, name: string, grammar: RegExp): string {
  const value = json[name];
  if (typeof value !== 'string' || !grammar.test(value)) throw new FormatFault(`no text ${name}`);
  return value;
}
