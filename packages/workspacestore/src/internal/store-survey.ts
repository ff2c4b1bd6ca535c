import { BlobNotFoundError, type Blobs } from '@holdfast/blobs';

import { IntegrityError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { type ArchiveRef, decodeForward, type SlotRecord } from './record.js';
import { readRecord } from './record-store.js';
import { forwardKey, holdOf, parseArchiveKey, parseRecordKey, parseSlotKey, slotKey } from './store-keys.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

export interface SurveyedBlob {
  readonly size: number;
  readonly modified: number;
}

/** The names under `snapshots/`, `archives/` and `moved/`, and where the forwards lead. */
export interface StoreSurvey {
  /** Record copies: by the key, the ref's digits and the hold. */
  readonly records: ReadonlyMap<string, SurveyedBlob & { readonly rootKey: string; readonly hold: string }>;
  /** Archives by name. */
  readonly archives: ReadonlyMap<string, SurveyedBlob>;
  /** Forwards by the name of the archive that moved. */
  readonly forwards: ReadonlyMap<string, SurveyedBlob & { readonly target: ArchiveRef }>;
  /** The latest time that the store has put on anything: its clock was at least there. */
  readonly latest: number;
}

/** Lists what a collection may be about. */
export async function surveyStore(blobs: Blobs, options: Options, seen: () => void): Promise<StoreSurvey> {
  const records = new Map<string, SurveyedBlob & { rootKey: string; hold: string }>();
  const archives = new Map<string, SurveyedBlob>();
  const forwards = new Map<string, SurveyedBlob & { target: ArchiveRef }>();
  let latest = 0;
  for await (const { key, size, modified } of blobs.list('snapshots/', options)) {
    seen();
    latest = Math.max(latest, modified);
    const record = parseRecordKey(key);
    if (record !== undefined) records.set(key, { size, modified, ...record });
  }
  for await (const { key, size, modified } of blobs.list('archives/', options)) {
    seen();
    latest = Math.max(latest, modified);
    const name = parseArchiveKey(key);
    if (name !== undefined) archives.set(name, { size, modified });
  }
  for await (const { key, size, modified } of blobs.list('moved/', options)) {
    seen();
    latest = Math.max(latest, modified);
    const name = parseArchiveKey(key);
    if (name === undefined) continue;
    const target = await readForward(blobs, name, options);
    if (target !== undefined) forwards.set(name, { size, modified, target });
  }
  return { records, archives, forwards, latest };
}

async function readForward(blobs: Blobs, name: string, options: Options): Promise<ArchiveRef | undefined> {
  const bytes = await readOrUndefined(blobs, forwardKey(name), options);
  if (bytes === undefined) return undefined;
  try {
    return decodeForward(bytes, forwardKey(name));
  } catch (error) {
    if (!(error instanceof FormatFault)) throw error;
    throw new IntegrityError(
      { path: forwardKey(name), expected: 'a forward', got: error.message },
      { cause: error },
    );
  }
}

/** The logs of all writers: per writer its slots in order. */
export type WriterLogs = ReadonlyMap<string, readonly SlotRecord[]>;

/** Reads every slot of every log. A slot that vanishes meanwhile was trimmed by another collector. */
export async function readLogs(blobs: Blobs, options: Options): Promise<WriterLogs> {
  const logs = new Map<string, SlotRecord[]>();
  for await (const { key } of blobs.list('writers/', options)) {
    const place = parseSlotKey(key);
    if (place === undefined) continue;
    const bytes = await readOrUndefined(blobs, key, options);
    if (bytes === undefined) continue;
    const record = readRecord(bytes, key);
    if (slotKey(record.writer, record.slot) !== key) {
      throw new IntegrityError({ path: key, expected: key, got: slotKey(record.writer, record.slot) });
    }
    const log = logs.get(place.writer);
    if (log === undefined) logs.set(place.writer, [record]);
    else log.push(record);
  }
  return logs;
}

/** Every hold that some slot calls released. */
export function releasedHolds(logs: WriterLogs): ReadonlySet<string> {
  const released = new Set<string>();
  for (const log of logs.values()) {
    for (const record of log)
      if (record.kind !== 'retired') for (const hold of record.released) released.add(hold);
  }
  return released;
}

/** Commits and merges that are kept for their own sake; those of `fenced` writers are not. */
export function heldSlots(
  logs: WriterLogs,
  fenced: ReadonlySet<string> = new Set(),
): (SlotRecord & { readonly kind: 'commit' | 'merge' })[] {
  const released = releasedHolds(logs);
  const held: (SlotRecord & { readonly kind: 'commit' | 'merge' })[] = [];
  for (const [writer, log] of logs) {
    if (fenced.has(writer)) continue;
    for (const record of log) {
      if (record.kind !== 'commit' && record.kind !== 'merge') continue;
      if (!released.has(holdOf(record.writer, record.slot))) held.push(record);
    }
  }
  return held;
}

export async function readOrUndefined(
  blobs: Blobs,
  key: string,
  options: Options,
): Promise<Uint8Array | undefined> {
  try {
    return await blobs.getBytes(key, options);
  } catch (error) {
    if (BlobNotFoundError.is(error)) return undefined;
    throw error;
  }
}
