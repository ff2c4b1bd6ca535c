import { type Clock, Pacer, type Random, throwIfAborted } from '@holdfast/base';
import { type Dir, type File, publishFile, removeDurably } from '@holdfast/durable';

import type {
  BlobContent,
  BlobEntry,
  BlobInfo,
  BlobsDriver,
  BlobsSupports,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from '../driver.js';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobNotFoundError,
  BlobRangeError,
  BlobsClosedError,
  type BlobsOperation,
} from '../errors.js';
import { readChunks, sameContent } from './file-content.js';
import { isForeign } from './foreign.js';
import { fsFailure, isMissing } from './fs-failure.js';
import { placeObject } from './layout.js';
import { listObjects } from './list-objects.js';
import { ObjectDirectories, type OpenedPath, pathAttempts } from './object-directories.js';
import { type SweepResult, sweepObjects } from './sweep-objects.js';

/** What `openFsBlobs` has prepared for a driver, which owns it from then on. */
export interface FsBlobsParts {
  /** The open directory `objects`. */
  readonly objects: Dir;
  /** Canonical path of the store's directory. */
  readonly path: string;
  readonly durable: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly temporaryAgeMilliseconds: number;
  readonly listWindow: number;
}

export interface FsSweepOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Objects as files of one directory. Several processes of one or more hosts may use it at once. */
export class FsBlobsDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsSupports;
  readonly #parts: FsBlobsParts;
  readonly #directories: ObjectDirectories;
  #closed = false;

  /** Takes over the parts. Use `openFsBlobsDriver`, which makes them. */
  constructor(parts: FsBlobsParts) {
    this.#parts = parts;
    this.#directories = new ObjectDirectories(parts.objects);
    this.supports = Object.freeze({ visibility: 'strong', durable: parts.durable });
  }

  storagePaths(): readonly string[] {
    return [this.#parts.path];
  }

  async put(
    key: string,
    source: ReopenableSource,
    options: DriverOptions,
  ): Promise<{ readonly created: boolean }> {
    return await this.#run('put', key, async () => {
      const { directories, file } = placeObject(key);
      for (let attempt = 1; ; attempt += 1) {
        try {
          using path = this.#directories.open(key, directories, options.signal);
          return await this.#putInto(path, file, key, source, options.signal);
        } catch (error) {
          // A sweep removed an empty directory, or this put's temporary file, under our feet: nothing became visible.
          if (!isMissing(error) || attempt === pathAttempts) throw error;
          this.#directories.assertRootThere();
        }
      }
    });
  }

  // 1. If the name is taken: compare, and make it and the path to it durable.
  // 2. Write a temporary file beside it, sync it and the path, link it to its name unless taken, sync the directory.
  // 3. If somebody else was faster: compare with theirs, which step 2 has made durable.
  async #putInto(
    path: OpenedPath,
    file: string,
    key: string,
    source: ReopenableSource,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly created: boolean }> {
    const { dir, parents } = path;
    const present = openObject(dir, file, key);
    if (present !== undefined) {
      await compare(present, key, source, signal);
      await syncTogether([dir, ...parents]);
      path.synced();
      return { created: false };
    }
    const { random } = this.#parts;
    const how = { mode: 0o600, exclusive: true, alsoSync: parents, signal, random };
    const published = await publishFile(dir, file, source, how);
    path.synced();
    if (published.created) return { created: true };
    const winner = openObject(dir, file, key);
    // Deleted again meanwhile: as if this put had come after the other put and before the delete.
    if (winner !== undefined) await compare(winner, key, source, signal);
    return { created: false };
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    return await this.#run('get', key, async () => {
      throwIfAborted(options.signal);
      const file = this.#openAt(key);
      if (file === undefined) throw new BlobNotFoundError(key);
      try {
        const { size } = await Promise.resolve(file.stat());
        const range = options.range ?? { start: 0, end: size };
        if (range.end > size) throw new BlobRangeError(key, range, size);
        return {
          size,
          chunks: readChunks(file, range, options.signal),
          close: async () => {
            await Promise.resolve(file.close());
          },
        };
      } catch (error) {
        file.close();
        throw error;
      }
    });
  }

  async stat(key: string, options: DriverOptions): Promise<BlobInfo | undefined> {
    return await this.#run('stat', key, async () => {
      throwIfAborted(options.signal);
      const { directories, file } = placeObject(key);
      using dir = this.#directories.find(key, directories);
      const found = await Promise.resolve(dir?.lstat(file));
      if (found === undefined) return this.#directories.absent();
      if (found.kind !== 'file') throw foreignObject(key, found.kind);
      return { size: found.size, modified: milliseconds(found.mtimeNs) };
    });
  }

  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    this.#assertOpen();
    const { objects, listWindow } = this.#parts;
    try {
      yield* listObjects(objects, prefix, {
        window: listWindow,
        pacer: new Pacer(),
        signal: options.signal,
      });
      // A root that disappears looks empty: that is not the end of a list.
      this.#directories.assertRootThere();
    } catch (error) {
      throw fsFailure(error, 'list', prefix);
    }
  }

  async delete(key: string, options: DriverOptions): Promise<void> {
    await this.#run('delete', key, async () => {
      throwIfAborted(options.signal);
      const { directories, file } = placeObject(key);
      using dir = this.#directories.find(key, directories);
      if (dir !== undefined) await removeDurably(dir, file, { signal: options.signal });
    });
  }

  /**
   * Removes temporary files that have not changed for the configured age, whose writers are taken for dead, and empty
   * directories of the same age. Objects are never touched. Opening a store does this once per such age.
   */
  async sweep(options: FsSweepOptions = {}): Promise<SweepResult> {
    return await this.#run('open', undefined, async () => {
      const { objects, clock, temporaryAgeMilliseconds } = this.#parts;
      const plan = { clock, olderThan: temporaryAgeMilliseconds, signal: options.signal };
      return await sweepObjects(objects, { ...plan, pacer: new Pacer() });
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.resolve(this.#parts.objects.close());
  }

  #openAt(key: string): File | undefined {
    const { directories, file } = placeObject(key);
    using dir = this.#directories.find(key, directories);
    const opened = dir === undefined ? undefined : openObject(dir, file, key);
    return opened ?? this.#directories.absent();
  }

  async #run<T>(operation: BlobsOperation, key: string | undefined, work: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    try {
      return await work();
    } catch (error) {
      throw fsFailure(error, operation, key);
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new BlobsClosedError();
  }
}

/** Waits for all, also after a failure: nothing may still run when the directories are closed. */
async function syncTogether(dirs: readonly Dir[]): Promise<void> {
  const outcomes = await Promise.allSettled(dirs.map((dir) => dir.syncLater()));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Opens an object's file; `undefined` when the name does not exist. */
function openObject(dir: Dir, name: string, key: string): File | undefined {
  let file: File;
  try {
    file = dir.openFile(name);
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (isForeign(error)) throw foreignObject(key, 'symlink or socket', error);
    throw error;
  }
  const { kind } = file.stat();
  if (kind === 'file') return file;
  file.close();
  throw foreignObject(key, kind);
}

/** Reads both to the end or the first difference. Closes the file. */
async function compare(
  file: File,
  key: string,
  source: ReopenableSource,
  signal: AbortSignal | undefined,
): Promise<void> {
  using present = file;
  if (!(await sameContent(present, source, signal))) throw new BlobConflictError(key);
}

function foreignObject(key: string, kind: string, cause?: unknown): BlobIntegrityError {
  return new BlobIntegrityError(key, 'foreign', `a ${kind} stands where its file should be`, { cause });
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
