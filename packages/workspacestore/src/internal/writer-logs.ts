import { BlobConflictError, type Blobs } from '@holdfast/blobs';

import { encodeRecord, type SlotRecord } from './record.js';
import { readRecord } from './record-store.js';
import { holdOf, parseSlotKey, slotKey } from './store-keys.js';
import { readLogs, readOrUndefined, releasedHolds, type WriterLogs } from './store-survey.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Puts `retired` at the end of every log that is not ended. */
export async function retireWriters(
  blobs: Blobs,
  collection: string,
  options: Options,
  onRetired: () => void,
): Promise<void> {
  const last = new Map<string, number>();
  for await (const { key } of blobs.list('writers/', options)) {
    const place = parseSlotKey(key);
    if (place !== undefined) last.set(place.writer, Math.max(place.slot, last.get(place.writer) ?? 0));
  }
  for (const [writer, slot] of last) {
    await retireWriter(blobs, writer, slot, collection, options);
    onRetired();
  }
}

/** Ends one log, from its last known slot on. */
async function retireWriter(
  blobs: Blobs,
  writer: string,
  lastKnown: number,
  collection: string,
  options: Options,
): Promise<void> {
  for (let slot = lastKnown; ; slot += 1) {
    const bytes = await readOrUndefined(blobs, slotKey(writer, slot), options);
    const found = bytes === undefined ? undefined : readRecord(bytes, slotKey(writer, slot));
    // Trimmed by another collector, which does that to ended logs only.
    if (found === undefined && slot === lastKnown) return;
    if (found !== undefined) {
      if (found.kind === 'retired' || found.kind === 'closed') return;
      continue;
    }
    const retired = encodeRecord({ kind: 'retired', writer, slot, collection });
    try {
      await blobs.put(slotKey(writer, slot), retired, options);
      return;
    } catch (error) {
      if (!BlobConflictError.is(error)) throw error;
      // The writer was faster: look at what it put, and go on behind it.
      slot -= 1;
    }
  }
}

/**
 * Deletes slots that nobody needs: of logs whose commits are all released, and that their writer has closed, or that a
 * collector has ended and a later registration names as its previous one. `retired` slots stay for ever: a writer that
 * was paused must always meet one.
 */
export async function trimLogs(blobs: Blobs, logs: WriterLogs, options: Options): Promise<number> {
  const continued = new Set<string>();
  for (const log of logs.values()) {
    for (const record of log)
      if (record.kind === 'register' && record.previous !== undefined) continued.add(record.previous);
  }
  const released = releasedHolds(logs);
  let deleted = 0;
  for (const [writer, log] of logs) {
    const end = log.at(-1)?.kind;
    if (end !== 'closed' && !(end === 'retired' && continued.has(writer))) continue;
    if (!allReleased(log, released) || !previousIsGone(log, logs)) continue;
    for (const record of log) {
      if (record.kind === 'retired') continue;
      await blobs.delete(slotKey(writer, record.slot), options);
      deleted += 1;
    }
  }
  return deleted;
}

function allReleased(log: readonly SlotRecord[], released: ReadonlySet<string>): boolean {
  return log.every((record) => {
    return (
      (record.kind !== 'commit' && record.kind !== 'merge') ||
      released.has(holdOf(record.writer, record.slot))
    );
  });
}

/** What a log says about releases in the log before it must outlive that one. */
function previousIsGone(log: readonly SlotRecord[], logs: WriterLogs): boolean {
  const register = log.find((record) => record.kind === 'register');
  if (register?.previous === undefined) return true;
  return (logs.get(register.previous) ?? []).every(({ kind }) => kind === 'retired');
}

/**
 * Ends a writer's log and deletes it, commits that it still held included: an operator's word that the writer and its
 * journal are gone.
 */
export async function forgetWriter(
  blobs: Blobs,
  writer: string,
  collection: string,
  options: Options,
): Promise<number> {
  const log = (await readLogs(blobs, options)).get(writer) ?? [];
  const end = log.at(-1);
  if (end === undefined) return 0;
  await retireWriter(blobs, writer, end.slot, collection, options);
  let deleted = 0;
  for (const record of (await readLogs(blobs, options)).get(writer) ?? []) {
    if (record.kind === 'retired') continue;
    await blobs.delete(slotKey(writer, record.slot), options);
    deleted += 1;
  }
  return deleted;
}
