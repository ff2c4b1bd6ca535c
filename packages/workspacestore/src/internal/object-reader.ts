import { equalBytes, Pacer } from '@holdfast/base';
import { BlobIntegrityError, BlobNotFoundError, BlobRangeError, type Blobs } from '@holdfast/blobs';

import { IntegrityError } from '../errors.js';
import { ByteCache } from './byte-cache.js';
import { FormatFault } from './byte-reader.js';
import { type ChunkList, type ChunkRef, decodeChunkList } from './chunk-list.js';
import { decodeFrame } from './frame-codec.js';
import { keyOf, keyText, type ObjectKind, startKey } from './object-key.js';
import type { ObjectTable, OpenArchive } from './object-table.js';
import { archiveKey } from './store-keys.js';

/** What an object is asked for, for messages. */
export interface Wanted {
  readonly ref: string;
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

const frameCacheBytes = 32 * 2 ** 20;

/**
 * Reads objects by kind and key. Every byte is verified against the key before it is handed out (for objects in chunks:
 * every chunk before it is handed out, the whole before the stream ends). When one place is damaged or gone the next
 * one is tried, and when archives have moved since the table was made, the places where they went.
 */
export class ObjectReader {
  readonly #blobs: Blobs;
  readonly #frames = new ByteCache<Uint8Array>(frameCacheBytes);
  readonly #pacer = new Pacer();

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Reads a whole object into memory. Meant for trees, roots and small files. */
  async readWhole(
    table: ObjectTable,
    kind: 'root' | 'tree' | 'file',
    key: Uint8Array,
    wanted: Wanted,
  ): Promise<Uint8Array> {
    const whole = await this.#readPiece(table, kind, key, wanted);
    if (whole !== undefined) return whole;
    const parts: Uint8Array[] = [];
    for await (const part of this.#readChunks(table, kind, key, wanted)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** Streams an object. */
  async *read(
    table: ObjectTable,
    kind: 'root' | 'tree' | 'file',
    key: Uint8Array,
    wanted: Wanted,
  ): AsyncGenerator<Uint8Array> {
    const whole = await this.#readPiece(table, kind, key, wanted);
    if (whole !== undefined) yield whole;
    else yield* this.#readChunks(table, kind, key, wanted);
  }

  /** How an object in chunks is stored; `undefined` when it is in no chunks. */
  async readChunkList(
    table: ObjectTable,
    kind: 'root' | 'tree' | 'file',
    key: Uint8Array,
    wanted: Wanted,
  ): Promise<ChunkList | undefined> {
    return await this.#tryPlaces(table, 'chunklist', key, wanted, (bytes) => {
      const decoded = decodeChunkList(bytes);
      return decoded.kind === kind ? decoded : 'chunks of another kind';
    });
  }

  /** One chunk of a list, verified. */
  async readChunk(table: ObjectTable, chunk: ChunkRef, wanted: Wanted): Promise<Uint8Array> {
    const bytes = await this.#readPiece(table, 'chunk', chunk.key, wanted);
    if (bytes?.length === chunk.length) return bytes;
    throw missing(chunk.key, wanted, bytes === undefined ? 'nothing' : 'other bytes');
  }

  /** The decoded bytes of one frame. */
  async readFrame(archive: OpenArchive, index: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const name = `${archive.ref.name}:${index}`;
    const cached = this.#frames.get(name);
    if (cached !== undefined) return cached;
    const frame = archive.tail.index.frame(index);
    const stored =
      archive.tail.frameBytes(frame) ??
      (await this.readRange(archive, frame.offset, frame.offset + frame.storedLength, signal));
    const raw = decodeFrame(stored, frame.codec, frame.rawLength);
    this.#frames.set(name, raw, raw.length);
    return raw;
  }

  /** Bytes of an archive; a short or missing archive is a `FormatFault`. */
  async readRange(
    archive: OpenArchive,
    start: number,
    end: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    try {
      return await this.#blobs.getBytes(archiveKey(archive.ref.name), { range: { start, end }, signal });
    } catch (error) {
      if (BlobNotFoundError.is(error)) throw new FormatFault('no archive', { cause: error });
      if (BlobRangeError.is(error)) throw new FormatFault('a shorter archive', { cause: error });
      if (BlobIntegrityError.is(error)) throw new FormatFault('damaged bytes', { cause: error });
      throw error;
    }
  }

  /** One stored piece, verified; `undefined` when the object is not stored in one piece. */
  async #readPiece(
    table: ObjectTable,
    kind: ObjectKind,
    key: Uint8Array,
    wanted: Wanted,
  ): Promise<Uint8Array | undefined> {
    return await this.#tryPlaces(table, kind, key, wanted, (bytes) => {
      return equalBytes(keyOf(kind, bytes), key) ? bytes : 'other bytes';
    });
  }

  async *#readChunks(
    table: ObjectTable,
    kind: 'root' | 'tree' | 'file',
    key: Uint8Array,
    wanted: Wanted,
  ): AsyncGenerator<Uint8Array> {
    const list = await this.readChunkList(table, kind, key, wanted);
    if (list === undefined) throw missing(key, wanted, 'nothing');
    yield* this.#readListed(table, kind, key, list, wanted);
  }

  async *#readListed(
    table: ObjectTable,
    kind: ObjectKind,
    key: Uint8Array,
    list: ChunkList,
    wanted: Wanted,
  ): AsyncGenerator<Uint8Array> {
    const hash = startKey(kind);
    for (const [position, chunk] of list.chunks.entries()) {
      const bytes = await this.readChunk(table, chunk, wanted);
      hash.update(bytes);
      // The last piece is held back until the whole has been proved.
      if (position === list.chunks.length - 1 && !equalBytes(hash.digest(), key))
        throw missing(key, wanted, 'other bytes');
      yield bytes;
    }
  }

  async #tryPlaces<T extends object>(
    table: ObjectTable,
    kind: ObjectKind,
    key: Uint8Array,
    wanted: Wanted,
    check: (bytes: Uint8Array) => T | string,
  ): Promise<T | undefined> {
    // Whoever reads one object after the other from memory, and writes them somewhere, never waits for anything.
    if (this.#pacer.due) await this.#pacer.rest(wanted.signal);
    for (;;) {
      const places = table.locate(kind, key);
      if (places.length === 0) return undefined;
      const gone: OpenArchive[] = [];
      let fault: unknown;
      let found = 'nothing';
      for (const { archive, row } of places) {
        try {
          const frame = await this.readFrame(archive, row.frame, wanted.signal);
          const result = check(frame.subarray(row.offset, row.offset + row.length));
          if (typeof result !== 'string') return result;
          found = result;
        } catch (error) {
          if (!(error instanceof FormatFault)) throw error;
          fault = error;
          found = error.message;
          if (BlobNotFoundError.is(error.cause)) gone.push(archive);
        }
      }
      // Each round leaves archives behind: it ends, however often they move meanwhile.
      if (gone.length === 0 || !(await table.renew(gone, wanted.signal)))
        throw missing(key, wanted, found, fault);
    }
  }
}

/** What is thrown for an object that no place serves. */
export function missing(key: Uint8Array, wanted: Wanted, got: string, cause?: unknown): IntegrityError {
  return new IntegrityError(
    { ref: wanted.ref, path: wanted.path, expected: keyText(key), got },
    cause === undefined ? {} : { cause },
  );
}
