import type { CaptureOptions } from '../capture-options.js';
import type { Ref } from '../ref.js';
import type { LiveTree, Tree } from '../tree.js';
import type { DiffOptions, TreeDiff } from '../tree-diff.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import type { StoreContext } from './store-context.js';
import { addTexts, checkTextOptions, liveContents, storedContents } from './text-changes.js';
import { ChangeCollector } from './tree-changes.js';
import { pairEntries, pairSnapshots } from './tree-pairs.js';
import { readRoot } from './tree-reading.js';
import { openTreeRoot } from './tree-root.js';

/** Compares two snapshots, reading only directories that differ, and on request the files that do. */
export async function diffSnapshots(
  reader: ObjectReader,
  before: { readonly ref: Ref; readonly table: ObjectTable },
  after: { readonly ref: Ref; readonly table: ObjectTable },
  options: DiffOptions,
): Promise<TreeDiff> {
  const limits = checkTextOptions(options);
  const left = await readRoot(reader, before.table, before.ref, options);
  const right = await readRoot(reader, after.table, after.ref, options);
  const collector = new ChangeCollector(
    { omitted: left.omitted, ignore: left.rules },
    { omitted: right.omitted, ignore: right.rules },
  );
  const pairs = pairSnapshots(
    reader,
    { ...before, treeKey: left.treeKey },
    { ...after, treeKey: right.treeKey },
    options,
  );
  for await (const pair of pairs) collector.add(pair);
  const diff = collector.finish(options.renames ?? true);
  if (limits === undefined) return diff;
  const sources = {
    before: storedContents(reader, before, options.signal),
    after: storedContents(reader, after, options.signal),
  };
  return await addTexts(diff, collector.entriesOf, sources, limits, options);
}

/** Compares a snapshot with a scan of the live directory `root`. */
export async function diffLiveTree(
  { reader, fileSystem }: Pick<StoreContext, 'reader' | 'fileSystem'>,
  before: { readonly tree: Tree; readonly table: ObjectTable },
  after: { readonly root: string; readonly live: LiveTree },
  options: DiffOptions & CaptureOptions,
): Promise<TreeDiff> {
  const limits = checkTextOptions(options);
  const { tree, table } = before;
  const { root, live } = after;
  const collector = new ChangeCollector(tree, {
    omitted: live.omitted,
    ignore: options.ignore ?? tree.ignore,
  });
  for (const pair of pairEntries(tree.entries, live.entries)) collector.add(pair);
  const diff = collector.finish(options.renames ?? true);
  if (limits === undefined) return diff;
  using opened = openTreeRoot(fileSystem, root);
  const sources = {
    before: storedContents(reader, { ref: tree.ref, table }, options.signal),
    after: liveContents(opened.dir),
  };
  return await addTexts(diff, collector.entriesOf, sources, limits, options);
}
