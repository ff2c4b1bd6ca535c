import { BlobNotFoundError, type Blobs } from '@holdfast/blobs';

import { IntegrityError, RefNotFoundError } from '../errors.js';
import { type Ref, rootKeyOfRef } from '../ref.js';
import { FormatFault } from './byte-reader.js';
import { type CommitRecord, decodeRecord, type SlotRecord } from './record.js';
import { holdOf, parseRecordKey, recordKey } from './store-keys.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Reads the records under `snapshots/`. */
export class RecordStore {
  readonly #blobs: Blobs;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Puts the copy of a commit record under its ref. */
  async putCopy(record: CommitRecord, bytes: Uint8Array, options: Options): Promise<void> {
    await this.#blobs.put(
      recordKey(rootKeyOfRef(record.ref), holdOf(record.writer, record.slot)),
      bytes,
      options,
    );
  }

  /** Tells whether any record of the ref is there. */
  async has(ref: Ref, options: Options): Promise<boolean> {
    for await (const entry of this.#blobs.list(`snapshots/${rootKeyOfRef(ref)}/`, options)) {
      if (parseRecordKey(entry.key) !== undefined) return true;
    }
    return false;
  }

  /**
   * Runs `use` with the records of a ref, newest name first, until it succeeds with one. A record that is damaged, or
   * whose archives are, is passed over as long as another one serves.
   * @throws RefNotFoundError when there is no record at all.
   */
  async useAny<T>(ref: Ref, options: Options, use: (record: CommitRecord) => Promise<T>): Promise<T> {
    const keys: string[] = [];
    for await (const entry of this.#blobs.list(`snapshots/${rootKeyOfRef(ref)}/`, options)) {
      if (parseRecordKey(entry.key) !== undefined) keys.push(entry.key);
    }
    let failure: unknown;
    for (const key of keys.reverse()) {
      try {
        const record = await this.#read(key, ref, options);
        if (record !== undefined) return await use(record);
      } catch (error) {
        options.signal?.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure ?? new RefNotFoundError(ref);
  }

  async #read(key: string, ref: Ref, options: Options): Promise<CommitRecord | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#blobs.getBytes(key, options);
    } catch (error) {
      if (BlobNotFoundError.is(error)) return undefined;
      throw error;
    }
    return checkRecordCopy(key, ref, readRecord(bytes, key));
  }
}

/** Decodes a record, turning damage into an `IntegrityError` that names it. */
export function readRecord(bytes: Uint8Array, key: string): SlotRecord {
  try {
    return decodeRecord(bytes, key);
  } catch (error) {
    if (!(error instanceof FormatFault)) throw error;
    throw new IntegrityError({ path: key, expected: 'a record', got: error.message }, { cause: error });
  }
}

/** Checks that a record's copy stands under its own name. */
export function checkRecordCopy(key: string, ref: Ref, record: SlotRecord): CommitRecord {
  const own =
    record.kind === 'commit' ? recordKey(rootKeyOfRef(record.ref), holdOf(record.writer, record.slot)) : '';
  if (record.kind !== 'commit' || own !== key) {
    throw new IntegrityError({
      ref,
      path: key,
      expected: key,
      got: own === '' ? `a ${record.kind} record` : own,
    });
  }
  return record;
}
