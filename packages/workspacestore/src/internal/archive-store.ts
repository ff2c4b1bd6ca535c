import { BlobIntegrityError, BlobNotFoundError, BlobRangeError, type Blobs } from '@holdfast/blobs';

import { CollectedError, IntegrityError } from '../errors.js';
import { openTail } from './archive-tail.js';
import { type ArchiveMeta, type BuiltArchive, type BuiltFrame, buildArchive } from './archive-writer.js';
import { ByteCache } from './byte-cache.js';
import { FormatFault } from './byte-reader.js';
import type { CacheDirectory } from './cache-directory.js';
import { ObjectTable, type OpenArchive } from './object-table.js';
import { type ArchiveRef, decodeForward } from './record.js';
import { archiveKey, forwardKey } from './store-keys.js';

const tailCacheBytes = 96 * 2 ** 20;
const parallelTails = 8;

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Puts archives, opens them by their tails, and follows forwards. */
export class ArchiveStore {
  readonly #blobs: Blobs;
  readonly #cache: CacheDirectory | undefined;
  readonly #tails = new ByteCache<OpenArchive>(tailCacheBytes);

  constructor(blobs: Blobs, cache: CacheDirectory | undefined) {
    this.#blobs = blobs;
    this.#cache = cache;
  }

  /** Writes one archive and keeps its tail; durable, as far as the store is, when it resolves. */
  async put(
    meta: ArchiveMeta,
    dataFrames: readonly BuiltFrame[],
    treeFrames: readonly BuiltFrame[],
    options: Options,
  ): Promise<ArchiveRef> {
    const built = await buildArchive(meta, dataFrames, treeFrames);
    await this.#blobs.put(archiveKey(built.name), sourceOf(built), options);
    const archive = { name: built.name, size: built.size, tail: built.tail };
    // The next snapshot looks into this archive: what was written need not be fetched.
    await this.#keepTail(archive, tailOf(built));
    return archive;
  }

  /**
   * Opens every archive of a record. One that is gone is looked for through its forwards.
   * @throws CollectedError when an archive is gone and no forward leads to one that is there.
   * @throws IntegrityError when an archive's tail is damaged, and when forwards lead round in a circle.
   */
  async openClosure(ref: string, archives: readonly ArchiveRef[], options: Options): Promise<ObjectTable> {
    const table = new ObjectTable();
    for (let at = 0; at < archives.length; at += parallelTails) {
      const group = archives
        .slice(at, at + parallelTails)
        .map((archive) => this.#openMoved(ref, archive, options));
      for (const opened of await Promise.all(group)) table.add(opened);
    }
    return table;
  }

  /** Opens one archive by its tail; `undefined` when it is not there. */
  async open(archive: ArchiveRef, options: Options): Promise<OpenArchive | undefined> {
    const known = this.#tails.get(archive.name);
    if (known !== undefined) return known;
    const saved = this.#cache?.read(tailName(archive));
    const bytes = saved ?? (await this.#fetchTail(archive, options));
    if (bytes === undefined) return undefined;
    try {
      if (saved === undefined) return await this.#keepTail(archive, bytes);
      return this.#rememberTail(archive, bytes);
    } catch (error) {
      if (error instanceof FormatFault) throw damagedArchive(archive.name, error.message, error);
      throw error;
    }
  }

  async #keepTail(archive: ArchiveRef, bytes: Uint8Array): Promise<OpenArchive> {
    const opened = this.#rememberTail(archive, bytes);
    await this.#cache?.write(tailName(archive), [bytes]);
    return opened;
  }

  #rememberTail(archive: ArchiveRef, bytes: Uint8Array): OpenArchive {
    const opened = { ref: archive, tail: openTail(bytes, archive.tail) };
    this.#tails.set(archive.name, opened, bytes.length);
    return opened;
  }

  async #fetchTail(archive: ArchiveRef, options: Options): Promise<Uint8Array | undefined> {
    try {
      const range = { start: archive.tail, end: archive.size };
      return await this.#blobs.getBytes(archiveKey(archive.name), { range, ...options });
    } catch (error) {
      if (BlobNotFoundError.is(error)) return undefined;
      if (BlobRangeError.is(error)) throw damagedArchive(archive.name, 'fewer bytes', error);
      if (BlobIntegrityError.is(error)) throw damagedArchive(archive.name, 'damaged bytes', error);
      throw error;
    }
  }

  /** Where an archive's objects went; `undefined` when no forward says so. */
  async forward(name: string, options: Options): Promise<ArchiveRef | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#blobs.getBytes(forwardKey(name), options);
    } catch (error) {
      if (BlobNotFoundError.is(error)) return undefined;
      throw error;
    }
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

  #isCached(archive: ArchiveRef): boolean {
    return this.#cache !== undefined || this.#tails.get(archive.name) !== undefined;
  }

  async #openMoved(ref: string, archive: ArchiveRef, options: Options): Promise<OpenArchive> {
    // Every merge of the archive that has the oldest objects makes their chain longer by one: it may have any length.
    const seen = new Set<string>();
    for (let current = archive; ; ) {
      seen.add(current.name);
      // What a cache knows about an archive does not say that it is still there.
      const there =
        !this.#isCached(current) || (await this.#blobs.stat(archiveKey(current.name), options)) !== undefined;
      const opened = there ? await this.open(current, options) : undefined;
      if (opened !== undefined) return opened;
      const next = await this.forward(current.name, options);
      if (next === undefined) throw new CollectedError(ref, archive.name);
      if (seen.has(next.name)) throw circularForward(ref, current.name, next.name);
      current = next;
    }
  }
}

function tailName(archive: ArchiveRef): string {
  return `tail-${archive.name}`;
}

function damagedArchive(name: string, got: string, cause: unknown): IntegrityError {
  return new IntegrityError({ path: archiveKey(name), expected: 'an archive', got }, { cause });
}

function circularForward(ref: string, name: string, target: string): IntegrityError {
  return new IntegrityError({
    ref,
    path: forwardKey(name),
    expected: 'a way to an archive that is there',
    got: `a way back to ${target}`,
  });
}

/** The end of an archive, from its tree frames on, in a piece of its own. */
function tailOf(built: BuiltArchive): Uint8Array {
  const tail = new Uint8Array(built.size - built.tail);
  let offset = -built.tail;
  for (const piece of built.pieces) {
    if (offset + piece.length > 0) tail.set(piece.subarray(Math.max(0, -offset)), Math.max(0, offset));
    offset += piece.length;
  }
  return tail;
}

function sourceOf(built: BuiltArchive): { size: number; open: () => AsyncIterable<Uint8Array> } {
  return {
    size: built.size,
    open: async function* () {
      for (const piece of built.pieces) yield piece;
    },
  };
}
