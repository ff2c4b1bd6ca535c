import type { DirHandle, FileSystem } from '@holdfast/durable';

import { Look } from './look.js';
import { listedFlag, type StatTable } from './stat-table.js';

/** What a capture and its scout share: a byte for each previous row, and two words. */
export interface ScoutParts {
  readonly untouched: SharedArrayBuffer;
  readonly control: SharedArrayBuffer;
}

const words = { stop: 0, reached: 1, count: 2 } as const;
const seen = 1;

/** Makes what a capture of a tree with so many previous rows shares with its scout. */
export function shareScouting(rows: number): ScoutParts {
  return {
    untouched: new SharedArrayBuffer(rows),
    control: new SharedArrayBuffer(words.count * Int32Array.BYTES_PER_ELEMENT),
  };
}

/** Ends a scout within one entry. */
export function stopScouting({ control }: ScoutParts): void {
  Atomics.store(new Int32Array(control), words.stop, 1);
}

/** The capture's side. */
export class Scouted {
  readonly #untouched: Uint8Array;
  readonly #control: Int32Array;

  constructor(parts: ScoutParts) {
    this.#untouched = new Uint8Array(parts.untouched);
    this.#control = new Int32Array(parts.control);
  }

  /**
   * Whether the scout, since this capture began, saw the node of a previous row as that row has it. Of use only inside a
   * directory that was not touched either: in any other, the name may by now belong to another node.
   */
  saw(row: number): boolean {
    return Atomics.load(this.#untouched, row) === seen;
  }

  /** Tells the scout which directory the capture has come to, by its first row. */
  reach(first: number): void {
    Atomics.store(this.#control, words.reached, first);
  }
}

interface Level {
  readonly dir: DirHandle;
  readonly first: number;
  next: number;
  /** Whether looking at its files is of use; otherwise only its directories are. */
  readonly steady: boolean;
}

/**
 * Goes through a tree from its end, in the order opposite to that of a capture, until both meet: most entries of most
 * trees are untouched, and to see that two threads need little more than half the time of one. It decides nothing: it
 * notes what it saw, and the capture makes its own look at everything else.
 */
export class Scout {
  readonly #fileSystem: FileSystem;
  readonly #previous: StatTable;
  readonly #untouched: Uint8Array;
  readonly #control: Int32Array;
  readonly #levels: Level[] = [];
  #device = 0n;
  #hints: Look | undefined;

  constructor(fileSystem: FileSystem, previous: StatTable, parts: ScoutParts) {
    this.#fileSystem = fileSystem;
    this.#previous = previous;
    this.#untouched = new Uint8Array(parts.untouched);
    this.#control = new Int32Array(parts.control);
  }

  /** Runs below an open root, which the caller closes. What goes wrong is left to the capture to meet. */
  run(root: DirHandle): void {
    try {
      this.#device = this.#fileSystem.fstat(root).dev;
      this.#hints = new Look(this.#fileSystem, this.#device);
      this.#enter(root, 0);
      for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
        if (Atomics.load(this.#control, words.stop) !== 0) return;
        if (level.next < level.first) this.#leave();
        else {
          const row = level.next;
          level.next -= 1;
          if (this.#previous.kind(row) !== 'directory') this.#look(level, row);
          else if (!this.#descend(level, row)) return;
        }
      }
    } finally {
      while (this.#levels.length > 0) this.#leave();
    }
  }

  /** `false` when the capture is there already. */
  #descend(level: Level, row: number): boolean {
    const previous = this.#previous;
    if (previous.first(row) <= Atomics.load(this.#control, words.reached)) return false;
    if (previous.count(row) === 0) return true;
    const dir = this.#fileSystem.openDir(level.dir, previous.name(row));
    try {
      this.#enter(dir, row);
    } catch (error) {
      if (this.#levels.at(-1)?.dir !== dir) this.#fileSystem.close(dir);
      throw error;
    }
    return true;
  }

  #enter(dir: DirHandle, row: number): void {
    const previous = this.#previous;
    const stat = this.#fileSystem.fstat(dir);
    const first = previous.first(row);
    const steady =
      stat.dev === this.#device && (previous.flags(row) & listedFlag) !== 0 && previous.vouches(row, stat);
    const next = first + previous.count(row) - 1;
    this.#levels.push({ dir, first, next, steady });
  }

  #leave(): void {
    const level = this.#levels.pop();
    // The root is the caller's.
    if (level !== undefined && this.#levels.length > 0) this.#fileSystem.close(level.dir);
  }

  #look(level: Level, row: number): void {
    if (!level.steady) return;
    const previous = this.#previous;
    if (this.#hints?.at(level.dir, previous.name(row)) === true && previous.vouchesFor(row, this.#hints)) {
      Atomics.store(this.#untouched, row, seen);
    }
  }
}
