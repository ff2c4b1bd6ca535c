import { type Random, randomHex, throwIfAborted } from '@holdfast/base';
import { BlobConflictError, BlobNotFoundError, type Blobs, BlobsAmbiguousError } from '@holdfast/blobs';

import { CollectError, IntegrityError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { decodeCollectionList } from './collection-lists.js';
import { Mutex } from './mutex.js';
import { encodeRecord, type RegisterRecord, type SlotRecord, type WriterSession } from './record.js';
import { readRecord } from './record-store.js';
import { archiveKey, holdOf, lastSlot, parseArchiveKey, slotKey } from './store-keys.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** What a commit or merge says besides its place in the log. */
export type SlotBody = SlotRecord extends infer R
  ? R extends SlotRecord
    ? Omit<R, 'writer' | 'slot' | 'released'>
    : never
  : never;

/** Which archives may not be relied on, as far as one registration can tell. */
export interface Proof {
  readonly registration: number;
  readonly absent: ReadonlySet<string>;
}

/** A slot that was won. */
export interface WonSlot {
  readonly writer: string;
  readonly slot: number;
  readonly hold: string;
  readonly bytes: Uint8Array;
}

const ambiguousRetries = 3;
const parallelStats = 8;

/**
 * The log of one writer, and its side of the collection protocol: it registers before it relies on anything that was
 * there before; a collector that ran since puts `retired` into the log, and the next commit meets it.
 */
export class WriterLog {
  readonly #blobs: Blobs;
  readonly #random: Random;
  readonly #session: WriterSession | undefined;
  readonly #mutex = new Mutex();
  readonly #released = new Set<string>();
  #writer: string | undefined;
  #previous: string | undefined;
  #registrations = 0;
  #next = 0;
  #part = 0;
  #condemned = new Set<string>();
  /** Archives that were proved after the registration. */
  #proved = new Set<string>();

  constructor(blobs: Blobs, random: Random, session: WriterSession | undefined) {
    this.#blobs = blobs;
    this.#random = random;
    this.#session = session;
  }

  /** Registers unless that was done. */
  async register(options: Options): Promise<void> {
    await this.#mutex.run(() => this.#register(options));
  }

  /** A name for one more archive that no other attempt of any writer has. */
  async nextMeta(options: Options): Promise<{ writer: string; slot: number; part: number }> {
    await this.register(options);
    this.#part += 1;
    return { writer: this.#writer as string, slot: this.#next, part: this.#part };
  }

  /**
   * Proves that archives may be relied on: not condemned when this writer registered, and there afterwards. The proof
   * holds for this registration only.
   */
  async prove(archives: readonly string[], options: Options): Promise<Proof> {
    await this.register(options);
    const registration = this.#registrations;
    const proved = this.#proved;
    const condemned = this.#condemned;
    const absent = new Set<string>();
    const unknown = archives.filter((name) => !proved.has(name));
    for (let at = 0; at < unknown.length; at += parallelStats) {
      const group = unknown.slice(at, at + parallelStats).map(async (name) => {
        const there =
          !condemned.has(name) && (await this.#blobs.stat(archiveKey(name), options)) !== undefined;
        (there ? proved : absent).add(name);
      });
      await Promise.all(group);
    }
    return { registration, absent };
  }

  /** Notes that the event which names a hold is durable; recorded with the next slot. */
  release(hold: string): void {
    this.#released.add(hold);
  }

  /**
   * Puts the next slot. `undefined` when a collector has retired the log since the proof: the writer must prove its
   * archives again (it registers anew on the way) and repeat.
   */
  async put(body: SlotBody, proof: Proof, options: Options): Promise<WonSlot | undefined> {
    return await this.#mutex.run(async () => {
      if (this.#writer === undefined || proof.registration !== this.#registrations) return undefined;
      throwIfAborted(options.signal);
      const writer = this.#writer as string;
      const slot = this.#next;
      if (slot > lastSlot) throw new CollectError('commit', `writer ${writer} has no slots left`);
      const released = [...this.#released];
      const bytes = encodeRecord({ ...body, writer, slot, released } as SlotRecord);
      if (!(await this.#putSlot(writer, slot, bytes, options))) return undefined;
      this.#next = slot + 1;
      for (const hold of released) this.#released.delete(hold);
      return { writer, slot, hold: holdOf(writer, slot), bytes };
    });
  }

  /** Ends the log, so that collectors need not retire it. Without a log, one is begun only to say what is released. */
  async close(options: Options): Promise<void> {
    if (this.#writer === undefined && this.#released.size === 0) return;
    await this.register(options);
    await this.put({ kind: 'closed' }, { registration: this.#registrations, absent: new Set() }, options);
    this.#writer = undefined;
  }

  // 1. The register slot of a fresh log is durable.
  // 2. The condemned lists are read: a collection whose list is not among them will find this log and retire it.
  // 3. Archives are proved one by one, after this, by `prove`.
  async #register(options: Options): Promise<void> {
    if (this.#writer !== undefined) return;
    const writer = randomHex(this.#random, 16);
    const record: RegisterRecord = {
      kind: 'register',
      writer,
      slot: 0,
      session: this.#session,
      previous: this.#previous,
      released: [...this.#released],
    };
    await this.#putSlot(writer, 0, encodeRecord(record), options);
    const condemned = await readCondemned(this.#blobs, options);
    for (const hold of record.released) this.#released.delete(hold);
    this.#condemned = condemned;
    this.#proved = new Set();
    this.#writer = writer;
    this.#previous = writer;
    this.#registrations += 1;
    this.#next = 1;
  }

  /** Puts a slot; `false` when a collector was first. */
  async #putSlot(writer: string, slot: number, bytes: Uint8Array, options: Options): Promise<boolean> {
    const key = slotKey(writer, slot);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#blobs.put(key, bytes, options);
        return true;
      } catch (error) {
        // The same bytes again: create-only makes the repeat safe, and it tells what happened.
        if (BlobsAmbiguousError.is(error) && attempt < ambiguousRetries) continue;
        if (!BlobConflictError.is(error)) throw error;
        const found = readRecord(await this.#blobs.getBytes(key, options), key);
        if (found.kind !== 'retired') {
          throw new IntegrityError(
            { path: key, expected: 'a free slot', got: `a ${found.kind} record` },
            { cause: error },
          );
        }
        this.#writer = undefined;
        return false;
      }
    }
  }
}

/** The archives that some collection has condemned. */
async function readCondemned(blobs: Blobs, options: Options): Promise<Set<string>> {
  const condemned = new Set<string>();
  for await (const { key } of blobs.list('gc/', options)) {
    if (!/^gc\/[0-9a-f]{32}\/condemned$/.test(key)) continue;
    let bytes: Uint8Array;
    try {
      bytes = await blobs.getBytes(key, options);
    } catch (error) {
      if (BlobNotFoundError.is(error)) continue;
      throw error;
    }
    for (const name of decodeList(bytes, key)) {
      const archive = name.startsWith('archives/') ? parseArchiveKey(name) : undefined;
      if (archive !== undefined) condemned.add(archive);
    }
  }
  return condemned;
}

function decodeList(bytes: Uint8Array, key: string): string[] {
  try {
    return decodeCollectionList(bytes, key);
  } catch (error) {
    if (!(error instanceof FormatFault)) throw error;
    throw new IntegrityError(
      { path: key, expected: 'a list of names', got: error.message },
      { cause: error },
    );
  }
}
