import type { Clock } from '@holdfast/base';
import {
  type Dir,
  ensureChildDirectory,
  FileSystemError,
  removeTree,
  sweepTemporaries,
} from '@holdfast/durable';

import {
  ensureScratch,
  insideScratchName,
  isOwnDirectory,
  openOwnScratch,
  type RootPlace,
  siblingScratchName,
} from '../scratch.js';
import type { ScratchPlacement } from '../strategy.js';
import { intentName } from './intent-log.js';

/** The directory of one restore inside a session's scratch. */
const workName = 'work';
/** The record of who opened the root last, inside a session's scratch. */
export const ownerName = 'owner';
/** Kept free inside scratch for whatever the host lock needs. */
export const lockName = 'lock';

const sessionGrammar = /^[a-z0-9-]{1,64}$/;
const quarantineGrammar = /^quarantine-\d+$/;

function isSessionName(name: string): boolean {
  return sessionGrammar.test(name) && !quarantineGrammar.test(name) && name !== lockName;
}

/** Checks a name for a session's scratch. @throws TypeError when it cannot be one. */
export function checkSession(session: string): string {
  if (!isSessionName(session)) {
    throw new TypeError(`session ${JSON.stringify(session)}: expected 1 to 64 characters of [a-z0-9-]`);
  }
  return session;
}

/** A root's scratch directory, open. */
export class ScratchDirectory implements Disposable {
  readonly placement: ScratchPlacement;
  readonly dir: Dir;
  readonly #holder: Dir;
  readonly #name: Uint8Array;

  private constructor(place: RootPlace, placement: ScratchPlacement, dir: Dir) {
    const inside = placement === 'inside';
    this.placement = placement;
    this.dir = dir;
    this.#holder = (inside ? place.presentRoot : place.parent).retain();
    this.#name = inside ? Buffer.from(insideScratchName) : siblingScratchName(place.name);
  }

  /**
   * `undefined` when there is none. What has the name and is not a private directory of this user was made by somebody
   * else: it is not ours to look into, let alone to clean.
   */
  static open(place: RootPlace, placement: ScratchPlacement): ScratchDirectory | undefined {
    const dir = openOwnScratch(place, placement);
    return dir === undefined ? undefined : new ScratchDirectory(place, placement, dir);
  }

  /** Makes it when there is none; `syncNames` makes that durable. @throws ScratchUnavailableError */
  static async ensure(place: RootPlace, placement: ScratchPlacement): Promise<ScratchDirectory> {
    return new ScratchDirectory(place, placement, await ensureScratch(place, placement));
  }

  /** The sessions that have a directory here, in order: private directories of this user, as ours always are. */
  sessions(): readonly string[] {
    return this.dir
      .list()
      .map((name) => Buffer.from(name).toString('latin1'))
      .filter((name) => isSessionName(name) && isOwnDirectory(this.dir.lstat(name)))
      .sort();
  }

  openSession(name: string): SessionScratch {
    return new SessionScratch(name, this.dir, this.dir.openDir(name));
  }

  /** For whoever looks without the root's lock: `undefined` when somebody has swept it away since it was listed. */
  findSession(name: string): SessionScratch | undefined {
    try {
      return this.openSession(name);
    } catch (error) {
      if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
      throw error;
    }
  }

  async ensureSession(name: string): Promise<SessionScratch> {
    const dir = await ensureChildDirectory(this.dir, name, { mode: 0o700, sync: false });
    return new SessionScratch(name, this.dir, dir);
  }

  /**
   * Makes the names of the scratch and of what is directly in it durable, also those that somebody else made: who did may
   * have died before this step.
   */
  async syncNames(): Promise<void> {
    const outcomes = await Promise.allSettled([this.#holder.syncLater(), this.dir.syncLater()]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** Moves what cannot be read aside. Returns its new name. */
  async quarantine(name: string): Promise<string> {
    let number = 1;
    while (this.dir.lstat(`quarantine-${number}`) !== undefined) number += 1;
    this.dir.rename(name, this.dir, `quarantine-${number}`);
    await this.dir.syncLater();
    return `quarantine-${number}`;
  }

  /**
   * Removes a session's directory, then the scratch itself, as far as nothing is left in them. Not synced: an empty
   * directory that comes back after a crash means nothing and is removed by the next sweep.
   */
  removeIfEmpty(session?: string): void {
    if (session !== undefined) removeIfEmpty(this.dir, Buffer.from(session));
    removeIfEmpty(this.#holder, this.#name);
  }

  close(): void {
    this.dir.close();
    this.#holder.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** One session's directory in a root's scratch, open. */
export class SessionScratch implements Disposable {
  readonly name: string;
  readonly #scratch: Dir;
  #dir: Dir;

  constructor(name: string, scratch: Dir, dir: Dir) {
    this.name = name;
    this.#scratch = scratch;
    this.#dir = dir;
  }

  get dir(): Dir {
    return this.#dir;
  }

  /** Opens the directory anew: a handle whose sync failed takes no further change. */
  reopen(): void {
    const dir = this.#scratch.openDir(this.name);
    this.#dir.close();
    this.#dir = dir;
  }

  /**
   * Opens the directory of a restore, making it when it is missing. Its name is durable as soon as the intent is, which is
   * published in the same directory.
   */
  openWork(): Dir {
    try {
      this.dir.mkdir(workName, 0o700);
    } catch (error) {
      if (!FileSystemError.is(error) || error.errno !== 'EEXIST') throw error;
    }
    return this.dir.openDir(workName);
  }

  /** Removes staged content and undo copies. The outcome must be durable. What a crash brings back is left to a sweep. */
  async removeWork(restoreId: string): Promise<boolean> {
    if (this.dir.lstat(workName) === undefined) return false;
    return await removeTree(this.dir, workName, { operation: restoreId, sync: 'name' });
  }

  /** Removes a `work` directory that nothing was put into. */
  removeEmptyWork(): boolean {
    try {
      this.dir.rmdir(workName);
      return true;
    } catch (error) {
      if (FileSystemError.is(error) && ['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(error.errno))
        return false;
      throw error;
    }
  }

  /**
   * Removes the intent. The journal must have the terminal record. Not synced: an outcome that comes back after a crash
   * is still the right one.
   */
  removeIntent(): void {
    if (this.dir.lstat(intentName) !== undefined) this.dir.unlink(intentName);
  }

  /** Removes what interrupted writers left; `true` when anything was there. */
  async sweep(clock: Clock): Promise<boolean> {
    const { removed } = await sweepTemporaries(this.dir, { isLive: () => false, clock });
    return removed > 0;
  }

  /** Whether a restore has been at work here. */
  get hasTraces(): boolean {
    return [workName, ownerName, intentName].some((name) => this.dir.lstat(name) !== undefined);
  }

  /** Whether there is nothing but the record of the owner. */
  get isIdle(): boolean {
    return this.dir.list().every((name) => Buffer.from(name).toString('latin1') === ownerName);
  }

  close(): void {
    this.#dir.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function removeIfEmpty(parent: Dir, name: Uint8Array): void {
  try {
    parent.rmdir(name);
  } catch (error) {
    if (!FileSystemError.is(error) || !['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.errno)) throw error;
  }
}
