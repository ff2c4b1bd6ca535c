import { DisposalStack, randomHex, throwIfAborted } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';

import type { CaptureOptions, ScanOptions, SnapshotOptions, SnapshotResult } from './capture-options.js';
import type { CollectOptions, CollectReport, Explanation } from './collection.js';
import { EntryNotFoundError, WorkspaceClosedError } from './errors.js';
import { compareLive } from './internal/compare-live.js';
import { contentOf, fetchContents } from './internal/content-fetch.js';
import type { CopyOptions, CopyResult } from './internal/copy.js';
import { diffLiveTree, diffSnapshots } from './internal/diff.js';
import { explainRef } from './internal/explain.js';
import { canCompress } from './internal/frame-codec.js';
import {
  type MaintainOptions,
  type MaintainReport,
  maintainStore,
  nothingMaintained,
} from './internal/maintain.js';
import { type Materialized, type MaterializeOptions, materializeTree } from './internal/materialize.js';
import { keyBytes } from './internal/object-key.js';
import type { ObjectTable } from './internal/object-table.js';
import { openContext } from './internal/open-context.js';
import { OpenSnapshots } from './internal/open-snapshots.js';
import { resolveRef } from './internal/resolve-ref.js';
import { scanLive } from './internal/scan.js';
import { takeSnapshot } from './internal/snapshot.js';
import { openSnapshot, type StoreContext } from './internal/store-context.js';
import type { ImportOptions } from './internal/tar/import-tar.js';
import { readTree } from './internal/tree-reading.js';
import { type ListRow, TreeRows, toListRow } from './internal/tree-rows.js';
import { forgetWriter } from './internal/writer-logs.js';
import { parseRef, type Ref } from './ref.js';
import type { ComparedTrees, LiveTree, Tree, TreeEntry } from './tree.js';
import type { DiffOptions, TreeDiff } from './tree-diff.js';
import type { VerifyOptions, VerifyReport, VerifySubject } from './verify-report.js';
import type { ContentSink, SignalOptions, WorkspaceStoreOptions } from './workspace-store-options.js';

// What few processes ever call is loaded when it is called: an agent's start should not wait for it.

/**
 * Immutable, content-addressed snapshots of directories over any `Blobs`.
 *
 * Does not own the blobs it is given: closing it ends its writer log and leaves them open. After `close` every method
 * rejects with `WorkspaceClosedError`.
 */
export class WorkspaceStore implements AsyncDisposable {
  readonly #context: StoreContext;
  readonly #opened: OpenSnapshots;
  readonly #running = new Set<Promise<unknown>>();
  readonly #maintaining = new Set<Promise<unknown>>();
  #collecting = 0;
  #closing: Promise<void> | undefined;

  private constructor(context: StoreContext) {
    this.#context = context;
    this.#opened = new OpenSnapshots(context);
  }

  /** Opens a store over `blobs`. Nothing is put before the first snapshot; the cache directory is made when it is missing. */
  static async open(blobs: Blobs, options: WorkspaceStoreOptions = {}): Promise<WorkspaceStore> {
    const compression = options.compression ?? 'gzip';
    if (!['none', 'gzip', 'zstd', 'brotli'].includes(compression) || !canCompress(compression)) {
      throw new TypeError(`compression: ${JSON.stringify(compression)} cannot be written by this runtime`);
    }
    return new WorkspaceStore(await openContext(blobs, { ...options, compression }));
  }

  /**
   * Captures the directory `root` and commits it. Point of no return: the commit's slot in the writer's log; an abort
   * before it leaves at most unreferenced archives.
   * @throws NotDirectoryError, UnreadableError, ArchiveLimitError, TreeChangedError or PersistencePathError for what is
   * wrong with the tree; SnapshotError with a cause for everything else.
   */
  async snapshot(root: string, options: SnapshotOptions = {}): Promise<SnapshotResult> {
    return await this.#run(options, () => takeSnapshot(this.#context, root, options));
  }

  /**
   * Reads `root` as a snapshot with the same options would, and stores nothing.
   * @throws The errors of `snapshot`.
   */
  async scan(root: string, options: ScanOptions = {}): Promise<LiveTree> {
    return await this.#run(options, () => scanLive(this.#context, root, options));
  }

  /**
   * Reads `root` beside the snapshot `ref`, with its ignore rules after those that are given. Costs the look at every
   * live entry and, in the store, what differs. Equal directories are known by their keys: damage below them, which a
   * comparison cannot meet, is found by `openTree` and `verify`.
   * @throws The errors of `snapshot` and `openTree`.
   */
  async compare(root: string, ref: Ref, options: Omit<ScanOptions, 'target'> = {}): Promise<ComparedTrees> {
    const checked = parseRef(ref);
    return await this.#run(options, async () => {
      const table = await this.#opened.reopen(checked, options);
      return await compareLive(this.#context, checked, table, root, options);
    });
  }

  /**
   * Notes that the event which names a hold is durable. Recorded with the next commit or at close; until then the
   * commit is kept whatever collectors think of it.
   */
  release(hold: string): void {
    this.#context.log.release(hold);
  }

  /**
   * Reads and verifies a whole tree; with `directories` only what is directly in the root and in those directories.
   * @throws RefNotFoundError, CollectedError or IntegrityError, each before anything could have been done with the tree.
   * @throws ArchiveLimitError when it is larger than this store's limits.
   */
  async openTree(
    ref: Ref,
    options: SignalOptions & { readonly directories?: readonly Uint8Array[] | undefined } = {},
  ): Promise<Tree> {
    const checked = parseRef(ref);
    return await this.#run(options, async () => {
      const table = await this.#opened.reopen(checked, options);
      return await readTree(this.#context.reader, table, checked, this.#context.limits, options);
    });
  }

  /**
   * Fetches the content of file entries of trees that this store has opened, in the order in which it is stored. Sinks
   * are called one after another.
   * @throws IntegrityError when an entry's content is damaged or missing; its sink's stream fails or never starts.
   */
  async fetch(entries: readonly TreeEntry[], sink: ContentSink, options: SignalOptions = {}): Promise<void> {
    await this.#run(options, async () => {
      const files = entries.map((entry) => this.#opened.wanted(entry));
      const receiver = {
        whole: async (entry: TreeEntry, bytes: Uint8Array) => {
          await sink(entry, once(bytes.slice()));
        },
        pieces: sink,
      };
      await fetchContents(this.#context.reader, files, receiver, {
        ...options,
        engine: this.#context.engine,
      });
    });
  }

  /**
   * Builds the tree of `ref` at `dest`, which must be missing, an empty directory, or equal to the tree already. The
   * tree is built in a sibling directory, synced, and appears at `dest` in one step, which is the point of no return.
   * @throws DestNotEmptyError when `dest` holds something else; it is left as it is.
   * @throws MaterializeError with a cause when building fails; nothing is left behind.
   */
  async materialize(ref: Ref, dest: string, options: MaterializeOptions = {}): Promise<Materialized> {
    const checked = parseRef(ref);
    return await this.#run(options, () =>
      materializeTree(this.#context, checked, () => this.#opened.reopen(checked, options), dest, options),
    );
  }

  /**
   * Lists everything below `path` (path text; the whole tree by default) in canonical order.
   * @throws EntryNotFoundError when there is nothing at the path.
   */
  async list(ref: Ref, path = '', options: SignalOptions = {}): Promise<readonly ListRow[]> {
    return await this.#look(ref, options, async (table, checked) => {
      const rows: ListRow[] = [];
      for await (const entry of this.#rows(table, checked, options).below(path)) rows.push(toListRow(entry));
      return rows;
    });
  }

  /**
   * Describes one entry.
   * @throws EntryNotFoundError when there is nothing at the path.
   */
  async stat(ref: Ref, path: string, options: SignalOptions = {}): Promise<TreeEntry> {
    return await this.#look(ref, options, async (table, checked) => {
      const entry = await this.#rows(table, checked, options).find(path, 'entry');
      if (entry === undefined) throw new EntryNotFoundError(checked, path, 'entry');
      return entry;
    });
  }

  /**
   * Opens one file for reading. The bytes are verified as they come.
   * @throws EntryNotFoundError when there is no file at the path.
   */
  async read(ref: Ref, path: string, options: SignalOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    return await this.#look(ref, options, async (table, checked) => {
      const entry = await this.#rows(table, checked, options).find(path, 'file');
      if (entry === undefined) throw new EntryNotFoundError(checked, path, 'file');
      if (entry.size === 0) return once(new Uint8Array(0));
      return this.#context.reader.read(table, 'file', keyBytes(contentOf(entry)), {
        ref: checked,
        path,
        ...options,
      });
    });
  }

  /** Tells how the tree of `after` differs from that of `before`, on request line by line. Costs what differs. */
  async diff(before: Ref, after: Ref, options: DiffOptions = {}): Promise<TreeDiff> {
    const second = parseRef(after);
    return await this.#look(before, options, async (table, first) => {
      const other = await this.#opened.get(second, options);
      return await diffSnapshots(
        this.#context.reader,
        { ref: first, table },
        { ref: second, table: other },
        options,
      );
    });
  }

  /**
   * Tells how the live directory `root` differs from the tree of `ref`, whose ignore rules apply unless others are given.
   * @throws The errors of `snapshot` and `openTree`.
   */
  async diffLive(root: string, ref: Ref, options: DiffOptions & CaptureOptions = {}): Promise<TreeDiff> {
    const tree = await this.openTree(ref, options);
    const live = await this.scan(root, { ...options, target: tree });
    return await this.#look(ref, options, (table) =>
      diffLiveTree(this.#context, { tree, table }, { root, live }, options),
    );
  }

  /**
   * Copies a snapshot into another store, verified on the way; the ref is the same there. Point of no return: the commit
   * in the other store.
   */
  async copy(ref: Ref, target: WorkspaceStore, options: CopyOptions = {}): Promise<CopyResult> {
    const checked = parseRef(ref);
    return await this.#run(options, async () => {
      const snapshot = await openSnapshot(this.#context, checked, options);
      const { copySnapshot } = await import('./internal/copy.js');
      return await target.#run(options, () =>
        copySnapshot(this.#context, snapshot, target.#context, checked, options),
      );
    });
  }

  /**
   * Verifies one snapshot, or everything in the store. Damage is reported, not thrown.
   */
  async verify(subject: VerifySubject, options: VerifyOptions = {}): Promise<VerifyReport> {
    const checked = subject === 'all' ? subject : parseRef(subject);
    return await this.#run(options, async () => {
      const { verifyStore } = await import('./internal/verify.js');
      return await verifyStore(this.#context, checked, options);
    });
  }

  /**
   * Deletes what no live ref, no unreleased commit and no running writer needs. Safe beside snapshots, restores and other
   * collections in any process. Point of no return: its decision is durable; an abort before that deletes nothing.
   * @throws CollectError naming the step; nothing was deleted unless the step is `delete`.
   */
  async collect(options: CollectOptions): Promise<CollectReport> {
    return await this.#run(options, async () => {
      this.#collecting += 1;
      try {
        const { collectGarbage } = await import('./internal/collect.js');
        await Promise.allSettled(this.#maintaining);
        throwIfAborted(options.signal);
        return await collectGarbage(this.#context, options);
      } finally {
        this.#collecting -= 1;
      }
    });
  }

  /**
   * Merges small archives of the roots that this store has captured, and leaves dead ones behind. Meant to run after a ref
   * was returned, in the background; safe beside everything else. While this store collects it does nothing, because a
   * collection would only make it do its work again. An abort leaves at most unreferenced archives.
   */
  async maintain(options: MaintainOptions = {}): Promise<MaintainReport> {
    return await this.#run(options, async () => {
      if (this.#collecting > 0) return nothingMaintained;
      const maintaining = maintainStore(this.#context, options);
      this.#maintaining.add(maintaining);
      try {
        return await maintaining;
      } finally {
        this.#maintaining.delete(maintaining);
      }
    });
  }

  /** Tells which records keep a snapshot in the store. */
  async explain(ref: Ref, options: SignalOptions = {}): Promise<Explanation> {
    const checked = parseRef(ref);
    return await this.#run(options, () => explainRef(this.#context, checked, options));
  }

  /**
   * Ends the log of a writer that will never come back and gives up the commits that it still holds. Returns the number
   * of slots deleted.
   */
  async forgetWriter(writer: string, options: SignalOptions = {}): Promise<number> {
    if (!/^[0-9a-f]{32}$/.test(writer)) throw new TypeError('writer: expected 32 hex digits');
    const collection = randomHex(this.#context.random, 16);
    return await this.#run(options, () => forgetWriter(this.#context.blobs, writer, collection, options));
  }

  /**
   * Stores what a plain tar stream describes as a snapshot. A stream that is hostile, damaged or ambiguous is refused as a
   * whole. Point of no return: the commit.
   * @throws ArchiveEntryError or ArchiveLimitError naming the entry.
   */
  async importTar(stream: AsyncIterable<Uint8Array>, options: ImportOptions = {}): Promise<SnapshotResult> {
    return await this.#run(options, async () => {
      const { importTar } = await import('./internal/tar/import-tar.js');
      return await importTar(this.#context, stream, options);
    });
  }

  /**
   * Writes the tree of `ref` as a plain tar stream; the same tree gives the same bytes. Omissions, ignore rules and the mode
   * of the root are not part of it.
   * @throws ArchiveEntryError when a name is not UTF-8.
   */
  async exportTar(ref: Ref, options: SignalOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    const tree = await this.openTree(ref, options);
    return await this.#look(ref, options, async (table) => {
      const { exportTar } = await import('./internal/tar/export-tar.js');
      return exportTar(this.#context.reader, tree, table, options);
    });
  }

  /** Tells whether the store has a record of the ref. */
  async has(ref: Ref, options: SignalOptions = {}): Promise<boolean> {
    const checked = parseRef(ref);
    return await this.#run(options, () => this.#context.records.has(checked, options));
  }

  /**
   * Finds the ref that a text stands for: a whole ref, or a unique prefix of its digits (8 or more), with or without
   * `v1:sha256:` in front.
   * @throws InvalidRefError, RefNotFoundError or AmbiguousRefError.
   */
  async resolve(text: string, options: SignalOptions = {}): Promise<Ref> {
    return await this.#run(options, () => resolveRef(this.#context.blobs, text, options));
  }

  /** Canonical local directories that the store writes to. Works on a closed store too. */
  storagePaths(): readonly string[] {
    return this.#context.storagePaths;
  }

  /** Waits for what is running and ends the writer's log. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#running);
    const closing = new DisposalStack();
    closing.defer(() => this.#context.engine.close());
    closing.defer(() => this.#context.cache?.close());
    closing.defer(() => this.#context.roots.close());
    closing.defer(() => this.#context.log.close({}));
    await closing.close();
  }

  async #run<T>(options: SignalOptions, operation: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new WorkspaceClosedError();
    throwIfAborted(options.signal);
    const running = operation();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Runs `use` with a snapshot that may have been opened before. */
  async #look<T>(
    ref: Ref,
    options: SignalOptions,
    use: (table: ObjectTable, ref: Ref) => Promise<T>,
  ): Promise<T> {
    const checked = parseRef(ref);
    return await this.#run(options, () =>
      this.#opened.look(checked, options, (table) => use(table, checked)),
    );
  }

  #rows(table: ObjectTable, ref: Ref, options: SignalOptions): TreeRows {
    return new TreeRows(this.#context.reader, table, ref, options);
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}
