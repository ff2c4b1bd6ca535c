import { basename, dirname } from 'node:path';
import { decodePathText, encodePathText, isHoldfastError, Pacer, throwIfAborted } from '@holdfast/base';
import {
  Dir,
  FileSystemError,
  NameTakenError,
  publishDirectory,
  removeTree,
  sweepTemporaries,
  temporaryName,
} from '@holdfast/durable';
import type { SnapshotProgress } from '../capture-options.js';
import {
  ArchiveLimitError,
  CollectedError,
  DestNotEmptyError,
  EntryNotFoundError,
  MaterializeError,
  NotDirectoryError,
  PersistencePathError,
  RefNotFoundError,
  UnreadableError,
  UnsupportedFormatError,
} from '../errors.js';
import type { Ref } from '../ref.js';
import type { Tree, TreeEntry } from '../tree.js';
import { nowhere } from './capture-destination.js';
import { fetchContents, type WritingPlace } from './content-fetch.js';
import { byteText } from './entry-path.js';
import { checkCaptureOptions } from './live-capture.js';
import { toLiveTree } from './live-tree.js';
import { keyText } from './object-key.js';
import type { ObjectTable } from './object-table.js';
import { captureLive } from './run-capture.js';
import { StagedTree } from './staged-tree.js';
import type { StoreContext } from './store-context.js';
import { differences } from './tree-comparison.js';
import { readTree } from './tree-reading.js';
import { canonicalize, checkHostPath, lookAt, openTreeRoot, refuseOverlap } from './tree-root.js';

export interface MaterializeOptions {
  /** Path text of files or subtrees to build; the whole tree when absent. Directories above them come along. */
  readonly paths?: readonly string[] | undefined;
  /** Whether files and directories are made durable; default `true`. */
  readonly sync?: boolean | undefined;
  /**
   * Part of the temporary name beside the destination (`[a-z0-9][a-z0-9-]*`, at most 64 characters): whoever has the
   * destination after a crash can tell by it that what stands there is dead. Default: a random one per process.
   */
  readonly operation?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
}

export interface Materialized {
  readonly ref: Ref;
  /** Absolute, parents resolved. */
  readonly dest: string;
  readonly stats: {
    readonly entries: number;
    readonly files: number;
    /** Bytes of the tree's files. */
    readonly bytes: number;
    /** Bytes written; 0 when the destination was equal already. */
    readonly bytesWritten: number;
    readonly durationMs: number;
    /** `unsupported` when the file system did not keep a mode. */
    readonly modes: 'kept' | 'unsupported';
  };
}

/** Facts about the ref or the destination, which say it all by themselves. */
const facts: ReadonlySet<string> = new Set([
  ArchiveLimitError.code,
  CollectedError.code,
  DestNotEmptyError.code,
  EntryNotFoundError.code,
  NotDirectoryError.code,
  PersistencePathError.code,
  RefNotFoundError.code,
  UnsupportedFormatError.code,
]);

/** Builds a verified tree at a destination. What is not a fact about ref or destination is wrapped. */
export async function materializeTree(
  context: StoreContext,
  ref: Ref,
  open: () => Promise<ObjectTable>,
  dest: string,
  options: MaterializeOptions,
): Promise<Materialized> {
  checkHostPath(dest);
  const started = context.clock.monotonic();
  try {
    const table = await open();
    const tree = await readTree(context.reader, table, ref, context.limits, options);
    const entries = selectEntries(tree, options.paths);
    const built = await materializeAt(context, tree, entries, table, dest, options);
    const files = entries.filter(({ kind }) => kind === 'file');
    return {
      ref,
      dest: built.path,
      stats: {
        entries: entries.length,
        files: files.length,
        bytes: files.reduce((sum, { size }) => sum + size, 0),
        bytesWritten: built.bytesWritten,
        durationMs: context.clock.monotonic() - started,
        modes: built.modesKept ? 'kept' : 'unsupported',
      },
    };
  } catch (error) {
    throwIfAborted(options.signal);
    if (isHoldfastError(error) && facts.has(error.code)) throw error;
    throw new MaterializeError(ref, dest, { cause: error });
  }
}

interface Built {
  readonly path: string;
  readonly bytesWritten: number;
  readonly modesKept: boolean;
}

// 1. The destination is looked at: missing or empty goes on, anything else is compared and never touched.
// 2. The tree is built in a sibling directory, verified as it is written, and synced.
// 3. The sibling is renamed to the destination: point of no return. 4. The parent is synced.
async function materializeAt(
  context: StoreContext,
  tree: Tree,
  entries: readonly TreeEntry[],
  table: ObjectTable,
  dest: string,
  options: MaterializeOptions,
): Promise<Built> {
  const { fileSystem } = context;
  const path = canonicalize(fileSystem, dest);
  if (path === undefined) throw new NotDirectoryError(dirname(dest), 'missing');
  refuseOverlap(path, context.storagePaths);
  const found = lookAtDestination(context, path);
  if (found === 'occupied') return await compareDestination(context, tree, entries, path, options);
  const parent = Dir.openRoot(fileSystem, dirname(path));
  try {
    const name = Buffer.from(basename(path));
    await sweepBeside(parent, context, options.signal);
    const staging = stageBeside(parent, context, options.operation, found === 'empty');
    if (staging === undefined) return await buildInside(context, tree, entries, table, path, options);
    try {
      const result = await build(context, tree, entries, table, { dir: staging.dir, near: parent }, options);
      staging.dir.close();
      await publishDirectory(parent, staging.name, name, { contentSynced: true, signal: options.signal });
      return { path, ...result };
    } catch (error) {
      staging.dir.close();
      await discard(parent, staging.name, context);
      if (NameTakenError.is(error)) throw new DestNotEmptyError(path, tree.treeKey, undefined, []);
      if (found === 'empty' && isImmovable(error))
        return await buildInside(context, tree, entries, table, path, options);
      throw error;
    }
  } finally {
    parent.close();
  }
}

function lookAtDestination(context: StoreContext, path: string): 'missing' | 'empty' | 'occupied' {
  const { fileSystem } = context;
  try {
    const root = openTreeRoot(fileSystem, path);
    try {
      return root.dir.list().length === 0 ? 'empty' : 'occupied';
    } finally {
      root[Symbol.dispose]();
    }
  } catch (error) {
    if (NotDirectoryError.is(error) && lookAt(fileSystem, path) === 'missing') return 'missing';
    throw error;
  }
}

/** A fresh directory beside the destination; `undefined` where this user may not make one and can do without. */
function stageBeside(
  parent: Dir,
  context: StoreContext,
  operation: string | undefined,
  canBuildInside: boolean,
): { readonly name: Uint8Array; readonly dir: Dir } | undefined {
  const name = temporaryName('trash', {
    random: context.random,
    operation: operation ?? context.builder?.name,
  });
  try {
    parent.mkdir(name, 0o700);
  } catch (error) {
    const isRefused = FileSystemError.is(error) && ['EACCES', 'EPERM', 'EROFS'].includes(error.errno);
    if (isRefused && canBuildInside) return undefined;
    throw error;
  }
  return { name, dir: parent.openDir(name) };
}

/** Removes what killed processes built beside destinations in this directory. */
async function sweepBeside(
  parent: Dir,
  { builder }: StoreContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (builder === undefined) return;
  try {
    await sweepTemporaries(parent, { isLive: (name) => builder.isLive(name), signal });
  } catch (error) {
    throwIfAborted(signal);
    // What cannot be removed is in nobody's way.
    if (!FileSystemError.is(error)) throw error;
  }
}

/** The destination itself has to stay: a mount point, or a parent that is not ours. */
async function buildInside(
  context: StoreContext,
  tree: Tree,
  entries: readonly TreeEntry[],
  table: ObjectTable,
  path: string,
  options: MaterializeOptions,
): Promise<Built> {
  const root = openTreeRoot(context.fileSystem, path);
  try {
    const before = new Set(root.dir.list().map(byteText));
    if (before.size > 0) throw new DestNotEmptyError(path, tree.treeKey, undefined, [...before]);
    try {
      return {
        path,
        ...(await build(context, tree, entries, table, { dir: root.dir, near: root.dir }, options)),
      };
    } catch (error) {
      const ours = entries.filter((entry) => !entry.path.includes(0x2f));
      for (const entry of ours) await discard(root.dir, entry.path, context);
      throw error;
    }
  } finally {
    root[Symbol.dispose]();
  }
}

async function build(
  context: StoreContext,
  tree: Tree,
  entries: readonly TreeEntry[],
  table: ObjectTable,
  /** An empty directory, and one on its file system that stays as it is: the mode of the first may keep everybody out. */
  place: { readonly dir: Dir; readonly near: Dir },
  options: MaterializeOptions,
): Promise<{ bytesWritten: number; modesKept: boolean }> {
  const whole = context.wholeSyncOf(place.near);
  const atOnce = whole !== undefined && entries.length >= whole.from ? whole : 'each';
  const staged = new StagedTree(place.dir, (options.sync ?? true) ? atOnce : 'none');
  try {
    const directories = entries.filter(({ kind }) => kind === 'directory');
    const pacer = new Pacer();
    for (const entry of directories) {
      staged.addDirectory(entry);
      if (pacer.due) await pacer.rest(options.signal);
    }
    throwIfAborted(options.signal);
    for (const entry of entries) {
      if (entry.kind === 'symlink') staged.addSymlink(entry);
      if (pacer.due) await pacer.rest(options.signal);
    }
    const files = entries.filter(({ kind }) => kind === 'file');
    const progress = { entries: entries.length, files: 0, bytes: 0, filesRead: 0, bytesRead: 0 };
    await fetchContents(
      context.reader,
      files.map((entry) => ({ entry, ref: tree.ref, table })),
      {
        whole: (entry, bytes) => {
          progress.files += 1;
          return staged.addFile(entry, bytes);
        },
        pieces: async (entry, pieces) => {
          progress.files += 1;
          await staged.addPieces(entry, pieces);
        },
        place: placeFor(staged, () => {
          progress.files += 1;
        }),
      },
      {
        signal: options.signal,
        engine: context.engine,
        onRest: () => {
          options.onProgress?.({ phase: 'writing', ...progress, bytes: staged.bytesWritten });
        },
      },
    );
    options.onProgress?.({ phase: 'syncing', ...progress, bytes: staged.bytesWritten });
    await staged.finish(directories, tree.rootMode, options.signal);
    throwIfAborted(options.signal);
    return { bytesWritten: staged.bytesWritten, modesKept: staged.modesKept };
  } finally {
    await staged.settle().catch(() => undefined);
    staged.close();
  }
}

/** Lets other threads write below a staged tree, where that can be. */
function placeFor(staged: StagedTree, onFile: () => void): WritingPlace | undefined {
  const root = staged.share();
  if (root === undefined) return undefined;
  return {
    root,
    written: ({ size }) => {
      onFile();
      staged.countBytes(size);
    },
    undo: (entry) => {
      staged.removeFile(entry);
    },
    lostMode: () => {
      staged.modesKept = false;
    },
  };
}

/** A destination with something in it: equal is success, different is an error, and nothing is touched either way. */
async function compareDestination(
  context: StoreContext,
  tree: Tree,
  entries: readonly TreeEntry[],
  path: string,
  options: MaterializeOptions,
): Promise<Built> {
  const capture = {
    ignore: tree.ignore,
    reserved: tree.omitted.map((omitted) => encodePathText(omitted.path)),
    onUnreadable: 'omit',
    signal: options.signal,
  } as const;
  const root = openTreeRoot(context.fileSystem, path);
  try {
    const identity = root.dir.stat();
    const state = await context.roots.get(root.path, identity);
    const rules = checkCaptureOptions(context, capture);
    const result = await captureLive(context, root, rules, capture, state?.table, nowhere);
    context.roots.learn(root.path, {
      identity,
      table: result.table,
      settled: result.settle?.(),
      committed: state?.committed,
    });
    const same = keyText(result.treeKey) === tree.treeKey && result.rootMode === tree.rootMode;
    if (same && options.paths === undefined) return { path, bytesWritten: 0, modesKept: true };
    const live = await toLiveTree(result, options.signal);
    const found = differences(tree.rootMode, entries, live);
    if (found.length === 0) return { path, bytesWritten: 0, modesKept: true };
    throw new DestNotEmptyError(path, tree.treeKey, live.treeKey, found);
  } catch (error) {
    if (UnreadableError.is(error)) throw new DestNotEmptyError(path, tree.treeKey, undefined, [error.path]);
    throw error;
  } finally {
    root[Symbol.dispose]();
  }
}

/** Entries at and below the wanted paths, and the directories above them. */
function selectEntries(tree: Tree, paths: readonly string[] | undefined): readonly TreeEntry[] {
  if (paths === undefined) return tree.entries;
  const wanted = paths.map((path) => ({ path, text: byteText(decodePathText(path.replace(/\/+$/, ''))) }));
  const chosen = tree.entries.filter((entry) => {
    const text = byteText(entry.path);
    return wanted.some((want) => {
      if (text === want.text || text.startsWith(`${want.text}/`)) return true;
      return entry.kind === 'directory' && want.text.startsWith(`${text}/`);
    });
  });
  const known = new Set(chosen.map((entry) => byteText(entry.path)));
  const missing = wanted.find((want) => !known.has(want.text));
  if (missing !== undefined) throw new EntryNotFoundError(tree.ref, missing.path, 'entry');
  return chosen;
}

async function discard(parent: Dir, name: Uint8Array, { builder }: StoreContext): Promise<void> {
  // The failure that led here is the one to report; what cannot be removed now is found by the next sweep.
  await removeTree(parent, name, { operation: builder?.name }).catch(() => false);
}

function isImmovable(error: unknown): boolean {
  return FileSystemError.is(error) && (error.errno === 'EBUSY' || error.errno === 'EXDEV');
}
