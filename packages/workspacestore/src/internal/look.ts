import { type DirHandle, type FileSystem, hintWord, hintWords, lstatHint } from '@holdfast/durable';

import { halvesOf, upperHalf } from './halves.js';

/** Looks at one node after the other by hints, without making an object for each. */
export class Look {
  /** What the last look saw, in the places of `hintWord`, as pairs of 32-bit numbers. */
  readonly halves: Int32Array;
  readonly #fileSystem: FileSystem;
  readonly #words = new BigInt64Array(hintWords);
  readonly #device: Int32Array;

  /** @param device The only one whose nodes are of interest. */
  constructor(fileSystem: FileSystem, device: bigint) {
    this.#fileSystem = fileSystem;
    this.halves = halvesOf(this.#words);
    this.#device = halvesOf(BigInt64Array.of(device));
  }

  /** Looks at a child. `false`: there is nothing to compare with. */
  at(dir: DirHandle, name: Uint8Array): boolean {
    return (
      lstatHint(this.#fileSystem, dir, name, this.#words) &&
      this.halves[2 * hintWord.dev] === this.#device[0] &&
      this.halves[2 * hintWord.dev + 1] === this.#device[1]
    );
  }

  /** A word that is no larger than 2^53. */
  number(word: number): number {
    const upper = this.halves[2 * word + upperHalf] as number;
    return upper * 2 ** 32 + ((this.halves[2 * word + 1 - upperHalf] as number) >>> 0);
  }
}
