import type { DirHandle, Stat } from '@holdfast/durable';

/** An open directory on the way from the root to where the capture is. */
export interface Level {
  readonly dir: DirHandle;
  readonly path: Uint8Array;
  readonly row: number;
  readonly before: Stat;
  readonly names: readonly Uint8Array[];
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
