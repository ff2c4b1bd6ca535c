import { compareBytes, equalBytes, Pacer } from '@holdfast/base';

import type { Ref } from '../ref.js';
import type { TreeEntry } from '../tree.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import type { TreeRow } from './tree-object.js';
import { readDirectory } from './tree-reading.js';
import { toEntry } from './tree-rows.js';

/** One path of two trees; at least one side is there. */
export interface TreePair {
  readonly path: Uint8Array;
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

/** A snapshot as one side of a comparison. */
export interface SnapshotSide {
  readonly ref: Ref;
  readonly table: ObjectTable;
  readonly treeKey: Uint8Array;
}

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The paths in which two snapshots may differ, in canonical order. Directories whose tree keys agree are passed over
 * without being read, so the cost is that of what differs.
 */
export async function* pairSnapshots(
  reader: ObjectReader,
  before: SnapshotSide,
  after: SnapshotSide,
  options: Options,
): AsyncGenerator<TreePair> {
  const rowsOf = async (
    side: SnapshotSide,
    path: Uint8Array,
    key: Uint8Array | undefined,
  ): Promise<TreeRow[]> =>
    key === undefined ? [] : await readDirectory(reader, side.table, side.ref, path, key, options);
  const open = async (
    path: Uint8Array,
    a: Uint8Array | undefined,
    b: Uint8Array | undefined,
  ): Promise<Level> => {
    if (a !== undefined && b !== undefined && equalBytes(a, b)) return { path, pairs: [], next: 0 };
    return { path, pairs: mergeRows(await rowsOf(before, path, a), await rowsOf(after, path, b)), next: 0 };
  };
  const stack = [await open(new Uint8Array(0), before.treeKey, after.treeKey)];
  const pacer = new Pacer();
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (pacer.due) await pacer.rest(options.signal);
    const pair = top.pairs[top.next];
    if (pair === undefined) {
      stack.pop();
      continue;
    }
    top.next += 1;
    const a = pair.before && toEntry(top.path, pair.before);
    const b = pair.after && toEntry(top.path, pair.after);
    const path = (a ?? b)?.path as Uint8Array;
    yield { path, before: a, after: b };
    const [left, right] = [subtree(pair.before), subtree(pair.after)];
    if (left !== undefined || right !== undefined) stack.push(await open(path, left, right));
  }
}

/** The paths of two lists of entries that are in canonical order, one by one. */
export function* pairEntries(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
): Generator<TreePair, undefined> {
  let at = 0;
  for (const entry of before) {
    let other = after[at];
    let order = other === undefined ? 1 : compareCanonical(other.path, entry.path);
    while (other !== undefined && order < 0) {
      yield { path: other.path, before: undefined, after: other };
      at += 1;
      other = after[at];
      order = other === undefined ? 1 : compareCanonical(other.path, entry.path);
    }
    if (order === 0) at += 1;
    yield { path: entry.path, before: entry, after: order === 0 ? other : undefined };
  }
  for (; at < after.length; at += 1) {
    const other = after[at] as TreeEntry;
    yield { path: other.path, before: undefined, after: other };
  }
}

/** Orders paths as trees hold them: by components, each by its bytes. */
export function compareCanonical(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a[i] as number, b[i] as number];
    if (x !== y) return (x === 0x2f ? -1 : x) - (y === 0x2f ? -1 : y);
  }
  return a.length - b.length;
}

interface Level {
  readonly path: Uint8Array;
  readonly pairs: readonly RowPair[];
  next: number;
}

interface RowPair {
  readonly before: TreeRow | undefined;
  readonly after: TreeRow | undefined;
}

function mergeRows(before: readonly TreeRow[], after: readonly TreeRow[]): RowPair[] {
  const pairs: RowPair[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [a, b] = [before[i], after[j]];
    const order = a === undefined ? 1 : b === undefined ? -1 : compareBytes(a.name, b.name);
    pairs.push({ before: order <= 0 ? a : undefined, after: order >= 0 ? b : undefined });
    if (order <= 0) i += 1;
    if (order >= 0) j += 1;
  }
  return pairs;
}

function subtree(row: TreeRow | undefined): Uint8Array | undefined {
  return row?.kind === 'directory' ? row.value : undefined;
}
