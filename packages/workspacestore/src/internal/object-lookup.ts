import { ArchiveIndex } from './archive-index.js';
import { type ObjectKind, objectKindCodes } from './object-key.js';

/** A lookup as another thread gets it. */
export interface LookupParts {
  readonly indexes: readonly Uint8Array[];
  readonly archiveSlots: Uint32Array;
  readonly rowSlots: Uint32Array;
  readonly count: number;
}

/**
 * Finds the rows of several indexes by kind and key. An open-addressing table: keys are digests, so their first bytes
 * are the hash, and nothing of the indexes is copied.
 */
export class ObjectLookup {
  readonly #indexes: ArchiveIndex[] = [];
  #count = 0;
  /** Number of the index plus one; 0 is a free slot. */
  #archiveSlots = new Uint32Array(1024);
  #rowSlots = new Uint32Array(1024);

  /** Takes over what `toParts` gave; the indexes were verified there. */
  static fromParts(parts: LookupParts): ObjectLookup {
    const lookup = new ObjectLookup();
    for (const bytes of parts.indexes) lookup.#indexes.push(ArchiveIndex.verifiedBefore(bytes));
    lookup.#archiveSlots = parts.archiveSlots as Uint32Array<ArrayBuffer>;
    lookup.#rowSlots = parts.rowSlots as Uint32Array<ArrayBuffer>;
    lookup.#count = parts.count;
    return lookup;
  }

  toParts(): LookupParts {
    return {
      indexes: this.#indexes.map((index) => index.bytes),
      archiveSlots: this.#archiveSlots,
      rowSlots: this.#rowSlots,
      count: this.#count,
    };
  }

  add(index: ArchiveIndex): void {
    this.#reserve(this.#count + index.rowCount);
    this.#indexes.push(index);
    for (let row = 0; row < index.rowCount; row += 1) this.#insert(index, this.#indexes.length, row);
    this.#count += index.rowCount;
  }

  /** Tells whether the object is stored, whole or as chunks. */
  has(kind: ObjectKind, key: Uint8Array): boolean {
    const mask = this.#archiveSlots.length - 1;
    const code = objectKindCodes[kind];
    for (let slot = hashOf(key) & mask; ; slot = (slot + 1) & mask) {
      const archive = this.#archiveSlots[slot] as number;
      if (archive === 0) return false;
      const index = this.#indexes[archive - 1] as ArchiveIndex;
      const row = this.#rowSlots[slot] as number;
      if (index.rowIs(row, code, key) || index.rowIs(row, objectKindCodes.chunklist, key)) return true;
    }
  }

  /** Every row of exactly this kind and key: number of the index and of the row in it, in the order of the indexes. */
  places(kind: ObjectKind, key: Uint8Array): { readonly index: number; readonly row: number }[] {
    const found: { index: number; row: number }[] = [];
    const mask = this.#archiveSlots.length - 1;
    for (let slot = hashOf(key) & mask; this.#archiveSlots[slot] !== 0; slot = (slot + 1) & mask) {
      const index = (this.#archiveSlots[slot] as number) - 1;
      const row = this.#rowSlots[slot] as number;
      if ((this.#indexes[index] as ArchiveIndex).rowIs(row, objectKindCodes[kind], key))
        found.push({ index, row });
    }
    return found.length > 1 ? found.sort((a, b) => a.index - b.index) : found;
  }

  #insert(index: ArchiveIndex, archive: number, row: number): void {
    const mask = this.#archiveSlots.length - 1;
    let slot = index.rowHash(row) & mask;
    while (this.#archiveSlots[slot] !== 0) slot = (slot + 1) & mask;
    this.#archiveSlots[slot] = archive;
    this.#rowSlots[slot] = row;
  }

  #reserve(count: number): void {
    let capacity = this.#archiveSlots.length;
    if (count * 2 <= capacity) return;
    while (capacity < count * 2) capacity *= 2;
    this.#archiveSlots = new Uint32Array(capacity);
    this.#rowSlots = new Uint32Array(capacity);
    for (const [position, index] of this.#indexes.entries()) {
      for (let row = 0; row < index.rowCount; row += 1) this.#insert(index, position + 1, row);
    }
  }
}

function hashOf(key: Uint8Array): number {
  return (
    ((key[0] as number) << 24) | ((key[1] as number) << 16) | ((key[2] as number) << 8) | (key[3] as number)
  );
}
