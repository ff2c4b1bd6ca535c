import type { Blobs } from '@holdfast/blobs';

import { type Ref, refOfRootKey, rootKeyOfRef } from '../ref.js';
import { checkRecordCopy, readRecord } from './record-store.js';
import { archiveKey, forwardKey, holdOf, recordKey } from './store-keys.js';
import { heldSlots, readOrUndefined, type StoreSurvey, type WriterLogs } from './store-survey.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** What must stay: keys of record copies, archives and forwards. */
export interface Reachable {
  readonly keys: ReadonlySet<string>;
  /** Live refs without any record. */
  readonly missing: readonly Ref[];
}

/**
 * Follows records of live refs, and commits and merges that are held, to archives, and archives through their forwards to
 * where their objects went.
 */
export async function findReachable(
  blobs: Blobs,
  survey: StoreSurvey,
  logs: WriterLogs,
  live: Iterable<Ref>,
  fenced: ReadonlySet<string>,
  options: Options,
): Promise<Reachable> {
  const keys = new Set<string>();
  const missing: Ref[] = [];
  const reach = (name: string): void => {
    // A chain that comes back to itself ends where it was before.
    for (let current = name; !keys.has(archiveKey(current)); ) {
      keys.add(archiveKey(current));
      const forward = survey.forwards.get(current);
      if (forward === undefined) return;
      keys.add(forwardKey(current));
      current = forward.target.name;
    }
  };
  const byRef = new Map<string, string[]>();
  for (const [key, { rootKey }] of survey.records) {
    const list = byRef.get(rootKey);
    if (list === undefined) byRef.set(rootKey, [key]);
    else list.push(key);
  }
  for (const ref of new Set(live)) {
    const rootKey = rootKeyOfRef(ref);
    const copies = byRef.get(rootKey) ?? [];
    if (copies.length === 0) missing.push(ref);
    for (const key of copies) {
      const bytes = await readOrUndefined(blobs, key, options);
      if (bytes === undefined) continue;
      keys.add(key);
      const record = checkRecordCopy(key, refOfRootKey(rootKey), readRecord(bytes, key));
      for (const archive of record.archives) reach(archive.name);
    }
  }
  for (const record of heldSlots(logs, fenced)) {
    if (record.kind === 'merge') {
      reach(record.archive.name);
      continue;
    }
    keys.add(recordKey(rootKeyOfRef(record.ref), holdOf(record.writer, record.slot)));
    for (const archive of record.archives) reach(archive.name);
  }
  return { keys, missing };
}
