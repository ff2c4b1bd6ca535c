import type { Explanation } from '../collection.js';
import { RefNotFoundError } from '../errors.js';
import { type Ref, rootKeyOfRef } from '../ref.js';
import { checkRecordCopy, readRecord } from './record-store.js';
import type { StoreContext } from './store-context.js';
import { holdOf } from './store-keys.js';
import { heldSlots, readLogs, readOrUndefined } from './store-survey.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Tells which records keep a snapshot in the store. */
export async function explainRef(context: StoreContext, ref: Ref, options: Options): Promise<Explanation> {
  const { blobs } = context;
  const held = new Set(
    heldSlots(await readLogs(blobs, options)).map(({ writer, slot }) => holdOf(writer, slot)),
  );
  const records: { hold: string; held: boolean; archives: number }[] = [];
  const sizes = new Map<string, number>();
  for await (const { key } of blobs.list(`snapshots/${rootKeyOfRef(ref)}/`, options)) {
    const bytes = await readOrUndefined(blobs, key, options);
    if (bytes === undefined) continue;
    const record = checkRecordCopy(key, ref, readRecord(bytes, key));
    const hold = holdOf(record.writer, record.slot);
    records.push({ hold, held: held.has(hold), archives: record.archives.length });
    for (const { name, size } of record.archives) sizes.set(name, size);
  }
  if (records.length === 0) throw new RefNotFoundError(ref);
  return { ref, records, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) };
}
