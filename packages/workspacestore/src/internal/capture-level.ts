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
  /** In byte order. */
  readonly names: readonly Uint8Array[];
  /** The names are those of the previous rows, as views: the directory was not read. */
  readonly listed: boolean;
  next: number;
  readonly first: number;
  kept: number;
  /** Rows of the same directory in the previous table; the range is empty when there is none. */
  readonly oldRow: number;
  oldNext: number;
  readonly oldEnd: number;
  /** Still equal to what the previous table has. */
  clean: boolean;
}

/** Where the walk through a directory begins: at its first name, beside the first of its rows in the previous table. */
export function progressThrough(
  previous: StatTable,
  oldRow: number,
): Pick<Level, 'next' | 'kept' | 'oldRow' | 'oldNext' | 'oldEnd' | 'clean'> {
  if (oldRow === none) return { next: 0, kept: 0, oldRow, oldNext: 0, oldEnd: 0, clean: false };
  const oldNext = previous.first(oldRow);
  return { next: 0, kept: 0, oldRow, oldNext, oldEnd: oldNext + previous.count(oldRow), clean: true };
}

/** The previous row of the next name; moves past the rows of names that are gone. */
export function findOld(level: Level, previous: StatTable, name: Uint8Array): number {
  if (level.listed) {
    level.oldNext += 1;
    return level.oldNext - 1;
  }
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
