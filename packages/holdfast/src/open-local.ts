import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { type Clock, DisposalStack, type Random, throwIfAborted } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import type { LocalRoot, LocalStack, OpenRootOptions } from '@holdfast/cli';
import { ensureDirectory, nodeFileSystem } from '@holdfast/durable';
import { SessionStore } from '@holdfast/journal';
import { type Leaser, prefixedLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { WorkspaceStore } from '@holdfast/workspacestore';

import { openManagedRoot } from './internal/managed-root.js';

export interface OpenLocalOptions {
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The embedded stack: one directory on one machine, several processes. */
export interface Local extends LocalStack {
  readonly blobs: Blobs;
  /** Excludes the processes of this host. */
  readonly leaser: Leaser;
  /** Keeps the trees of every session of this home. */
  readonly store: WorkspaceStore;
  readonly sessions: SessionStore;
}

/**
 * Opens the embedded stack in a home directory, which is made (owner-only) when it is missing: file-system blobs, level
 * journals (one database per session) and file-system leases. Give its parts to `defineRig`, or use them alone.
 *
 * Closing closes every part and releases every lease. Several processes may have one home open; one session is owned by
 * one process at a time.
 */
export async function openLocal(home: string, options: OpenLocalOptions = {}): Promise<Local> {
  throwIfAborted(options.signal);
  const { clock, random } = options;
  await using building = new DisposalStack();
  using made = await ensureDirectory(nodeFileSystem(), resolve(home), { mode: 0o700 });
  void made;
  const path = await realpath(resolve(home));
  const blobs = building.use(await openFsBlobs(join(path, 'blobs'), { clock, random }));
  const leaser = building.use(await openFsLeaser(join(path, 'leases'), { clock, random }));
  const sessionLedgers = building.use(await openLevelLedgers(join(path, 'sessions'), { clock }));
  const rootLedgers = building.use(await openLevelLedgers(join(path, 'roots'), { clock }));
  const sessions = building.use(
    await SessionStore.open({ ledgers: sessionLedgers, leaser, blobs, clock, random }),
  );
  const roots = building.use(
    await SessionStore.open({
      ledgers: rootLedgers,
      leaser: prefixedLeaser(leaser, 'root-journals'),
      blobs,
      clock,
      random,
    }),
  );
  const store = building.use(
    await WorkspaceStore.open(blobs, { clock, random, cacheDirectory: join(path, 'cache') }),
  );
  const opened = building.move();
  return {
    home: path,
    blobs,
    leaser,
    store,
    sessions,
    openRoot: async (root: string, rootOptions: OpenRootOptions = {}): Promise<LocalRoot> =>
      await openManagedRoot({ root, leaser, journals: roots, store, clock, random }, rootOptions),
    close: () => opened.close(),
    [Symbol.asyncDispose]: () => opened.close(),
  };
}
