import { type Clock, type Random, systemClock, systemRandom } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import { type Dir, diskSync, type FileSystem, nodeFileSystem, type WholeSync } from '@holdfast/durable';

import { CollectedError, IntegrityError } from '../errors.js';
import { completeLimits, defaultLimits, type Limits } from '../limits.js';
import type { Builder } from '../workspace-store-options.js';
import { ArchiveStore } from './archive-store.js';
import { CacheDirectory } from './cache-directory.js';
import { EnginePool } from './engine/engine-pool.js';
import type { Compression } from './frame-codec.js';
import { ObjectReader } from './object-reader.js';
import type { WriterSession } from './record.js';
import { RecordStore } from './record-store.js';
import { RootStates } from './root-state.js';
import type { StoreContext } from './store-context.js';
import { readStoreIdentity } from './store-identity.js';
import { WriterLog } from './writer-log.js';

interface ContextOptions {
  readonly limits?: Partial<Limits> | undefined;
  readonly cacheDirectory?: string | undefined;
  readonly compression: Compression;
  readonly fileSystem?: FileSystem | undefined;
  readonly wholeSync?: WholeSync | false | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly session?: WriterSession | undefined;
  readonly threads?: boolean | undefined;
  readonly builder?: Builder | undefined;
}

/** Puts together what the operations of a store share. */
export async function openContext(blobs: Blobs, options: ContextOptions): Promise<StoreContext> {
  const fileSystem = options.fileSystem ?? nodeFileSystem();
  const limits = completeLimits(options.limits, defaultLimits);
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const cache =
    options.cacheDirectory === undefined
      ? undefined
      : await CacheDirectory.open(fileSystem, options.cacheDirectory, random);
  // A cache of tails beside archives on the same disk would be a copy for nothing.
  const archives = new ArchiveStore(blobs, blobs.storagePaths().length === 0 ? cache : undefined);
  let identity: Promise<string | undefined> | undefined;
  const roots = new RootStates(
    cache,
    clock,
    () => (identity ??= readStoreIdentity(blobs, random)),
    async (saved) => {
      try {
        return await archives.openClosure(saved.ref, saved.archives, {});
      } catch (error) {
        if (CollectedError.is(error) || IntegrityError.is(error)) return undefined;
        throw error;
      }
    },
  );
  return {
    blobs,
    fileSystem,
    wholeSyncOf: (dir) => chooseWholeSync(options, dir),
    limits,
    clock,
    random,
    compression: options.compression,
    archives,
    records: new RecordStore(blobs),
    reader: new ObjectReader(blobs),
    log: new WriterLog(blobs, random, options.session),
    engine: new EnginePool(options.threads !== false && options.fileSystem === undefined),
    roots,
    cache,
    builder: options.builder,
    storagePaths: [...blobs.storagePaths(), ...(cache === undefined ? [] : [cache.path])],
  };
}

function chooseWholeSync(options: ContextOptions, dir: Dir): WholeSync | undefined {
  if (options.wholeSync !== undefined) return options.wholeSync === false ? undefined : options.wholeSync;
  return options.fileSystem === undefined ? diskSync(dir) : undefined;
}
