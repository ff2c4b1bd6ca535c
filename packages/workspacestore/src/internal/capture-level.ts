import type { DirHandle, Stat } from '@holdfast/durable';

import type { StatTable } from './stat-table.js';

/** Stands for a row that there is not. */
export const none = -1;

/** An open directory on the way from the root to where the capture is. */
export interface Level {
  readonly dir: DirHandle;
  readonly path: Uint8Array;
  readonly row: number;
  readonly before: Stat;
  /** In byte order; none where the directory was not read, because its names are those of the previous rows. */
  readonly names: readonly Uint8Array[] | undefined;
  /** How many names there are. */
  readonly count: number;
  /** Whether reserved names or ignore rules may have a say about what is in it. */
  readonly filtered: boolean;
  next: number;
  /** The first row of the directory in the new table. */
  readonly first: number;
  kept: number;
  /** Rows of the same directory in the previous table; the range is empty when there is none. */
  readonly oldRow: number;
  oldNext: number;
  readonly oldEnd: number;
  /** Still equal to what the previous table has. */
  clean: boolean;
}

/** A level at its first name, beside the first of its rows in the previous table. */
export function beginLevel(
  directory: Pick<Level, 'dir' | 'path' | 'row' | 'before' | 'names' | 'count' | 'filtered' | 'first'>,
  previous: StatTable,
  oldRow: number,
): Level {
  const known = oldRow !== none;
  const oldNext = known ? previous.first(oldRow) : 0;
  const oldEnd = known ? oldNext + previous.count(oldRow) : 0;
  return { ...directory, next: 0, kept: 0, oldRow, oldNext, oldEnd, clean: known };
}

/** The previous row of the next name of a directory that was read; moves past the rows of names that are gone. */
export function findOld(level: Level, previous: StatTable, name: Uint8Array): number {
  while (level.oldNext < level.oldEnd) {
    const order = previous.compareName(level.oldNext, name);
    if (order > 0) break;
    level.oldNext += 1;
    if (order === 0) return level.oldNext - 1;
    level.clean = false;
  }
  level.clean = false;
  return none;
}
