import { byteText } from './entry-path.js';
import { type ObjectKind, objectKinds } from './object-key.js';

/** The objects that one snapshot has added so far. */
export class AddedObjects {
  readonly #byKind: Readonly<Record<ObjectKind, Set<string>>>;
  #size = 0;

  constructor() {
    const kinds = objectKinds.filter((kind) => kind !== undefined);
    this.#byKind = Object.fromEntries(kinds.map((kind) => [kind, new Set<string>()])) as Record<
      ObjectKind,
      Set<string>
    >;
  }

  get size(): number {
    return this.#size;
  }

  /** Tells whether the object was added, whole or as chunks. */
  has(kind: ObjectKind, key: Uint8Array): boolean {
    const { [kind]: whole, chunklist } = this.#byKind;
    if (whole.size === 0 && chunklist.size === 0) return false;
    const text = byteText(key);
    return whole.has(text) || (chunklist.size > 0 && chunklist.has(text));
  }

  add(kind: ObjectKind, key: Uint8Array): void {
    this.#byKind[kind].add(byteText(key));
    this.#size += 1;
  }
}
