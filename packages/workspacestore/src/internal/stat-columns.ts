import { halvesOf } from './halves.js';
import { keyLength } from './object-key.js';

/** The columns of a stat table, one element a row (keys: `keyLength` of them). */
export interface Columns {
  kind: Uint8Array;
  flags: Uint8Array;
  mode: Uint16Array;
  nameLength: Uint16Array;
  nameOffset: Uint32Array;
  /** Directories: number of the first child row. Symlinks: offset of the target. */
  first: Uint32Array;
  /** Directories: children. Symlinks: length of the target. */
  count: Uint32Array;
  nlink: Uint32Array;
  size: Float64Array;
  ino: BigUint64Array;
  mtimeNs: BigInt64Array;
  ctimeNs: BigInt64Array;
  keys: Uint8Array;
}

export const columnNames: readonly (keyof Columns)[] = Object.keys(makeColumns(0)) as (keyof Columns)[];

/** Elements of a column that a row has. */
export function widthOf(name: keyof Columns): number {
  return name === 'keys' ? keyLength : 1;
}

/** The 64-bit columns as pairs of 32-bit numbers: reading those makes no objects. */
export interface Halves {
  readonly ino: Int32Array;
  readonly mtimeNs: Int32Array;
  readonly ctimeNs: Int32Array;
}

export function halvesOfColumns({ ino, mtimeNs, ctimeNs }: Columns): Halves {
  return { ino: halvesOf(ino), mtimeNs: halvesOf(mtimeNs), ctimeNs: halvesOf(ctimeNs) };
}

/** Shared memory: a table goes to another thread and back without being copied. It is not changed any more by then. */
export function makeColumns(rows: number): Columns {
  const room = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(rows * bytes);
  return {
    kind: new Uint8Array(room(1)),
    flags: new Uint8Array(room(1)),
    mode: new Uint16Array(room(2)),
    nameLength: new Uint16Array(room(2)),
    nameOffset: new Uint32Array(room(4)),
    first: new Uint32Array(room(4)),
    count: new Uint32Array(room(4)),
    nlink: new Uint32Array(room(4)),
    size: new Float64Array(room(8)),
    ino: new BigUint64Array(room(8)),
    mtimeNs: new BigInt64Array(room(8)),
    ctimeNs: new BigInt64Array(room(8)),
    keys: new Uint8Array(room(keyLength)),
  };
}
