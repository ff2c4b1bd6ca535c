import { equalBytes } from '@holdfast/base';

import { byteText, joinPath, textBytes } from './entry-path.js';

/** Paths that a capture leaves out. Asked for every entry: nearly all are told by their names alone. */
export class ReservedPaths {
  readonly #paths: ReadonlySet<string>;
  readonly #names: readonly Uint8Array[];
  readonly #directories: readonly Uint8Array[];

  /** @param paths As one-byte text. */
  constructor(paths: ReadonlySet<string>) {
    this.#paths = paths;
    const names = new Set([...paths].map((path) => path.slice(path.lastIndexOf('/') + 1)));
    this.#names = [...names].map(textBytes);
    const directories = new Set([...paths].map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/')))));
    this.#directories = [...directories].map(textBytes);
  }

  /** Whether one of them is directly in a directory. */
  isIn(directory: Uint8Array): boolean {
    return this.#directories.some((path) => path.length === directory.length && equalBytes(path, directory));
  }

  has(directory: Uint8Array, name: Uint8Array): boolean {
    for (const reserved of this.#names) {
      if (reserved.length === name.length && equalBytes(reserved, name))
        return this.#paths.has(byteText(joinPath(directory, name)));
    }
    return false;
  }
}
