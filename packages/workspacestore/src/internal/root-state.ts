import type { Ref } from '../ref.js';
import type { ObjectTable } from './object-table.js';
import type { StatTable } from './stat-table.js';

/** What the last snapshot of a root committed. */
export interface CommittedState {
  readonly ref: Ref;
  readonly hold: string;
  /** The archives of its closure, open. */
  readonly closure: ObjectTable;
}

/** What is known about one root directory between captures. */
export interface RootState {
  /** Inode of the root; another one is another tree. */
  readonly ino: bigint;
  readonly table: StatTable;
  readonly committed: CommittedState | undefined;
}

/** The states of the roots that this store has captured, by canonical path. */
export class RootStates {
  readonly #states = new Map<string, RootState>();

  get(path: string, ino: bigint): RootState | undefined {
    const state = this.#states.get(path);
    return state?.ino === ino ? state : undefined;
  }

  set(path: string, state: RootState): void {
    this.#states.set(path, state);
  }
}
