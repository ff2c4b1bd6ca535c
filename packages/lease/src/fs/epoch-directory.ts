import { sha256Hex } from '@holdfast/base';
import {
  Dir,
  ensureChildDirectory,
  type FileSystem,
  FileSystemError,
  FileTooLargeError,
  NotAFileError,
  parseTemporaryName,
  readFile,
} from '@holdfast/durable';

import { decodeEpochFile, type EpochState, maxEpochFileBytes } from './epoch-file.js';

/** The newest epoch of one lease; `number` is 0 and there is no state when there was never a grant. */
export interface NewestEpoch {
  readonly number: number;
  readonly state?: EpochState | undefined;
}

const numberGrammar = /^\d{16}$/;
const temporaryGrammar = /^lease-(\d{1,16})$/;

/**
 * One directory per lease, named by the hash of the lease's name, with one file per epoch, named by its number. Every
 * call goes by path, never by a directory that was opened earlier: a directory that was replaced must be noticed.
 */
export class EpochDirectories {
  readonly path: string;
  readonly #fileSystem: FileSystem;

  constructor(fileSystem: FileSystem, path: string) {
    this.#fileSystem = fileSystem;
    this.path = path;
  }

  /** Absolute path of the directory of `name`, for hints only. */
  pathOf(name: string): string {
    return `${this.path}/${directoryName(name)}`;
  }

  /** Opens the directory of `name`; `undefined` when there is none. */
  open(name: string): Dir | undefined {
    using root = Dir.openRoot(this.#fileSystem, this.path);
    return openIfPresent(root, directoryName(name));
  }

  /** Opens the directory of `name`, making it durably when it is missing. */
  async ensure(name: string, signal: AbortSignal | undefined): Promise<Dir> {
    using root = Dir.openRoot(this.#fileSystem, this.path);
    return await ensureChildDirectory(root, directoryName(name), { mode: 0o700, signal });
  }
}

/** File name of an epoch. Fixed width, so that the order of names is the order of epochs. */
export function epochFileName(number: number): string {
  return String(number).padStart(16, '0');
}

/** What temporary files of a claim of `number` carry, so that later holders can tell that they are useless. */
export function claimOperation(number: number): string {
  return `lease-${number}`;
}

/**
 * Numbers of the epoch files, ascending. A handful of short names fits into one system call, which the kernel answers
 * while nobody can change the directory: the list is a state that really was.
 */
export function epochNumbers(dir: Dir): number[] {
  return dir
    .list()
    .map(epochNumber)
    .filter((number) => number > 0)
    .sort((a, b) => a - b);
}

/** Reads the newest epoch. Files that vanish meanwhile were below a newer one. */
export function readNewest(dir: Dir, name: string): NewestEpoch {
  for (;;) {
    const number = epochNumbers(dir).at(-1);
    if (number === undefined) return { number: 0 };
    const bytes = readEpochBytes(dir, number);
    if (bytes !== undefined) return { number, state: decodeEpochFile(bytes, name, number) };
  }
}

/** Reads one epoch; `undefined` when it is gone. */
export function readEpoch(dir: Dir, name: string, number: number): EpochState | undefined {
  const bytes = readEpochBytes(dir, number);
  return bytes === undefined ? undefined : decodeEpochFile(bytes, name, number);
}

/**
 * Deletes what is of no use once `newest` is granted: lower epochs in ascending order, and temporary files of claims of
 * numbers that are taken. Best effort and not synced: what comes back after a power loss is below the newest again.
 */
export function deleteOlder(dir: Dir, newest: number): void {
  const names = dir.list().map((name) => Buffer.from(name).toString('latin1'));
  for (const name of names.sort()) {
    const number = epochNumber(Buffer.from(name, 'latin1'));
    const isOld = number > 0 ? number < newest : isUselessClaim(name, newest);
    if (!isOld) continue;
    try {
      dir.unlink(name);
    } catch (error) {
      // Somebody else was faster, or it is nothing of ours.
      if (!FileSystemError.is(error)) throw error;
    }
  }
}

function isUselessClaim(name: string, newest: number): boolean {
  const operation = parseTemporaryName(Buffer.from(name, 'latin1'))?.operation;
  const claimed = temporaryGrammar.exec(operation ?? '')?.[1];
  return claimed !== undefined && Number(claimed) <= newest;
}

function readEpochBytes(dir: Dir, number: number): Uint8Array | undefined {
  try {
    return readFile(dir, epochFileName(number), { maxBytes: maxEpochFileBytes });
  } catch (error) {
    // Not a record of ours, so nothing is known about its holder: the same as damaged bytes.
    if (FileTooLargeError.is(error) || NotAFileError.is(error)) return new Uint8Array();
    throw error;
  }
}

function epochNumber(name: Uint8Array): number {
  const text = name.length === 16 ? String.fromCharCode(...name) : '';
  const number = numberGrammar.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(number) ? number : 0;
}

function directoryName(name: string): string {
  return sha256Hex(new TextEncoder().encode(name));
}

function openIfPresent(root: Dir, name: string): Dir | undefined {
  try {
    return root.openDir(name);
  } catch (error) {
    if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
    throw error;
  }
}
