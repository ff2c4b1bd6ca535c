import { encodePathText, equalBytes, HoldfastError, Pacer, throwIfAborted } from '@holdfast/base';
import { BlobNotFoundError } from '@holdfast/blobs';

import { IntegrityError } from '../errors.js';
import { type Ref, refOfRootKey } from '../ref.js';
import type { VerifyOptions, VerifyProblem, VerifyReport, VerifySubject } from '../verify-report.js';
import { checkArchive } from './archive-check.js';
import { FormatFault } from './byte-reader.js';
import { decodeCollectionList, decodeDecision } from './collection-lists.js';
import { keyBytes, keyText } from './object-key.js';
import type { OpenArchive } from './object-table.js';
import { decodeForward } from './record.js';
import { checkRecordCopy, readRecord } from './record-store.js';
import { type OpenSnapshot, openSnapshot, type StoreContext } from './store-context.js';
import { decodeStoreIdentity } from './store-identity.js';
import {
  archiveKey,
  parseArchiveKey,
  parseRecordKey,
  parseSlotKey,
  slotKey,
  storeKey,
} from './store-keys.js';
import { readTree } from './tree-reading.js';

/** Verifies a snapshot or a whole store. What it finds is reported; only an abort and a failing backend are thrown. */
export async function verifyStore(
  context: StoreContext,
  subject: VerifySubject,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const verification = new Verification(context, options);
  if (subject === 'all') await verification.store();
  else await verification.snapshot(subject, true);
  return verification.report();
}

class Verification {
  readonly #context: StoreContext;
  readonly #options: VerifyOptions;
  readonly #problems: VerifyProblem[] = [];
  readonly #foreign: string[] = [];
  readonly #checkedArchives = new Set<string>();
  #refs = 0;
  #entries = 0;
  #blobs = 0;
  #bytes = 0;

  constructor(context: StoreContext, options: VerifyOptions) {
    this.#context = context;
    this.#options = options;
  }

  report(): VerifyReport {
    return {
      refs: this.#refs,
      entries: this.#entries,
      blobs: this.#blobs,
      bytes: this.#bytes,
      problems: this.#problems,
      foreign: this.#foreign,
    };
  }

  async store(): Promise<void> {
    const refs = new Set<Ref>();
    for await (const { key } of this.#context.blobs.list('', this.#options)) {
      const record = parseRecordKey(key);
      if (record !== undefined) refs.add(refOfRootKey(record.rootKey));
      this.#blobs += 1;
      this.#options.onProgress?.({ blobs: this.#blobs, bytes: this.#bytes });
      await this.#attempt({ key }, () => this.#blob(key));
    }
    for (const ref of refs) await this.snapshot(ref, false);
  }

  /** Walks a tree; with `alone`, also checks its records and archives, which a check of the store has done. */
  async snapshot(ref: Ref, alone: boolean): Promise<void> {
    this.#refs += 1;
    const opened = await this.#attempt({ ref }, () => openSnapshot(this.#context, ref, this.#options));
    if (opened === undefined) return;
    if (alone) {
      for (const archive of opened.table.archives) {
        this.#blobs += 1;
        const { name } = archive.ref;
        await this.#attempt({ ref, key: archiveKey(name) }, () => this.#archiveOf(opened, archive));
      }
    }
    await this.#attempt({ ref }, () => this.#tree(ref, opened));
  }

  async #tree(ref: Ref, { table }: OpenSnapshot): Promise<void> {
    const { reader, limits } = this.#context;
    const tree = await readTree(reader, table, ref, limits, this.#options);
    const pacer = new Pacer();
    for (const entry of tree.entries) {
      if (pacer.due) await pacer.rest(this.#options.signal);
      this.#entries += 1;
      if (entry.content === undefined || entry.size === 0) continue;
      const key = keyBytes(entry.content);
      const path = encodePathText(entry.path);
      const wanted = { ref, path, signal: this.#options.signal };
      await this.#attempt({ ref, path }, async () => {
        if (table.locate('file', key).length > 0) return;
        const list = await reader.readChunkList(table, 'file', key, wanted);
        const lost =
          list === undefined ? key : list.chunks.find((chunk) => !table.has('chunk', chunk.key))?.key;
        if (lost !== undefined)
          throw new IntegrityError({ ref, path, expected: keyText(lost), got: 'nothing' });
        // Whole files were proved with their archives; that a list makes up its file shows only when it is read.
        if (this.#options.deep === true)
          for await (const part of reader.read(table, 'file', key, wanted)) void part;
      });
    }
  }

  async #blob(key: string): Promise<void> {
    const { blobs } = this.#context;
    const archive = parseArchiveKey(key);
    if (archive !== undefined && key.startsWith('archives/')) {
      await this.#archive(archive);
    } else if (archive !== undefined) {
      decodeForward(await this.#small(key), key);
    } else if (parseSlotKey(key) !== undefined) {
      const record = readRecord(await this.#small(key), key);
      if (slotKey(record.writer, record.slot) !== key) throw new FormatFault('a record of another slot');
    } else if (parseRecordKey(key) !== undefined) {
      await this.#recordCopy(key);
    } else if (/^gc\/[0-9a-f]{32}\/(condemned|final)$/.test(key)) {
      decodeCollectionList(await this.#small(key), key);
    } else if (/^gc\/[0-9a-f]{32}\/decision$/.test(key)) {
      decodeDecision(await this.#small(key), key);
    } else if (key === storeKey) {
      decodeStoreIdentity(await blobs.getBytes(key, this.#options), key);
    } else {
      this.#foreign.push(key);
    }
  }

  async #recordCopy(key: string): Promise<void> {
    const bytes = await this.#small(key);
    const { rootKey } = parseRecordKey(key) as { rootKey: string };
    const record = checkRecordCopy(key, refOfRootKey(rootKey), readRecord(bytes, key));
    const slot = slotKey(record.writer, record.slot);
    if ((await this.#context.blobs.stat(slot, this.#options)) === undefined) return;
    if (!equalBytes(await this.#small(slot), bytes)) throw new FormatFault(`other bytes than ${slot}`);
  }

  async #archiveOf({ table }: OpenSnapshot, archive: OpenArchive): Promise<void> {
    try {
      await this.#archive(archive.ref.name);
    } catch (error) {
      // Where one went that has moved since it was opened is added to the table's archives, and checked in its turn.
      if (!BlobNotFoundError.is(error) || !(await table.renew([archive], this.#options.signal))) throw error;
    }
  }

  async #archive(name: string): Promise<void> {
    if (this.#checkedArchives.has(name)) return;
    this.#checkedArchives.add(name);
    if (this.#options.deep !== true) return;
    this.#bytes += await checkArchive(this.#context.blobs, name, this.#options.signal);
  }

  async #small(key: string): Promise<Uint8Array> {
    const bytes = await this.#context.blobs.getBytes(key, this.#options);
    if (this.#options.deep === true) this.#bytes += bytes.length;
    return bytes;
  }

  /** Turns what a reader would meet into a problem, and goes on. */
  async #attempt<T>(
    where: { ref?: string; path?: string; key?: string },
    check: () => Promise<T>,
  ): Promise<T | undefined> {
    throwIfAborted(this.#options.signal);
    try {
      return await check();
    } catch (error) {
      throwIfAborted(this.#options.signal);
      const path = IntegrityError.is(error) && where.key === undefined ? { path: error.path } : {};
      if (error instanceof FormatFault) {
        this.#problems.push({
          ...where,
          code: IntegrityError.code,
          message: `${where.key ?? 'an object'}: found ${error.message}`,
        });
      } else if (
        error instanceof HoldfastError &&
        /^(WORKSPACE_|BLOBS_(NOT_FOUND|INTEGRITY|RANGE))/.test(error.code)
      ) {
        this.#problems.push({ ...path, ...where, code: error.code, message: error.message });
      } else {
        throw error;
      }
      return undefined;
    }
  }
}
