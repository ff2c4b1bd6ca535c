import { encodePathText, equalBytes, Pacer } from '@holdfast/base';

import { ArchiveLimitError, IntegrityError } from '../errors.js';
import type { LimitName, Limits } from '../limits.js';
import { type Ref, rootKeyOfRef } from '../ref.js';
import type { Tree, TreeEntry } from '../tree.js';
import { FormatFault } from './byte-reader.js';
import { byteText, joinPath } from './entry-path.js';
import { emptyTreeKey, keyBytes, keyText } from './object-key.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import { decodeRoot, type RootObject } from './root-object.js';
import { readTreeRows, type TreeRow } from './tree-object.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Reads and verifies the root object of a ref. */
export async function readRoot(
  reader: ObjectReader,
  table: ObjectTable,
  ref: Ref,
  options: Options,
): Promise<RootObject> {
  const key = keyBytes(rootKeyOfRef(ref));
  const bytes = await reader.readWhole(table, 'root', key, { ref, path: '', ...options });
  return decoded(ref, new Uint8Array(0), () => decodeRoot(bytes));
}

/** Reads and verifies the rows of one directory. */
export async function readDirectory(
  reader: ObjectReader,
  table: ObjectTable,
  ref: Ref,
  path: Uint8Array,
  key: Uint8Array,
  options: Options,
): Promise<TreeRow[]> {
  if (equalBytes(key, emptyTreeKey)) return [];
  const bytes = await reader.readWhole(table, 'tree', key, { ref, path: encodePathText(path), ...options });
  return decoded(ref, path, () => readTreeRows(bytes));
}

/**
 * Reads and verifies a whole tree, or only what is directly in the root and in certain directories, in canonical order.
 * @throws ArchiveLimitError when it is larger than the limits allow, before more of it is read.
 */
export async function readTree(
  reader: ObjectReader,
  table: ObjectTable,
  ref: Ref,
  limits: Limits,
  options: Options & { readonly directories?: readonly Uint8Array[] | undefined },
): Promise<Tree> {
  const root = await readRoot(reader, table, ref, options);
  const collector = new TreeCollector(limits);
  const stack: { path: Uint8Array; rows: readonly TreeRow[]; next: number }[] = [];
  const empty = new Uint8Array(0);
  const wanted = options.directories && new Set(options.directories.map(byteText));
  stack.push({
    path: empty,
    rows: await readDirectory(reader, table, ref, empty, root.treeKey, options),
    next: 0,
  });
  // What is in memory already arrives without a turn of the event loop.
  const pacer = new Pacer();
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (pacer.due) await pacer.rest(options.signal);
    const row = top.rows[top.next];
    if (row === undefined) {
      stack.pop();
      continue;
    }
    top.next += 1;
    const path = collector.add(top.path, row, stack.length);
    if (row.kind !== 'directory' || wanted?.has(byteText(path)) === false) continue;
    stack.push({ path, rows: await readDirectory(reader, table, ref, path, row.value, options), next: 0 });
  }
  refuseOmittedEntries(ref, root, collector.entries);
  return {
    ref,
    rootMode: root.mode,
    treeKey: keyText(root.treeKey),
    omitted: root.omitted,
    ignore: root.rules,
    entries: collector.entries,
  };
}

/** Collects the entries of a tree in canonical order, within the limits. */
export class TreeCollector {
  readonly entries: TreeEntry[] = [];
  readonly #limits: Limits;
  #bytes = 0;
  #skipped = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  add(directory: Uint8Array, row: TreeRow, depth: number): Uint8Array {
    const path = joinPath(directory, row.name).slice();
    this.#bytes += row.size;
    this.#check('nameBytes', row.name.length, path);
    this.#check('pathBytes', path.length, path);
    this.#check('depth', depth, path);
    this.#check('entries', this.entries.length + this.#skipped + 1, path);
    this.#check('bytes', this.#bytes, path);
    this.#check('fileBytes', row.size, path);
    const { kind, mode, size } = row;
    if (kind === 'file') this.entries.push({ path, kind, mode, size, content: keyText(row.value) });
    else if (kind === 'symlink') this.entries.push({ path, kind, mode, size, target: row.value.slice() });
    else this.entries.push({ path, kind, mode, size });
    return path;
  }

  /** Counts entries below `path` that are not listed. */
  skip(entries: number, bytes: number, path: Uint8Array): void {
    this.#skipped += entries;
    this.#bytes += bytes;
    this.#check('entries', this.entries.length + this.#skipped, path);
    this.#check('bytes', this.#bytes, path);
  }

  #check(limit: LimitName, observed: number, path: Uint8Array): void {
    const cap = this.#limits[limit];
    if (observed > cap)
      throw new ArchiveLimitError(limit, cap, observed, encodePathText(path.subarray(0, 4096)));
  }
}

/** What was left out cannot be there as well. */
export function refuseOmittedEntries(ref: Ref, root: RootObject, entries: readonly TreeEntry[]): void {
  if (root.omitted.length === 0) return;
  const omitted = new Set(root.omitted.map(({ path }) => byteText(path)));
  const clash = entries.find(({ path }) => omitted.has(byteText(path)));
  if (clash === undefined) return;
  throw new IntegrityError({
    ref,
    path: encodePathText(clash.path),
    expected: 'an omission',
    got: 'an entry',
  });
}

function decoded<T>(ref: Ref, path: Uint8Array, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof FormatFault)) throw error;
    throw new IntegrityError(
      { ref, path: encodePathText(path), expected: 'canonical bytes', got: error.message },
      { cause: error },
    );
  }
}
