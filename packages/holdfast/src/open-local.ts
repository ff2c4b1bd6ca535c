import { lstat, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import {
  type Clock,
  DisposalStack,
  type Random,
  sha256Hex,
  systemClock,
  systemRandom,
  throwIfAborted,
} from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { HomeError, type LocalRoot, type LocalStack, type OpenRootOptions } from '@holdfast/cli';
import { ensureDirectory, nodeFileSystem } from '@holdfast/durable';
import { SessionStore } from '@holdfast/journal';
import { type Leaser, prefixedLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import type { RigFragment } from '@holdfast/rig';
import { CacheDirectoryError, WorkspaceStore } from '@holdfast/workspacestore';

import { processBuilder } from './internal/builder.js';
import { collectHome } from './internal/collect-home.js';
import { importTar } from './internal/import-tar.js';
import { KnownJournals, LetGoRefs } from './internal/known-journals.js';
import { holdersOf } from './internal/live-refs.js';
import { openManagedRoot } from './internal/managed-root.js';
import { requiredRefs } from './internal/required-refs.js';

export interface OpenLocalOptions {
  /** Whether a home that does not exist is made; default `true`. */
  readonly create?: boolean | undefined;
  /**
   * A private directory of this user with a short path, where live sessions listen for other processes. Default: one in
   * the directory for temporary files.
   */
  readonly runtimeDirectory?: string | undefined;
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
  /**
   * What a rig over this home needs besides loops and a workspace: `defineRig(local.fragment, { … })`. Its sessions are
   * kept here, and other processes of the same user can reach them while they live.
   */
  readonly fragment: RigFragment;
}

/**
 * Opens the embedded stack in a home directory, which is made (owner-only) when it is missing: file-system blobs, level
 * journals (one database per session) and file-system leases. Give its parts to `defineRig`, or use them alone.
 *
 * @throws HomeError when it cannot be used by this user, or does not exist and is not to be made.
 *
 * Closing closes every part and releases every lease. Several processes may have one home open; one session is owned by
 * one process at a time.
 */
export async function openLocal(home: string, options: OpenLocalOptions = {}): Promise<Local> {
  throwIfAborted(options.signal);
  const { clock = systemClock, random } = options;
  await using building = new DisposalStack();
  const given = resolve(home);
  const { path, leasers, known, letGo, blobs } = await inHome(given, async () => {
    if (options.create === false) await refuseMissing(given);
    using made = await ensureDirectory(nodeFileSystem(), given, { mode: 0o700 });
    const path = await realpath(given);
    const leaser = building.use(await openFsLeaser(join(path, 'leases'), { clock, random }));
    const leasers = { session: leaser, root: prefixedLeaser(leaser, 'root-journals') };
    return {
      path,
      leasers,
      known: building.use(await KnownJournals.open(made, leasers, clock)),
      letGo: building.use(await LetGoRefs.open(made)),
      blobs: building.use(await openFsBlobs(join(path, 'blobs'), { clock, random })),
    };
  });
  const leaser = leasers.session;
  const ledgers = {
    session: known.remembering(
      'session',
      building.use(await openLevelLedgers(join(path, 'sessions'), { clock })),
    ),
    root: known.remembering('root', building.use(await openLevelLedgers(join(path, 'roots'), { clock }))),
  };
  const sessions = building.use(
    await SessionStore.open({ ledgers: ledgers.session, leaser, blobs, clock, random }),
  );
  const roots = building.use(
    await SessionStore.open({
      ledgers: ledgers.root,
      leaser: leasers.root,
      blobs,
      clock,
      random,
    }),
  );
  const store = await inHome(given, async () =>
    building.use(
      await WorkspaceStore.open(blobs, {
        clock,
        random,
        cacheDirectory: join(path, 'cache'),
        builder: processBuilder(),
      }),
    ),
  );
  const journals = { stores: { session: sessions, root: roots }, ledgers, known, letGo };
  const opened = building.move();
  return {
    home: path,
    blobs,
    leaser,
    store,
    sessions,
    roots,
    fragment: Object.freeze({ sessionStore: sessions, controlDirectory: controlDirectory(path, options) }),
    openRoot: async (root: string, rootOptions: OpenRootOptions = {}): Promise<LocalRoot> =>
      await openManagedRoot({ root, leaser, journals: roots, store, clock, random }, rootOptions),
    importTar: async (stream, call = {}) => await importTar({ store, journals: roots }, stream, call),
    collect: (call = {}) => collectHome({ ...journals, store, clock, random: random ?? systemRandom }, call),
    holdersOf: (ref, call = {}) => holdersOf({ sessions, roots }, ref, call.signal),
    requiredRefs: (call = {}) => requiredRefs(journals, call.signal),
    close: () => opened.close(),
    [Symbol.asyncDispose]: () => opened.close(),
  };
}

async function refuseMissing(home: string): Promise<void> {
  try {
    await lstat(join(home, 'blobs'));
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') throw new HomeError(home);
    throw error;
  }
}

/** What the system says when this user may not make, enter or write a directory. */
const deniedCodes: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR']);

/** Opens a part of a home. @throws HomeError when the home is not this user's to use. */
async function inHome<T>(home: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    if (CacheDirectoryError.is(cause) && cause.rule === 'foreign')
      throw new HomeError(home, 'foreign', { cause });
    // Errors of packages wrap what the system said.
    for (let error: unknown = cause; error instanceof Error; error = error.cause) {
      if (deniedCodes.has((error as { code?: unknown }).code)) throw new HomeError(home, 'denied', { cause });
    }
    throw cause;
  }
}

/** Short, because the path of a socket may have about a hundred bytes; its own for each home. */
function controlDirectory(home: string, options: OpenLocalOptions): string | undefined {
  // Named pipes are not directories; sessions on Windows are reached by opening them.
  if (process.platform === 'win32') return undefined;
  const base = options.runtimeDirectory ?? join(tmpdir(), `holdfast-${process.getuid?.() ?? 0}`);
  return join(base, sha256Hex(new TextEncoder().encode(home)).slice(0, 12));
}
