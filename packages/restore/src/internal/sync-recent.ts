import type { Dir } from '@holdfast/durable';

import { WorkspaceRestoreError } from '../errors.js';
import type { PreparationContext } from '../strategy.js';
import { baseKey, keyPath, parentKey, pathKey } from './path-key.js';
import { isErrno } from './reconcile-names.js';
import type { RootWalker } from './root-walker.js';
import { isRecent } from './signature.js';
import { SyncPool } from './sync-pool.js';

/**
 * Makes entries durable that stay as they are but are so young that nobody may have synced them: the new tree is promised
 * as a whole. What vanished meanwhile is not ours to keep.
 */
export async function syncRecentlyKept(context: PreparationContext, walker: RootWalker): Promise<void> {
  const now = context.clock.now();
  const changing = new Set<string>();
  for (const { action, path } of context.operations) if (action !== 'chmod') changing.add(pathKey(path));
  const directories = new Set<string>();
  const syncs = new SyncPool();
  try {
    for (const { path, kind, signature } of context.live.entries) {
      await context.pause();
      const key = pathKey(path);
      if (changing.has(key) || !isRecent(signature, now)) continue;
      directories.add(parentKey(key));
      if (kind === 'directory') directories.add(key);
      if (kind === 'file') await syncFile(walker, key, syncs);
    }
    for (const key of [...directories].sort()) {
      await context.pause();
      const dir = openKept(walker, key);
      if (dir !== undefined) await syncs.add(() => dir.syncLater());
    }
  } finally {
    await syncs.finish();
  }
}

async function syncFile(walker: RootWalker, key: string, syncs: SyncPool): Promise<void> {
  const dir = openKept(walker, parentKey(key));
  if (dir === undefined) return;
  const name = keyPath(baseKey(key));
  try {
    using file = dir.openFile(name);
    if (file.stat().kind === 'file') await syncs.add(() => file.syncLater());
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
