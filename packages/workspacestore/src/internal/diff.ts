import type { CaptureOptions } from '../capture-options.js';
import type { Ref } from '../ref.js';
import type { LiveTree, Tree } from '../tree.js';
import type { DiffOptions, TreeDiff } from '../tree-diff.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import { ChangeCollector } from './tree-changes.js';
import { pairEntries, pairSnapshots } from './tree-pairs.js';
import { readRoot } from './tree-reading.js';

/** Compares two snapshots, reading only directories that differ. */
export async function diffSnapshots(
  reader: ObjectReader,
  before: { readonly ref: Ref; readonly table: ObjectTable },
  after: { readonly ref: Ref; readonly table: ObjectTable },
  options: DiffOptions,
): Promise<TreeDiff> {
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
  return collector.finish(options.renames ?? true);
}

/** Compares a snapshot with a scan of a live directory. */
export function diffTrees(before: Tree, after: LiveTree, options: DiffOptions & CaptureOptions): TreeDiff {
  const collector = new ChangeCollector(before, {
    omitted: after.omitted,
    ignore: options.ignore ?? before.ignore,
  });
  for (const pair of pairEntries(before.entries, after.entries)) collector.add(pair);
  return collector.finish(options.renames ?? true);
}
