import type { Dir, File } from '@holdfast/durable';
import type { LiveEntry } from '@holdfast/workspacestore';

import { WorkspaceRestoreError } from '../errors.js';
import type { PreparationContext } from '../strategy.js';
import { baseKey, keyPath, parentKey, pathKey } from './path-key.js';
import { isErrno } from './reconcile-names.js';
import type { RootWalker } from './root-walker.js';
import { recentSince } from './signature.js';
import { SyncPool } from './sync-pool.js';

/**
 * Entries that stay as they are but are so young that nobody may have synced them. The new tree is promised as a whole, so
 * they have to be durable too.
 */
export function recentlyKept(context: PreparationContext): readonly LiveEntry[] {
  const now = context.clock.now();
  const changing = new Set<string>();
  for (const { action, path } of context.operations) if (action !== 'chmod') changing.add(pathKey(path));
  const recent = context.changedSince(recentSince(now));
  return changing.size === 0 ? recent : recent.filter(({ path }) => !changing.has(pathKey(path)));
}

/** Makes kept entries durable. What vanished meanwhile is not ours to keep. */
export async function syncKept(
  context: PreparationContext,
  walker: RootWalker,
  kept: readonly LiveEntry[],
): Promise<void> {
  const directories = new Set<string>();
  const syncs = new KeptSyncs(context);
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

async function syncFile(walker: RootWalker, key: string, syncs: KeptSyncs): Promise<void> {
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

const quickMilliseconds = 0.5;
const syncsUntilNextTry = 32;

/**
 * Syncs many nodes of which most usually are on the disk already. Then a blocking call returns at once and costs a
 * twentieth of one that goes through another thread; as soon as one takes long the next ones go there, side by side.
 */
class KeptSyncs {
  readonly #context: PreparationContext;
  readonly #pool = new SyncPool();
  #later = 0;

  constructor(context: PreparationContext) {
    this.#context = context;
  }

  async add(node: Dir | File): Promise<void> {
    if (this.#later > 0) {
      this.#later -= 1;
      await this.#pool.add(() => node.syncLater());
      return;
    }
    const { clock } = this.#context;
    const started = clock.monotonic();
    node.sync();
    if (clock.monotonic() - started > quickMilliseconds) this.#later = syncsUntilNextTry;
  }

  async finish(): Promise<void> {
    await this.#pool.finish();
  }
}
