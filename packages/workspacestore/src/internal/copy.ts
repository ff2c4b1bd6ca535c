import { encodePathText } from '@holdfast/base';

import { CollectedError, RefNotFoundError } from '../errors.js';
import { type Ref, rootKeyOfRef } from '../ref.js';
import type { TreeEntry } from '../tree.js';
import { encodeChunkList } from './chunk-list.js';
import { commitArchives } from './commit.js';
import { contentOf, fetchContents } from './content-fetch.js';
import { addObject } from './object-adding.js';
import { emptyTreeKey, keyBytes } from './object-key.js';
import { ObjectTable } from './object-table.js';
import { encodeRoot } from './root-object.js';
import { SnapshotSink } from './snapshot-sink.js';
import { type OpenSnapshot, openSnapshot, type StoreContext } from './store-context.js';
import { readDirectory, readRoot } from './tree-reading.js';
import { toEntry } from './tree-rows.js';

export interface CopyOptions {
  /** A snapshot of the other store that has much of the same content: what it has is not copied. */
  readonly base?: Ref | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CopyResult {
  readonly ref: Ref;
  /** Hold of the commit in the other store. */
  readonly hold: string;
  readonly stats: {
    readonly entries: number;
    readonly files: number;
    readonly bytes: number;
    readonly bytesStored: number;
  };
}

/**
 * Copies one snapshot into another store, object by object, each verified on the way. The ref is the same there.
 *
 * 1. Objects that the other store's base lacks are put as archives. 2. The commit slot is won. 3. The copy of the
 * record is durable.
 */
export async function copySnapshot(
  source: StoreContext,
  snapshot: OpenSnapshot,
  target: StoreContext,
  ref: Ref,
  options: CopyOptions,
): Promise<CopyResult> {
  const closure = await baseClosure(target, options);
  for (let repeat = 0; ; repeat += 1) {
    const sink = new SnapshotSink(target, closure, options);
    const totals = await copyObjects(source, snapshot, sink, ref, options);
    await sink.flush();
    const archives = [...closure.archives.map((archive) => archive.ref), ...sink.archives];
    const stats = { ...totals, stored: sink.bytesStored };
    const outcome = await commitArchives(target, ref, archives, stats, options);
    if ('hold' in outcome)
      return { ref, hold: outcome.hold, stats: { ...totals, bytesStored: sink.bytesStored } };
    if (repeat > 0) throw new CollectedError(ref, [...outcome.absent][0] ?? 'its own');
  }
}

async function baseClosure(target: StoreContext, options: CopyOptions): Promise<ObjectTable> {
  if (options.base === undefined) return new ObjectTable();
  try {
    return (await openSnapshot(target, options.base, options)).table;
  } catch (error) {
    if (RefNotFoundError.is(error) || CollectedError.is(error)) return new ObjectTable();
    throw error;
  }
}

async function copyObjects(
  source: StoreContext,
  { table }: OpenSnapshot,
  sink: SnapshotSink,
  ref: Ref,
  options: CopyOptions,
): Promise<{ entries: number; files: number; bytes: number }> {
  const { reader } = source;
  const root = await readRoot(reader, table, ref, options);
  const files = new Map<string, TreeEntry>();
  const totals = { entries: 0, files: 0, bytes: 0 };
  const stack: { path: Uint8Array; key: Uint8Array }[] = [{ path: new Uint8Array(0), key: root.treeKey }];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const wanted = { ref, path: encodePathText(top.path), signal: options.signal };
    for (const row of await readDirectory(reader, table, ref, top.path, top.key, options)) {
      const entry = toEntry(top.path, row);
      totals.entries += 1;
      if (row.kind === 'directory') stack.push({ path: entry.path, key: row.value });
      if (row.kind !== 'file') continue;
      totals.files += 1;
      totals.bytes += row.size;
      if (row.size > 0 && !sink.has('file', row.value)) files.set(contentOf(entry), entry);
    }
    if (Buffer.compare(top.key, emptyTreeKey) === 0 || sink.has('tree', top.key)) continue;
    addObject(sink, 'tree', await reader.readWhole(table, 'tree', top.key, wanted));
    if (sink.full) await sink.relieve();
  }
  await copyFiles(source, table, [...files.values()], sink, ref, options);
  const rootKey = keyBytes(rootKeyOfRef(ref));
  if (!sink.has('root', rootKey)) addObject(sink, 'root', encodeRoot({ ...root, rules: root.rules }));
  return totals;
}

async function copyFiles(
  source: StoreContext,
  table: ObjectTable,
  files: readonly TreeEntry[],
  sink: SnapshotSink,
  ref: Ref,
  options: CopyOptions,
): Promise<void> {
  const flushWhenFull = async (): Promise<void> => {
    if (sink.full) await sink.relieve();
  };
  const receiver = {
    whole: async (entry: TreeEntry, bytes: Uint8Array) => {
      sink.add('file', keyBytes(contentOf(entry)), bytes);
      await flushWhenFull();
    },
    pieces: async (entry: TreeEntry) => {
      const key = keyBytes(contentOf(entry));
      const wanted = { ref, path: encodePathText(entry.path), signal: options.signal };
      const list = await source.reader.readChunkList(table, 'file', key, wanted);
      for (const chunk of list?.chunks ?? []) {
        if (!sink.has('chunk', chunk.key)) {
          sink.add('chunk', chunk.key, await source.reader.readChunk(table, chunk, wanted));
        }
        await flushWhenFull();
      }
      // Reading the whole proves the list before it is written anywhere else.
      for await (const piece of source.reader.read(table, 'file', key, wanted)) void piece;
      if (list !== undefined) sink.add('chunklist', key, encodeChunkList(list));
    },
  };
  await fetchContents(
    source.reader,
    files.map((entry) => ({ entry, ref, table })),
    receiver,
    options,
  );
}
