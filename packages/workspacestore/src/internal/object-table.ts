import { CollectedError, IntegrityError, RefNotFoundError } from '../errors.js';
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

/** Opens a snapshot's archives where they are now. */
type Opening = (options: { readonly signal?: AbortSignal | undefined }) => Promise<readonly OpenArchive[]>;

/** Every object of a set of archives, by kind and key. */
export class ObjectTable {
  readonly archives: OpenArchive[] = [];
  /** Names of those that have moved away since they were opened. */
  #moved: ReadonlySet<string> = new Set();
  #opening: Opening | undefined;
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
    const places: ObjectLocation[] = [];
    for (const { index, row } of this.#lookup.places(kind, key)) {
      const archive = this.archives[index] as OpenArchive;
      if (!this.#moved.has(archive.ref.name)) places.push({ archive, row: archive.tail.index.row(row) });
    }
    return places;
  }

  /** Lets `renew` open the archives again. */
  renewBy(opening: Opening): void {
    this.#opening = opening;
  }

  /**
   * To be called when archives turn out to be gone, as merged ones are once a collection has run beside a reader: looks
   * where they went. `false`: they went nowhere, and what was in them is missing.
   */
  async renew(gone: readonly OpenArchive[], signal: AbortSignal | undefined): Promise<boolean> {
    const isKnown = ({ ref }: OpenArchive): boolean => this.#moved.has(ref.name);
    if (gone.every(isKnown)) return true;
    if (this.#opening === undefined) return false;
    let opened: readonly OpenArchive[];
    try {
      opened = await this.#opening({ signal });
    } catch (error) {
      // Nor can the snapshot be opened: whoever missed something says what it was.
      if (CollectedError.is(error) || RefNotFoundError.is(error) || IntegrityError.is(error)) return false;
      throw error;
    }
    for (const archive of opened) this.add(archive);
    const there = new Set(opened.map(({ ref }) => ref.name));
    this.#moved = new Set(this.archives.map(({ ref }) => ref.name).filter((name) => !there.has(name)));
    return gone.every(isKnown);
  }

  /** What another thread needs to ask `has`. */
  lookupParts(): LookupParts {
    return this.#lookup.toParts();
  }
}
