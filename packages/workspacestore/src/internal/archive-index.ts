import { equalBytes, sha256 } from '@holdfast/base';

import { UnsupportedFormatError } from '../errors.js';
import { FormatFault } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import { maxFrameBytes } from './chunk-list.js';
import { keyLength, type ObjectKind, objectKindCodes, objectKinds } from './object-key.js';

/** Where one frame lies in its archive. */
export interface FrameLocation {
  /** Bytes from the start of the archive. */
  readonly offset: number;
  readonly storedLength: number;
  readonly rawLength: number;
  readonly codec: number;
}

/** Where one object lies. */
export interface IndexRow {
  readonly key: Uint8Array;
  readonly kind: ObjectKind;
  readonly frame: number;
  readonly offset: number;
  readonly length: number;
}

const magic = Buffer.from('hfindex1', 'latin1');
const headerBytes = 16;
const frameBytes = 13;
const rowBytes = keyLength + 13;

/** Writes an index; sorts the rows. */
export function encodeIndex(frames: readonly FrameLocation[], rows: readonly IndexRow[]): Uint8Array {
  const sorted = sortRows(rows);
  const writer = new ByteWriter(headerBytes + frames.length * frameBytes + sorted.length * rowBytes + 32);
  writer.bytes(magic);
  writer.u32(frames.length);
  writer.u32(sorted.length);
  for (const frame of frames) {
    writer.u32(frame.offset);
    writer.u32(frame.storedLength);
    writer.u32(frame.rawLength);
    writer.u8(frame.codec);
  }
  for (const row of sorted) {
    writer.bytes(row.key);
    writer.u8(objectKindCodes[row.kind]);
    writer.u32(row.frame);
    writer.u32(row.offset);
    writer.u32(row.length);
  }
  writer.bytes(sha256(writer.view()));
  return writer.take();
}

/** A verified index, read in place: opening costs one digest and one pass, a row costs nothing until it is asked for. */
export class ArchiveIndex {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly frameCount: number;
  readonly rowCount: number;

  private constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.frameCount = this.#view.getUint32(8);
    this.rowCount = this.#view.getUint32(12);
  }

  /** Checks digest, order, and that every row lies inside its frame and every frame inside the archive. */
  static verify(bytes: Uint8Array, archiveSize: number): ArchiveIndex {
    if (bytes.length < headerBytes + 32) throw new FormatFault('an index that ends early');
    if (!equalBytes(bytes.subarray(0, 7), magic.subarray(0, 7))) throw new FormatFault('no index');
    const body = bytes.length - 32;
    if (!equalBytes(sha256(bytes.subarray(0, body)), bytes.subarray(body))) {
      throw new FormatFault('an index with a wrong digest');
    }
    if (bytes[7] !== magic[7])
      throw new UnsupportedFormatError(`hfindex${String.fromCharCode(bytes[7] as number)}`, 'index');
    const index = new ArchiveIndex(bytes);
    if (body !== headerBytes + index.frameCount * frameBytes + index.rowCount * rowBytes) {
      throw new FormatFault('an index of the wrong length');
    }
    index.#check(archiveSize);
    return index;
  }

  /** Takes bytes that `verify` accepted, in this process. */
  static verifiedBefore(bytes: Uint8Array): ArchiveIndex {
    return new ArchiveIndex(bytes);
  }

  frame(index: number): FrameLocation {
    const at = headerBytes + index * frameBytes;
    return {
      offset: this.#view.getUint32(at),
      storedLength: this.#view.getUint32(at + 4),
      rawLength: this.#view.getUint32(at + 8),
      codec: this.#view.getUint8(at + 12),
    };
  }

  row(index: number): IndexRow {
    const at = this.#rowAt(index);
    return {
      key: this.bytes.subarray(at, at + keyLength),
      kind: objectKinds[this.#view.getUint8(at + keyLength)] as ObjectKind,
      frame: this.#view.getUint32(at + keyLength + 1),
      offset: this.#view.getUint32(at + keyLength + 5),
      length: this.#view.getUint32(at + keyLength + 9),
    };
  }

  /** The first four bytes of a row's key. */
  rowHash(index: number): number {
    return this.#view.getUint32(this.#rowAt(index));
  }

  /** Tells whether a row has this kind and key, without making an object. */
  rowIs(index: number, kindCode: number, key: Uint8Array): boolean {
    const at = this.#rowAt(index);
    if (this.bytes[at + keyLength] !== kindCode) return false;
    for (let i = 0; i < keyLength; i += 1) if (this.bytes[at + i] !== key[i]) return false;
    return true;
  }

  #rowAt(index: number): number {
    return headerBytes + this.frameCount * frameBytes + index * rowBytes;
  }

  #check(archiveSize: number): void {
    for (let index = 0; index < this.frameCount; index += 1) {
      const frame = this.frame(index);
      if (frame.offset + frame.storedLength > archiveSize || frame.rawLength > maxFrameBytes) {
        throw new FormatFault(`frame ${index} out of bounds`);
      }
    }
    for (let index = 0; index < this.rowCount; index += 1) this.#checkRow(index);
  }

  #checkRow(index: number): void {
    const at = this.#rowAt(index);
    const kind = this.#view.getUint8(at + keyLength);
    const frame = this.#view.getUint32(at + keyLength + 1);
    if (kind === 0 || objectKinds[kind] === undefined) throw new FormatFault('an object of an unknown kind');
    if (frame >= this.frameCount) throw new FormatFault('an object in no frame');
    const end = this.#view.getUint32(at + keyLength + 5) + this.#view.getUint32(at + keyLength + 9);
    if (end > this.#view.getUint32(headerBytes + frame * frameBytes + 8)) {
      throw new FormatFault('an object out of its frame');
    }
    if (index === 0) return;
    // Key and kind stand next to each other: their bytes are in the order of the rows.
    for (let i = 0; i <= keyLength; i += 1) {
      const difference = (this.bytes[at - rowBytes + i] as number) - (this.bytes[at + i] as number);
      if (difference < 0) return;
      if (difference > 0) break;
    }
    throw new FormatFault('index rows out of order');
  }
}

/** Rows that can be sorted as numbers: 32 bits of key and 21 of place make a whole number that is exact. */
const mostNumbered = 2 ** 21;

/** By key, then kind. Keys are digests: their first four bytes settle nearly every comparison. */
function sortRows(rows: readonly IndexRow[]): readonly IndexRow[] {
  if (rows.length > mostNumbered) return [...rows].sort(compareRows);
  const numbers = Float64Array.from(rows, (row, place) => headOf(row.key) * mostNumbered + place).sort();
  const sorted = Array.from(numbers, (number) => rows[number % mostNumbered] as IndexRow);
  // What the four bytes leave open.
  for (let at = 1; at < sorted.length; at += 1) {
    for (let to = at; to > 0 && compareRows(sorted[to - 1] as IndexRow, sorted[to] as IndexRow) > 0; to -= 1)
      [sorted[to - 1], sorted[to]] = [sorted[to] as IndexRow, sorted[to - 1] as IndexRow];
  }
  return sorted;
}

function headOf(key: Uint8Array): number {
  return (
    (key[0] as number) * 2 ** 24 +
    (((key[1] as number) << 16) | ((key[2] as number) << 8) | (key[3] as number))
  );
}

function compareRows(a: IndexRow, b: IndexRow): number {
  return Buffer.compare(a.key, b.key) || objectKindCodes[a.kind] - objectKindCodes[b.kind];
}
