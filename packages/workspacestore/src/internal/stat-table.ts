import type { Stat } from '@holdfast/durable';

import type { EntryKind } from '../tree.js';
import { keyLength } from './object-key.js';

/** Kinds by their code in a stat table. */
const entryKinds: readonly EntryKind[] = ['directory', 'file', 'symlink'];
const fileCode = 1;
const symlinkCode = 2;

/** A row's content was read too shortly after the node's last change to trust its signature. */
export const racyFlag = 1;

/** A directory's rows were all its names when its signature was recorded, and that can be trusted. */
export const listedFlag = 2;

/** A stat table as plain buffers. */
export interface StatTableParts {
  readonly rows: number;
  /** The columns in their order, then the heap of names and targets. */
  readonly buffers: readonly Uint8Array[];
}

interface Columns {
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

/**
 * The captured entries of one tree with their signatures and keys, in flat columns (about 100 bytes an entry). Row 0 is
 * the root; the children of a directory are neighbours, in byte order of their names.
 */
export class StatTable {
  #columns: Columns = makeColumns(64);
  #capacity = 64;
  #rows = 0;
  #heap: Uint8Array = new Uint8Array(new SharedArrayBuffer(1024));
  #heapLength = 0;

  get rows(): number {
    return this.#rows;
  }

  /** Adds `count` rows and returns the number of the first. */
  allocate(count: number): number {
    const first = this.#rows;
    this.#rows += count;
    if (this.#rows > this.#capacity) this.#grow();
    return first;
  }

  /** Takes back rows at the end that were not needed. */
  truncate(rows: number): void {
    this.#rows = rows;
  }

  setNode(row: number, name: Uint8Array, kind: EntryKind, stat: Stat): void {
    const c = this.#columns;
    c.kind[row] = entryKinds.indexOf(kind);
    c.flags[row] = 0;
    c.mode[row] = stat.mode;
    c.nameLength[row] = name.length;
    c.nameOffset[row] = this.#keep(name);
    c.first[row] = 0;
    c.count[row] = 0;
    c.nlink[row] = stat.nlink;
    c.size[row] = stat.size;
    c.ino[row] = stat.ino;
    c.mtimeNs[row] = stat.mtimeNs;
    c.ctimeNs[row] = stat.ctimeNs;
  }

  /** Makes a row like one of another table: the same node, untouched since. */
  copyNode(row: number, from: StatTable, source: number): void {
    const c = this.#columns;
    const other = from.#columns;
    const kind = other.kind[source] as number;
    c.kind[row] = kind;
    c.flags[row] = other.flags[source] as number;
    c.mode[row] = other.mode[source] as number;
    c.nameLength[row] = other.nameLength[source] as number;
    c.nameOffset[row] = this.#keep(from.name(source));
    c.first[row] = kind === symlinkCode ? this.#keep(from.target(source)) : 0;
    c.count[row] = kind === symlinkCode ? (other.count[source] as number) : 0;
    c.nlink[row] = other.nlink[source] as number;
    c.size[row] = other.size[source] as number;
    c.ino[row] = other.ino[source] as bigint;
    c.mtimeNs[row] = other.mtimeNs[source] as bigint;
    c.ctimeNs[row] = other.ctimeNs[source] as bigint;
    c.keys.set(from.key(source), row * keyLength);
  }

  setKey(row: number, key: Uint8Array): void {
    this.#columns.keys.set(key, row * keyLength);
  }

  setFlags(row: number, flags: number): void {
    this.#columns.flags[row] = flags;
  }

  setChildren(row: number, first: number, count: number): void {
    this.#columns.first[row] = first;
    this.#columns.count[row] = count;
  }

  setTarget(row: number, target: Uint8Array): void {
    this.#columns.first[row] = this.#keep(target);
    this.#columns.count[row] = target.length;
  }

  kind(row: number): EntryKind {
    return entryKinds[this.#columns.kind[row] as number] as EntryKind;
  }

  flags(row: number): number {
    return this.#columns.flags[row] as number;
  }

  /** All mode bits of the node, set-id and sticky included. */
  mode(row: number): number {
    return this.#columns.mode[row] as number;
  }

  size(row: number): number {
    return this.#columns.size[row] as number;
  }

  nlink(row: number): number {
    return this.#columns.nlink[row] as number;
  }

  ino(row: number): bigint {
    return this.#columns.ino[row] as bigint;
  }

  mtimeNs(row: number): bigint {
    return this.#columns.mtimeNs[row] as bigint;
  }

  ctimeNs(row: number): bigint {
    return this.#columns.ctimeNs[row] as bigint;
  }

  /**
   * Tells of rows whether their nodes changed at a time (nanoseconds since 1970) or later. Most answers compare the upper
   * halves of the times: reading a 64-bit column makes an object for every row.
   */
  changeTest(sinceNs: bigint): (row: number) => boolean {
    const { mtimeNs, ctimeNs } = this.#columns;
    const since = Number(sinceNs >> 32n);
    const [mtimes, ctimes] = [upperHalves(mtimeNs), upperHalves(ctimeNs)];
    return (row) => {
      const at = 2 * row + upperHalf;
      const latest = Math.max(ctimes[at] as number, mtimes[at] as number);
      if (latest !== since) return latest > since;
      return (ctimeNs[row] as bigint) >= sinceNs || (mtimeNs[row] as bigint) >= sinceNs;
    };
  }

  first(row: number): number {
    return this.#columns.first[row] as number;
  }

  count(row: number): number {
    return this.#columns.count[row] as number;
  }

  /** A view on the row's key. */
  key(row: number): Uint8Array {
    return this.#columns.keys.subarray(row * keyLength, (row + 1) * keyLength);
  }

  /** A view on the row's name, good until rows are added. */
  name(row: number): Uint8Array {
    const at = this.#columns.nameOffset[row] as number;
    return this.#heap.subarray(at, at + (this.#columns.nameLength[row] as number));
  }

  /** A view on a symlink's target, good until rows are added. */
  target(row: number): Uint8Array {
    const at = this.first(row);
    return this.#heap.subarray(at, at + this.count(row));
  }

  /** Views on the names of a directory's rows, in order. */
  childNames(row: number): Uint8Array[] {
    const first = this.first(row);
    return Array.from({ length: this.count(row) }, (_, index) => this.name(first + index));
  }

  /** Orders the row's name against `name` by bytes. */
  compareName(row: number, name: Uint8Array): number {
    const at = this.#columns.nameOffset[row] as number;
    const length = this.#columns.nameLength[row] as number;
    const common = Math.min(length, name.length);
    for (let i = 0; i < common; i += 1) {
      const difference = (this.#heap[at + i] as number) - (name[i] as number);
      if (difference !== 0) return difference;
    }
    return length - name.length;
  }

  /** Whether a node that looks so is untouched since its row was written. */
  vouches(row: number, stat: Stat): boolean {
    return ((this.#columns.flags[row] as number) & racyFlag) === 0 && this.sameSignature(row, stat);
  }

  /** Tells whether the node still looks as it did when the row was made. */
  sameSignature(row: number, stat: Stat): boolean {
    const c = this.#columns;
    return (
      entryKinds[c.kind[row] as number] === stat.kind &&
      c.size[row] === stat.size &&
      c.mtimeNs[row] === stat.mtimeNs &&
      c.ctimeNs[row] === stat.ctimeNs &&
      c.ino[row] === stat.ino &&
      c.nlink[row] === stat.nlink &&
      c.mode[row] === stat.mode
    );
  }

  /** Makes the rows of files with these inodes be read again. */
  distrust(inodes: ReadonlySet<bigint>): void {
    if (inodes.size === 0) return;
    const c = this.#columns;
    for (let row = 0; row < this.#rows; row += 1) {
      if (c.kind[row] === fileCode && inodes.has(c.ino[row] as bigint))
        this.setFlags(row, this.flags(row) | racyFlag);
    }
  }

  /** The table as plain buffers, for saving and for other threads. */
  toParts(): StatTableParts {
    const buffers: Uint8Array[] = [];
    for (const [name, column] of Object.entries(this.#columns) as [keyof Columns, Columns[keyof Columns]][]) {
      const used = column.subarray(0, name === 'keys' ? this.#rows * keyLength : this.#rows);
      buffers.push(new Uint8Array(used.buffer, used.byteOffset, used.byteLength));
    }
    buffers.push(this.#heap.subarray(0, this.#heapLength));
    return { rows: this.#rows, buffers };
  }

  /** Takes over what `toParts` gave, without copying it. */
  static fromParts(parts: StatTableParts): StatTable {
    const { rows, buffers } = parts;
    const table = new StatTable();
    const columns = makeColumns(0);
    for (const [position, name] of (Object.keys(columns) as (keyof Columns)[]).entries()) {
      const { buffer, byteOffset } = buffers[position] as Uint8Array;
      const make = columns[name].constructor as new (b: ArrayBufferLike, at: number, n: number) => never;
      columns[name] = new make(buffer, byteOffset, name === 'keys' ? rows * keyLength : rows);
    }
    table.#columns = columns;
    table.#capacity = rows;
    table.#rows = rows;
    table.#heap = buffers.at(-1) as Uint8Array;
    table.#heapLength = table.#heap.length;
    return table;
  }

  /** Makes a table of the buffers of `toParts`, joined; `undefined` when the lengths do not fit. */
  static fromBytes(rows: number, bytes: Uint8Array): StatTable | undefined {
    const table = new StatTable();
    const columns = makeColumns(rows);
    let offset = 0;
    for (const column of Object.values(columns) as Columns[keyof Columns][]) {
      const target = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
      if (offset + target.length > bytes.length) return undefined;
      target.set(bytes.subarray(offset, offset + target.length));
      offset += target.length;
    }
    table.#columns = columns;
    table.#capacity = rows;
    table.#rows = rows;
    table.#heap = new Uint8Array(new SharedArrayBuffer(bytes.length - offset));
    table.#heap.set(bytes.subarray(offset));
    table.#heapLength = table.#heap.length;
    return table;
  }

  #keep(bytes: Uint8Array): number {
    const at = this.#heapLength;
    if (at + bytes.length > this.#heap.length) {
      const grown = new Uint8Array(new SharedArrayBuffer(Math.max(this.#heap.length * 2, at + bytes.length)));
      grown.set(this.#heap.subarray(0, at));
      this.#heap = grown;
    }
    this.#heap.set(bytes, at);
    this.#heapLength += bytes.length;
    return at;
  }

  #grow(): void {
    this.#capacity = Math.max(this.#capacity * 2, this.#rows);
    const grown = makeColumns(this.#capacity);
    for (const name of Object.keys(grown) as (keyof Columns)[]) {
      (grown[name] as Uint8Array).set(this.#columns[name] as Uint8Array);
    }
    this.#columns = grown;
  }
}

/** Which half of a 64-bit number in memory is the upper one. */
const upperHalf = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

function upperHalves(times: BigInt64Array): Int32Array {
  return new Int32Array(times.buffer, times.byteOffset, times.length * 2);
}

/** Shared memory: a table goes to another thread and back without being copied. It is not changed any more by then. */
function makeColumns(rows: number): Columns {
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
