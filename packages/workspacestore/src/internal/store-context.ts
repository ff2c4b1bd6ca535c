import type { Clock, Random } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import type { Dir, FileSystem, WholeSync } from '@holdfast/durable';

import type { Limits } from '../limits.js';
import type { Ref } from '../ref.js';
import type { Builder } from '../workspace-store-options.js';
import type { ArchiveStore } from './archive-store.js';
import type { CacheDirectory } from './cache-directory.js';
import type { EnginePool } from './engine/engine-pool.js';
import type { Compression } from './frame-codec.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import type { CommitRecord } from './record.js';
import type { RecordStore } from './record-store.js';
import type { RootStates } from './root-state.js';
import type { WriterLog } from './writer-log.js';

/** What every operation of an open store shares. */
export interface StoreContext {
  readonly blobs: Blobs;
  readonly fileSystem: FileSystem;
  /** What makes the whole file system that holds a directory durable; `undefined` where nothing does. */
  readonly wholeSyncOf: (dir: Dir) => WholeSync | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: Random;
  readonly compression: Compression;
  readonly archives: ArchiveStore;
  readonly records: RecordStore;
  readonly reader: ObjectReader;
  readonly log: WriterLog;
  readonly engine: EnginePool;
  readonly roots: RootStates;
  readonly cache: CacheDirectory | undefined;
  readonly builder: Builder | undefined;
  /** Canonical local directories that the store writes to. */
  readonly storagePaths: readonly string[];
}

/** A snapshot with everything it takes to read it. */
export interface OpenSnapshot {
  readonly record: CommitRecord;
  readonly table: ObjectTable;
}

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens any record of a ref whose archives are all there. Its table finds them again when they move later.
 * @throws RefNotFoundError, CollectedError or IntegrityError.
 */
export async function openSnapshot(context: StoreContext, ref: Ref, options: Options): Promise<OpenSnapshot> {
  return await context.records.useAny(ref, options, async (record) => {
    const table = await context.archives.openClosure(ref, record.archives, options);
    table.renewBy(async (now) => (await openSnapshot(context, ref, now)).table.archives);
    return { record, table };
  });
}
