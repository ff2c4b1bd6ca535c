import type { IndexRow } from './archive-index.js';
import type { ArchiveTail } from './archive-tail.js';
import type { ObjectKind } from './object-key.js';
import { type LookupParts, ObjectLookup } from './object-lookup.js';
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

/** Every object of a set of archives, by kind and key. */
export class ObjectTable {
  readonly archives: OpenArchive[] = [];
  readonly #names = new Set<string>();
  readonly #lookup = new ObjectLookup();

  /** Adds an archive; one that is there already is left alone. */
  add(archive: OpenArchive): void {
    if (this.#names.has(archive.ref.name)) return;
    this.#names.add(archive.ref.name);
    this.archives.push(archive);
    this.#lookup.add(archive.tail.index);
  }

  /** Tells whether the object is stored, whole or as chunks. */
  has(kind: ObjectKind, key: Uint8Array): boolean {
    return this.#lookup.has(kind, key);
  }

  /** Every place of exactly this kind and key, in the order in which the archives were added. */
  locate(kind: ObjectKind, key: Uint8Array): ObjectLocation[] {
    return this.#lookup.places(kind, key).map(({ index, row }) => {
      const archive = this.archives[index] as OpenArchive;
      return { archive, row: archive.tail.index.row(row) };
    });
  }

  /** What another thread needs to ask `has`. */
  lookupParts(): LookupParts {
    return this.#lookup.toParts();
  }
}
