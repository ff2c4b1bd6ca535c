import { byteText } from './entry-path.js';
import { type ObjectKind, objectKindCodes } from './object-key.js';

/** The objects that one snapshot has added so far. */
export class AddedObjects {
  readonly #names = new Set<string>();

  get size(): number {
    return this.#names.size;
  }

  /** Tells whether the object was added, whole or as chunks. */
  has(kind: ObjectKind, key: Uint8Array): boolean {
    if (this.#names.size === 0) return false;
    const text = byteText(key);
    return this.#names.has(prefixes[objectKindCodes[kind]] + text) || this.#names.has(chunkListPrefix + text);
  }

  add(kind: ObjectKind, key: Uint8Array): void {
    this.#names.add(prefixes[objectKindCodes[kind]] + byteText(key));
  }
}

const prefixes = Object.values(objectKindCodes).reduce<string[]>((all, code) => {
  all[code] = String(code);
  return all;
}, []);
const chunkListPrefix = String(objectKindCodes.chunklist);
