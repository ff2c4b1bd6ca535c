import { equalBytes, sha256 } from '@holdfast/base';
import type { FileHandle, FileSystem, Stat } from '@holdfast/durable';

import type { CaptureRules, ObjectSink } from './capture-types.js';
import { type ChunkRef, encodeChunkList, maxWholeObjectBytes } from './chunk-list.js';
import { findCut, maximumChunkBytes } from './gear.js';
import { findMapped } from './mapped-inodes.js';
import { domains, keyOf, startKey } from './object-key.js';

/** What reading one open file gave. */
export type FileReading =
  | { readonly outcome: 'read'; readonly key: Uint8Array; readonly stat: Stat; readonly steady: boolean }
  | { readonly outcome: 'moved' };

const prefix = domains.file;
const attempts = 4;
const pieceBytes = 1024 * 1024;

/**
 * Reads and hashes file content into reused buffers, and hands what is new to a sink. Memory does not grow with files:
 * those above 4 MiB pass through in chunks.
 */
export class FileReader {
  readonly #fileSystem: FileSystem;
  readonly #sink: ObjectSink;
  readonly #rules: Pick<CaptureRules, 'racyFromNs' | 'trustSignatures'>;
  #mapped: ReadonlySet<bigint> | undefined;
  /** The key's prefix stands before the content, so that a whole small file is hashed in one call. */
  #whole = new Uint8Array(prefix.length + 64 * 1024);
  #rolling: Uint8Array | undefined;
  /** Bytes read so far, for the statistics. */
  bytesRead = 0;

  constructor(
    fileSystem: FileSystem,
    sink: ObjectSink,
    rules: Pick<CaptureRules, 'racyFromNs' | 'trustSignatures'>,
  ) {
    this.#fileSystem = fileSystem;
    this.#sink = sink;
    this.#rules = rules;
    this.#whole.set(prefix);
  }

  /**
   * Inodes that were mapped for writing before anything was read whose stat could vouch for it later. Whoever maps a file
   * after that gives its ctime a move by the first store.
   */
  get mapped(): ReadonlySet<bigint> {
    return this.#mapped ?? new Set();
  }

  /**
   * Reads a file that was found to be regular. Its content is taken when the file looked the same before and after. A
   * file that only grows is taken as it stood at one moment: when all that one reading gave is still the beginning of
   * what the next one gives, every byte of it was in the file between the two.
   */
  *read(file: FileHandle, first: Stat): Generator<void, FileReading> {
    const mayVouch = this.#rules.trustSignatures && first.ctimeNs < this.#rules.racyFromNs;
    if (mayVouch) this.#mapped ??= yield* findMapped();
    let before = first;
    let previous: Sized | undefined;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const { size } = before;
      const beginning = previous === undefined || previous.size > size ? undefined : previous.size;
      const keys = yield* size <= maxWholeObjectBytes
        ? this.#readWhole(file, size, beginning)
        : this.#readChunks(file, size, beginning);
      const after = this.#fileSystem.fstat(file);
      if (keys !== undefined) {
        if (sameContentStat(before, after))
          return { outcome: 'read', key: keys.whole, stat: after, steady: true };
        if (
          previous !== undefined &&
          keys.beginning !== undefined &&
          equalBytes(keys.beginning, previous.key)
        ) {
          return {
            outcome: 'read',
            key: previous.key,
            stat: { ...after, size: previous.size },
            steady: false,
          };
        }
        previous = { size, key: keys.whole };
      }
      before = after;
    }
    return { outcome: 'moved' };
  }

  *#readWhole(
    file: FileHandle,
    size: number,
    beginning: number | undefined,
  ): Generator<void, Keys | undefined> {
    if (this.#whole.length < prefix.length + size) {
      const room = Math.min(maxWholeObjectBytes, Math.max(size, this.#whole.length * 2));
      this.#whole = new Uint8Array(prefix.length + room);
      this.#whole.set(prefix);
    }
    const end = prefix.length + size;
    let at = prefix.length;
    while (at < end) {
      const count = this.#fileSystem.read(file, this.#whole.subarray(at, end), at - prefix.length);
      if (count === 0) return undefined;
      at += count;
      this.bytesRead += count;
      if (at < end) yield;
    }
    const whole = sha256(this.#whole.subarray(0, end));
    if (size > 0 && !this.#sink.has('file', whole)) {
      this.#sink.add('file', whole, this.#whole.subarray(prefix.length, end));
    }
    return {
      whole,
      beginning:
        beginning === undefined ? undefined : sha256(this.#whole.subarray(0, prefix.length + beginning)),
    };
  }

  *#readChunks(
    file: FileHandle,
    size: number,
    beginning: number | undefined,
  ): Generator<void, Keys | undefined> {
    this.#rolling ??= new Uint8Array(maximumChunkBytes + pieceBytes);
    const buffer = this.#rolling;
    const hash = startKey('file');
    const begun = beginning === undefined ? undefined : startKey('file');
    const chunks: ChunkRef[] = [];
    let start = 0;
    let end = 0;
    let position = 0;
    while (position < size || start < end) {
      while (position < size && end - start < maximumChunkBytes) {
        if (buffer.length - end < pieceBytes) {
          buffer.copyWithin(0, start, end);
          end -= start;
          start = 0;
        }
        const room = buffer.subarray(end, end + Math.min(pieceBytes, size - position));
        const count = this.#fileSystem.read(file, room, position);
        if (count === 0) return undefined;
        hash.update(room.subarray(0, count));
        if (beginning !== undefined && position < beginning) {
          begun?.update(room.subarray(0, Math.min(count, beginning - position)));
        }
        position += count;
        end += count;
        this.bytesRead += count;
        yield;
      }
      const cut = findCut(buffer, start, end);
      const bytes = buffer.subarray(start, cut);
      const key = keyOf('chunk', bytes);
      if (!this.#sink.has('chunk', key)) this.#sink.add('chunk', key, bytes);
      chunks.push({ key, length: bytes.length });
      start = cut;
      yield;
    }
    const whole = hash.digest();
    if (!this.#sink.has('file', whole)) {
      this.#sink.add('chunklist', whole, encodeChunkList({ kind: 'file', size, chunks }));
    }
    return { whole, beginning: begun?.digest() };
  }
}

interface Sized {
  readonly size: number;
  readonly key: Uint8Array;
}

/** The key of what was read, and of its first bytes as far as the reading before went. */
interface Keys {
  readonly whole: Uint8Array;
  readonly beginning: Uint8Array | undefined;
}

function sameContentStat(a: Stat, b: Stat): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;
}
