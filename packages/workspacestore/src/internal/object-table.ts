import type { ArchiveIndex, IndexRow } from './archive-index.js';
import type { ArchiveTail } from './archive-tail.js';
import { type ObjectKind, objectKindCodes } from './object-key.js';
import type { ArchiveRef } from './record.js';

/** An archive of a closure with its tail. */
export interface OpenArchive {
  readonly ref: ArchiveRef;
  readonly tail: ArchiveTail;
}

/** One place where an object is stored. */
export interface ObjectLocation {
  readonly archive: OpenArchive;
  readonly row: IndexRow;
}

/**
 * Every object of a set of archives, by kind and key. An open-addressing table over the rows of the indexes: keys are
 * digests, so their first bytes are the hash, and nothing of the indexes is copied.
 */
export class ObjectTable {
  readonly archives: OpenArchive[] = [];
  readonly #names = new Set<string>();
  #count = 0;
  #capacity = 1024;
  /** Number of the archive plus one; 0 is a free slot. */
  #archiveSlots = new Uint32Array(this.#capacity);
  #rowSlots = new Uint32Array(this.#capacity);

  /** Adds an archive; one that is there already is left alone. */
  add(archive: OpenArchive): void {
    if (this.#names.has(archive.ref.name)) return;
    this.#names.add(archive.ref.name);
    this.archives.push(archive);
    const { index } = archive.tail;
    this.#reserve(this.#count + index.rowCount);
    for (let row = 0; row < index.rowCount; row += 1) this.#insert(index, this.archives.length, row);
    this.#count += index.rowCount;
  }

  hasArchive(name: string): boolean {
    return this.#names.has(name);
  }

  /** Tells whether the object is stored, whole or as chunks. */
  has(kind: ObjectKind, key: Uint8Array): boolean {
    for (const slot of this.#probe(key)) {
      const { index } = this.#archiveAt(slot).tail;
      const row = this.#rowSlots[slot] as number;
      if (index.rowIs(row, objectKindCodes[kind], key)) return true;
      if (index.rowIs(row, objectKindCodes.chunklist, key)) return true;
    }
    return false;
  }

  /** Every place of exactly this kind and key, in the order in which the archives were added. */
  locate(kind: ObjectKind, key: Uint8Array): ObjectLocation[] {
    const found: { order: number; location: ObjectLocation }[] = [];
    for (const slot of this.#probe(key)) {
      const archive = this.#archiveAt(slot);
      const row = this.#rowSlots[slot] as number;
      if (!archive.tail.index.rowIs(row, objectKindCodes[kind], key)) continue;
      found.push({
        order: this.#archiveSlots[slot] as number,
        location: { archive, row: archive.tail.index.row(row) },
      });
    }
    if (found.length > 1) found.sort((a, b) => a.order - b.order);
    return found.map(({ location }) => location);
  }

  *#probe(key: Uint8Array): Generator<number> {
    const mask = this.#capacity - 1;
    for (let slot = hashOf(key) & mask; this.#archiveSlots[slot] !== 0; slot = (slot + 1) & mask) yield slot;
  }

  #archiveAt(slot: number): OpenArchive {
    return this.archives[(this.#archiveSlots[slot] as number) - 1] as OpenArchive;
  }

  #insert(index: ArchiveIndex, archive: number, row: number): void {
    const mask = this.#capacity - 1;
    let slot = index.rowHash(row) & mask;
    while (this.#archiveSlots[slot] !== 0) slot = (slot + 1) & mask;
    this.#archiveSlots[slot] = archive;
    this.#rowSlots[slot] = row;
  }

  #reserve(count: number): void {
    if (count * 2 <= this.#capacity) return;
    while (this.#capacity < count * 2) this.#capacity *= 2;
    this.#archiveSlots = new Uint32Array(this.#capacity);
    this.#rowSlots = new Uint32Array(this.#capacity);
    // The newest archive is not counted yet: the caller inserts its rows.
    for (const [position, archive] of this.archives.slice(0, -1).entries()) {
      const { index } = archive.tail;
      for (let row = 0; row < index.rowCount; row += 1) this.#insert(index, position + 1, row);
    }
  }
}

function hashOf(key: Uint8Array): number {
  return (
    (((key[0] as number) << 24) |
      ((key[1] as number) << 16) |
      ((key[2] as number) << 8) |
      (key[3] as number)) >>>
    0
  );
}
