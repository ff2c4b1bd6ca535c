import { rmSync } from 'node:fs';
import path from 'node:path';

/** Names of the stores that one peer makes, one after another; only the last one is kept. */
export class Stores {
  #base;
  #count = 0;

  /** @param {string} base */
  constructor(base) {
    this.#base = base;
  }

  /** The present one. */
  get current() {
    return path.join(this.#base, `store-${this.#count}`);
  }

  /** Deletes the present one and names the next. */
  next() {
    rmSync(this.current, { recursive: true, force: true });
    this.#count += 1;
    return this.current;
  }
}
