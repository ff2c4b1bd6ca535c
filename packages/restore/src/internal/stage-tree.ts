import { quote } from '@holdfast/base';
import type { Dir } from '@holdfast/durable';
import type { LiveEntry, TreeEntry } from '@holdfast/workspacestore';

import { WorkspaceRestoreError } from '../errors.js';
import type { Operation } from '../operation.js';
import type { PreparationContext } from '../strategy.js';
import { contentKeyOf } from './content-key.js';
import { compareKeys, depthOf, pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { RootWalker } from './root-walker.js';
import { isUntouched } from './signature.js';
import { setMode, stageFiles } from './stage-files.js';
import { ManySyncs, SyncPool } from './sync-pool.js';

/**
 * Builds a whole target tree in an empty directory, durably: what is unchanged from the live tree as clones or copies,
 * never as links (a late write to the old tree must not reach the new one), the rest from the source.
 */
export async function stageTree(context: PreparationContext, staging: Dir): Promise<void> {
  using into = new RootWalker(staging);
  using from = new RootWalker(context.root);
  const live = new Map(context.live.entries.map((entry) => [pathKey(entry.path), entry]));
  const directories = new Map<string, number>([['', context.target.rootMode]]);
  const fetched: Operation[] = [];
  const syncs = new ManySyncs(context.target.entries.length, context.wholeSync);
  try {
    for (const entry of context.target.entries) {
      await context.pause();
      const key = pathKey(entry.path);
      const same = live.get(key);
      if (entry.kind === 'directory') {
        const { dir, name } = into.locate(key);
        dir.mkdir(name, 0o700);
        directories.set(key, entry.mode | (same?.kind === 'directory' ? same.signature.mode & 0o7000 : 0));
      } else if (entry.kind === 'symlink') {
        const { dir, name } = into.locate(key);
        dir.symlink(entry.target ?? new Uint8Array(), name);
      } else if (same?.kind === 'file' && same.content === entry.content && same.size === entry.size) {
        await copyUnchanged(context, { into, from }, entry, same, syncs);
      } else {
        fetched.push({ number: fetched.length, action: 'put', path: entry.path, after: { ...entry } });
      }
    }
  } finally {
    await syncs.drain();
  }
  await stageFiles(fetched, ({ path }) => into.locate(pathKey(path)), {
    source: context.source,
    signal: context.signal,
    sync: syncs.atOnce ? 'later' : 'each',
    pause: () => context.pause(),
    modesUnsupported: () => {
      noteModes(context);
    },
  });
  await finishDirectories(context, into, directories, syncs.atOnce);
  // One sync for everything that was built.
  if (syncs.atOnce) await syncs.finish();
}

async function copyUnchanged(
  context: PreparationContext,
  walkers: { readonly into: RootWalker; readonly from: RootWalker },
  entry: TreeEntry,
  live: LiveEntry,
  syncs: ManySyncs,
): Promise<void> {
  const key = pathKey(entry.path);
  const source = walkers.from.locate(key);
  const destination = walkers.into.locate(key);
  using from = source.dir.openFile(source.name);
  using copy = destination.dir.createFile(destination.name, 0o600);
  if (!isUntouched(from.stat(), live.signature)) throw changed(entry);
  copy.copyFrom(from);
  const { key: content, size } = await contentKeyOf(copy, () => context.pause());
  if (content !== entry.content || size !== entry.size) throw changed(entry);
  setMode(copy, entry.mode | (live.signature.mode & 0o7000), {
    modesUnsupported: () => {
      noteModes(context);
    },
  });
  await syncs.add(copy);
}

async function finishDirectories(
  context: PreparationContext,
  into: RootWalker,
  directories: ReadonlyMap<string, number>,
  syncedLater: boolean,
): Promise<void> {
  const deepestFirst = [...directories].sort(([a], [b]) => depthOf(b) - depthOf(a) || compareKeys(a, b));
  const syncs = new SyncPool();
  try {
    for (const [key, mode] of deepestFirst) {
      await context.pause();
      const dir = into.directory(key);
      dir.chmod(mode);
      if (!syncedLater) await syncs.add(() => dir.syncLater());
    }
  } finally {
    await syncs.finish();
  }
}

function changed(entry: TreeEntry): WorkspaceRestoreError {
  const shown = shownPath(entry.path);
  return new WorkspaceRestoreError('concurrent-change', `${quote(shown)} changed while it was copied`, {
    paths: [shown],
  });
}

function noteModes(context: PreparationContext): void {
  context.note({ kind: 'modes-unsupported', detail: 'the file system does not keep the modes it is given' });
}
