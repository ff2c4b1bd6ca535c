import type { Dir } from '@holdfast/durable';
import type { LiveEntry } from '@holdfast/workspacestore';

import { WorkspaceRestoreError } from '../errors.js';
import type { PreparationContext } from '../strategy.js';
import { baseKey, keyPath, parentKey, pathKey } from './path-key.js';
import { isErrno } from './reconcile-names.js';
import type { RootWalker } from './root-walker.js';
import { recentSince } from './signature.js';
import { QuickSyncs } from './sync-pool.js';

/**
 * Entries that stay as they are but are so young that nobody may have synced them. The new tree is promised as a whole, so
 * they have to be durable too. All of them, or at least `many` when there are so many.
 */
export function recentlyKept(context: PreparationContext, many: number | undefined): readonly LiveEntry[] {
  const changing = new Set<string>();
  for (const { action, path } of context.operations) if (action !== 'chmod') changing.add(pathKey(path));
  const most = many === undefined ? undefined : many + changing.size;
  const recent = context.changedSince(recentSince(context.clock.now()), most);
  return changing.size === 0 ? recent : recent.filter(({ path }) => !changing.has(pathKey(path)));
}

/** Makes kept entries durable. What vanished meanwhile is not ours to keep. */
export async function syncKept(
  context: PreparationContext,
  walker: RootWalker,
  kept: readonly LiveEntry[],
): Promise<void> {
  const directories = new Set<string>();
  const syncs = new QuickSyncs(context);
  try {
    for (const { path, kind } of kept) {
      await context.pause();
      const key = pathKey(path);
      directories.add(parentKey(key));
      if (kind === 'directory') directories.add(key);
      if (kind === 'file') await syncFile(walker, key, syncs);
    }
    for (const key of [...directories].sort()) {
      await context.pause();
      const dir = openKept(walker, key);
      if (dir !== undefined) await syncs.add(dir);
    }
  } finally {
    await syncs.finish();
  }
}

async function syncFile(walker: RootWalker, key: string, syncs: QuickSyncs): Promise<void> {
  const dir = openKept(walker, parentKey(key));
  if (dir === undefined) return;
  const name = keyPath(baseKey(key));
  try {
    using file = dir.openFile(name);
    if (file.stat().kind === 'file') await syncs.add(file);
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'ENOENT', 'ELOOP', 'ENXIO')) throw error;
  }
}

function openKept(walker: RootWalker, key: string): Dir | undefined {
  try {
    return walker.directory(key);
  } catch (error) {
    if (isErrno(error, 'EACCES')) return undefined;
    if (WorkspaceRestoreError.is(error)) return undefined;
    throw error;
  }
}
