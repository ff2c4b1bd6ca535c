import { hintWord, type Stat, typeBits } from '@holdfast/durable';

import type { EntryKind } from '../tree.js';
import { upperHalf } from './halves.js';
import type { Look } from './look.js';
import { keyLength } from './object-key.js';
import {
  type Columns,
  columnNames,
  type Halves,
  halvesOfColumns,
  makeColumns,
  widthOf,
} from './stat-columns.js';

/** Kinds by their code in a stat table. */
const entryKinds: readonly EntryKind[] = ['directory', 'file', 'symlink'];
const kindBits: readonly number[] = [typeBits.directory, typeBits.file, typeBits.symlink];
const directoryCode = 0;
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

/**
 * The captured entries of one tree with their signatures and keys, in flat columns (about 100 bytes an entry). Row 0 is
 * the root; the children of a directory are neighbours, in byte order of their names.
 */
export class StatTable {
  #columns: Columns = makeColumns(64);
  #halves: Halves = halvesOfColumns(this.#columns);
  #capacity = 64;
  #rows = 0;
  #heap: Uint8Array = new Uint8Array(new SharedArrayBuffer(1024));
  #heapLength = 0;
  /** The table that this one comes after. */
  #origin: StatTable | undefined;

  /**
   * An empty table for the same tree some time later. Until a row is written it is what the same row was before: rows that
   * stay where they were need no copying. Names of the previous rows are at the same places here.
   */
  static after(previous: StatTable): StatTable {
    const table = new StatTable();
    table.#origin = previous;
    table.#reserve(previous.#rows, previous.#heapLength);
    table.#write(0, previous, 0, previous.#rows);
    table.#heap.set(previous.#heap.subarray(0, previous.#heapLength));
    table.#heapLength = previous.#heapLength;
    return table;
  }

  /** This table, or a copy without the names of nodes that are gone, when those are most of them. */
  compact(): StatTable {
    if (this.#heapLength <= 2 * this.#textLength() + 4096) return this;
    const table = new StatTable();
    table.#reserve(this.#rows, 0);
    table.#write(0, this, 0, this.#rows);
    table.#rows = this.#rows;
    const c = table.#columns;
    for (let row = 0; row < this.#rows; row += 1) {
      c.nameOffset[row] = table.#keep(this.name(row));
      if (c.kind[row] === symlinkCode) c.first[row] = table.#keep(this.target(row));
    }
    return table;
  }

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

  /**
   * @param like The row of the previous table whose node had the same name, if there is one.
   */
  setNode(row: number, name: Uint8Array, kind: EntryKind, stat: Stat, like?: number): void {
    const c = this.#columns;
    const origin = like === undefined ? undefined : this.#origin;
    c.kind[row] = entryKinds.indexOf(kind);
    c.flags[row] = 0;
    c.mode[row] = stat.mode;
    c.nameLength[row] = name.length;
    c.nameOffset[row] =
      origin === undefined ? this.#keep(name) : (origin.#columns.nameOffset[like as number] as number);
    c.first[row] = 0;
    c.count[row] = 0;
    c.nlink[row] = stat.nlink;
    c.size[row] = stat.size;
    c.ino[row] = stat.ino;
    c.mtimeNs[row] = stat.mtimeNs;
    c.ctimeNs[row] = stat.ctimeNs;
    c.keys.fill(0, row * keyLength, (row + 1) * keyLength);
  }

  /** Makes rows like neighbours in the table that this one comes after: the same nodes, untouched since. */
  copyRows(row: number, source: number, count: number): void {
    if (this.#origin === undefined) throw new Error('the table comes after no other one');
    this.#write(row, this.#origin, source, count);
  }

  setKey(row: number, key: Uint8Array): void {
    this.#columns.keys.set(key, row * keyLength);
  }

  /**
   * Ends the making of a table: marks files and links that changed at a time (nanoseconds since 1970) or later as racy, and
   * files with certain inodes.
   */
  finish(racyFromNs: bigint, mapped: ReadonlySet<bigint>): void {
    this.#origin = undefined;
    this.#flagRacy(racyFromNs);
    this.distrust(mapped);
  }

  #flagRacy(sinceNs: bigint): void {
    const c = this.#columns;
    const since = Number(sinceNs >> 32n);
    const ctimes = this.#halves.ctimeNs;
    for (let row = 0; row < this.#rows; row += 1) {
      // Most answers compare the upper halves: reading a 64-bit column makes an object.
      if ((ctimes[2 * row + upperHalf] as number) < since || c.kind[row] === directoryCode) continue;
      if ((c.ctimeNs[row] as bigint) >= sinceNs) c.flags[row] = (c.flags[row] as number) | racyFlag;
    }
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
    const { mtimeNs: mtimes, ctimeNs: ctimes } = this.#halves;
    const since = Number(sinceNs >> 32n);
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

  /** Bytes of the row's name. */
  nameLength(row: number): number {
    return this.#columns.nameLength[row] as number;
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

  /** `vouches` for a look that made no objects. */
  vouchesFor(row: number, look: Look): boolean {
    const c = this.#columns;
    const h = this.#halves;
    const seen = look.halves;
    const at = 2 * row;
    return (
      ((c.flags[row] as number) & racyFlag) === 0 &&
      seen[2 * hintWord.ctimeNs] === h.ctimeNs[at] &&
      seen[2 * hintWord.ctimeNs + 1] === h.ctimeNs[at + 1] &&
      seen[2 * hintWord.mtimeNs] === h.mtimeNs[at] &&
      seen[2 * hintWord.mtimeNs + 1] === h.mtimeNs[at + 1] &&
      seen[2 * hintWord.ino] === h.ino[at] &&
      seen[2 * hintWord.ino + 1] === h.ino[at + 1] &&
      look.number(hintWord.size) === c.size[row] &&
      look.number(hintWord.mode) ===
        ((kindBits[c.kind[row] as number] as number) | (c.mode[row] as number)) &&
      look.number(hintWord.nlink) === c.nlink[row]
    );
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
    for (const name of columnNames) {
      const used = this.#columns[name].subarray(0, this.#rows * widthOf(name));
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
    for (const [position, name] of columnNames.entries()) {
      const { buffer, byteOffset } = buffers[position] as Uint8Array;
      const make = columns[name].constructor as new (b: ArrayBufferLike, at: number, n: number) => never;
      columns[name] = new make(buffer, byteOffset, rows * widthOf(name));
    }
    table.#setColumns(columns);
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
    table.#setColumns(columns);
    table.#capacity = rows;
    table.#rows = rows;
    table.#heap = new Uint8Array(new SharedArrayBuffer(bytes.length - offset));
    table.#heap.set(bytes.subarray(offset));
    table.#heapLength = table.#heap.length;
    return table;
  }

  #setColumns(columns: Columns): void {
    this.#columns = columns;
    this.#halves = halvesOfColumns(columns);
  }

  /** Makes room for rows and for bytes of names. */
  #reserve(rows: number, textBytes: number): void {
    this.#capacity = Math.max(rows, this.#capacity);
    this.#setColumns(makeColumns(this.#capacity));
    this.#heap = new Uint8Array(new SharedArrayBuffer(textBytes + 4096));
  }

  #write(row: number, from: StatTable, source: number, count: number): void {
    for (const name of columnNames) {
      const width = widthOf(name);
      const copied = from.#columns[name].subarray(source * width, (source + count) * width);
      (this.#columns[name] as Uint8Array).set(copied as Uint8Array, row * width);
    }
  }

  /** Bytes of the names and targets of all rows. */
  #textLength(): number {
    const c = this.#columns;
    let length = 0;
    for (let row = 0; row < this.#rows; row += 1) {
      length += c.nameLength[row] as number;
      if (c.kind[row] === symlinkCode) length += c.count[row] as number;
    }
    return length;
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
    for (const name of columnNames) {
      (grown[name] as Uint8Array).set(this.#columns[name] as Uint8Array);
    }
    this.#setColumns(grown);
  }
}
