import { resolve } from 'node:path';

import {
  type Clock,
  decodePathText,
  encodePathText,
  equalBytes,
  type Random,
  systemClock,
  systemRandom,
  throwIfAborted,
} from '@holdfast/base';
import {
  type Dir,
  ensureChildDirectory,
  ensureDirectory,
  type FileSystem,
  nodeFileSystem,
  publishFile,
  readFile,
  replaceFile,
} from '@holdfast/durable';

import { Blobs } from '../blobs.js';
import { BlobsBackendError, BlobsUnsupportedError, isBlobsError } from '../errors.js';
import { FsBlobsDriver } from './fs-blobs-driver.js';
import { fsFailure } from './fs-failure.js';
import { unsyncedFileSystem } from './unsynced-file-system.js';

export interface FsBlobsOptions {
  /** Default: the real disk. */
  readonly fileSystem?: FileSystem | undefined;
  /** Decides the age of what dead writers left. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Makes temporary names. Default: the system's. */
  readonly random?: Random | undefined;
  /** `false`: nothing is synced; for caches and scratch. Default `true`. */
  readonly durable?: boolean | undefined;
  /** Age in milliseconds from which an untouched temporary file is a dead writer's. Default 86,400,000, one day. */
  readonly temporaryAgeMilliseconds?: number | undefined;
  /** Most names that a list keeps in memory per level of the keys. Default 65,536. */
  readonly listWindow?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const formatName = 'format';
const format = 'holdfast blobs fs 1\n';
const sweptName = 'swept';
const day = 86_400_000;

/**
 * Opens a store of objects in a directory, which is made if it is missing, readable by its owner only. Any number of
 * processes may use the directory at once.
 *
 * @throws BlobsUnsupportedError when the directory holds another version of the format.
 * @throws BlobsBackendError when the directory cannot be opened or made.
 */
export async function openFsBlobs(directory: string, options: FsBlobsOptions = {}): Promise<Blobs> {
  return new Blobs(await openFsBlobsDriver(directory, options));
}

/** Opens the driver alone, for composition with layers of one's own. */
export async function openFsBlobsDriver(
  directory: string,
  options: FsBlobsOptions = {},
): Promise<FsBlobsDriver> {
  throwIfAborted(options.signal);
  const path = decodePathText(resolve(directory));
  try {
    return await open(path, options);
  } catch (error) {
    if (isBlobsError(error) || error === options.signal?.reason) throw error;
    const failure = fsFailure(error, 'open', undefined);
    throw isBlobsError(failure) ? failure : new BlobsBackendError('open', undefined, { cause: error });
  }
}

// 1. Make and open the directory, durably. 2. Refuse a format that is not ours; state ours in a new directory.
// 3. Make and open `objects`. 4. Sweep, when nobody has for the age of a dead writer.
async function open(path: Uint8Array, options: FsBlobsOptions): Promise<FsBlobsDriver> {
  const { signal, clock = systemClock, random = systemRandom, durable = true } = options;
  const real = options.fileSystem ?? nodeFileSystem();
  const fileSystem = durable ? real : unsyncedFileSystem(real);
  using root = await ensureDirectory(fileSystem, path, { mode: 0o700, signal });
  await settleFormat(root, random, signal);
  const objects = await ensureChildDirectory(root, 'objects', { mode: 0o700, signal });
  const temporaryAgeMilliseconds = options.temporaryAgeMilliseconds ?? day;
  const driver = new FsBlobsDriver({
    objects,
    path: encodePathText(fileSystem.canonicalPath(path)),
    durable,
    clock,
    random,
    temporaryAgeMilliseconds,
    listWindow: options.listWindow ?? 65_536,
  });
  try {
    if ((objects.stat().mode & 0o077) !== 0) objects.chmod(0o700);
    if (isSweepDue(root, clock, temporaryAgeMilliseconds)) await sweepAndMark(root, driver, options);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

async function settleFormat(root: Dir, random: Random, signal: AbortSignal | undefined): Promise<void> {
  const wanted = new TextEncoder().encode(format);
  const found =
    readFile(root, formatName, { maxBytes: 4096 }) ??
    ((await publishFile(root, formatName, wanted, { random, signal })).created
      ? wanted
      : readFile(root, formatName, { maxBytes: 4096 }));
  if (found === undefined || !equalBytes(found, wanted)) {
    throw new BlobsUnsupportedError(format.trim(), new TextDecoder().decode(found).trim().slice(0, 100));
  }
}

/** A store must open on a disk that is full or read-only: what fails here is tried again at the next opening. */
async function sweepAndMark(root: Dir, driver: FsBlobsDriver, options: FsBlobsOptions): Promise<void> {
  const { signal, clock = systemClock, random = systemRandom } = options;
  try {
    await driver.sweep({ signal });
    await replaceFile(root, sweptName, new TextEncoder().encode(`${clock.now()}\n`), { random });
  } catch {
    throwIfAborted(signal);
  }
}

/** A mark from the future, or one that is no number, is no reason to wait. */
function isSweepDue(root: Dir, clock: Clock, age: number): boolean {
  const mark = readFile(root, sweptName, { maxBytes: 4096 });
  if (mark === undefined) return true;
  const elapsed = clock.now() - Number(new TextDecoder().decode(mark));
  return !(elapsed >= 0 && elapsed < age);
}
