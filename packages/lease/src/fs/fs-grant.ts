import { type Clock, throwIfAborted } from '@holdfast/base';
import { type Dir, type File, FileSystemError } from '@holdfast/durable';

import type { LeaseGrant } from '../driver.js';
import { LeaseLostError, type LeaseLostKind } from '../errors.js';
import { type EpochDirectories, epochFileName, epochNumbers } from './epoch-directory.js';
import { heartbeatPatch, statePatch } from './epoch-file.js';

export interface FsGrantFacts {
  readonly name: string;
  readonly epoch: number;
  /** The epoch file of this grant; everything the holder writes goes through it. */
  readonly file: File;
  /** `undefined`: not renewed, ends only with the process. */
  readonly ttl: number | undefined;
}

/** How the holder's file stands in its directory. */
type Standing = 'newest' | 'overtaken' | 'gone';

/**
 * The holder's half of a lease in the file system.
 *
 * The heartbeat matters only to those who cannot see this process (other containers, other hosts): they may take over
 * after a whole time-to-live without one, and look at it once more after they have claimed the next number. The holder
 * writes the heartbeat and then looks for a higher number. So one of the two always sees the other, whatever the clocks.
 */
export class FsGrant implements LeaseGrant {
  readonly name: string;
  readonly epoch: number;
  readonly #clock: Clock;
  readonly #directories: EpochDirectories;
  readonly #file: File;
  readonly #ttl: number | undefined;
  readonly #lost = new AbortController();
  #beats = 0;
  #confirmed: number;
  #timer: Disposable | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #givenBack = false;

  constructor(clock: Clock, directories: EpochDirectories, facts: FsGrantFacts, claimedAt: number) {
    this.#clock = clock;
    this.#directories = directories;
    this.name = facts.name;
    this.epoch = facts.epoch;
    this.#file = facts.file;
    this.#ttl = facts.ttl;
    this.#confirmed = claimedAt;
    if (facts.ttl !== undefined) this.#renewAfter(facts.ttl / 3);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The file says `released`, or can say nothing any more. */
  get isGivenBack(): boolean {
    return this.#givenBack;
  }

  expiresIn(): number {
    if (this.#lost.signal.aborted || this.#givenBack) return 0;
    return this.#ttl === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(0, this.#fence() - this.#clock.monotonic());
  }

  async check(options: { readonly signal?: AbortSignal | undefined }): Promise<boolean> {
    await Promise.resolve();
    throwIfAborted(options.signal);
    if (this.#isOver()) return false;
    // The clock may have stood still while the machine slept, so the deadline is not asked: a heartbeat that comes before
    // the look shuts out whoever has waited for one.
    if (this.#ttl === undefined) this.#look();
    else this.#beat();
    return !this.#isOver();
  }

  async release(): Promise<void> {
    this.#stop();
    this.giveBack();
    // Nothing of this grant may still be under way when the caller goes on.
    await this.#syncing;
  }

  /** Ends the grant without being asked. What was not overtaken is given back, as far as the disk lets it. */
  lose(kind: LeaseLostKind, cause?: unknown): void {
    if (this.#isOver()) return;
    this.#stop();
    this.#lost.abort(new LeaseLostError(this.name, this.epoch, kind, { cause }));
    try {
      this.giveBack();
    } catch {
      // Tried again by `release`, by the next acquire of this leaser, and by its close.
    }
  }

  /**
   * Writes `released` into this grant's own file. Through the descriptor it can reach no other holder's file, even when
   * this one was deleted long ago.
   */
  giveBack(): void {
    if (this.#givenBack) return;
    const { bytes, position } = statePatch('released');
    try {
      this.#file.write(bytes, position);
    } catch (error) {
      // A failed sync makes the descriptor useless for ever, but not the file.
      if (!this.#giveBackByName()) throw error;
    }
    this.abandon();
  }

  /** Frees the descriptor; nothing can be written any more. */
  abandon(): void {
    this.#stop();
    this.#givenBack = true;
    this.#file.close();
  }

  #giveBackByName(): boolean {
    using dir = this.#directories.open(this.name);
    if (dir === undefined) return true;
    let file: File;
    try {
      file = dir.openFile(epochFileName(this.epoch), 'read-write');
    } catch (error) {
      if (FileSystemError.is(error) && error.errno === 'ENOENT') return true;
      throw error;
    }
    using mine = file;
    if (!isSameNode(mine, this.#file)) return true;
    const { bytes, position } = statePatch('released');
    mine.write(bytes, position);
    return true;
  }

  /** Half of the time that others wait is left as margin for clocks that run at different speeds. */
  #fence(): number {
    return this.#confirmed + ((this.#ttl ?? 0) * 2) / 3;
  }

  #renewAfter(milliseconds: number): void {
    this.#timer = this.#clock.schedule(milliseconds, () => {
      this.#renew();
    });
  }

  #renew(): void {
    const ttl = this.#ttl ?? 0;
    let failure: unknown;
    try {
      this.#beat();
    } catch (error) {
      failure = error;
    }
    if (this.#isOver()) return;
    const left = this.#fence() - this.#clock.monotonic();
    if (failure === undefined) this.#syncHeartbeat();
    if (failure !== undefined && left <= 0) this.lose('self-fenced', failure);
    else this.#renewAfter(failure === undefined ? ttl / 3 : Math.min(ttl / 12, left));
  }

  // 1. Note the time: everything is counted from before the write.
  // 2. Write the heartbeat. 3. Look for a higher number; never the other way round.
  #beat(): void {
    const started = this.#clock.monotonic();
    this.#beats += 1;
    const { bytes, position } = heartbeatPatch(this.#beats);
    this.#file.write(bytes, position);
    this.#look();
    if (!this.#isOver()) this.#confirmed = started;
  }

  /** For those who see this file through another kernel. A failure shows at the next write. */
  #syncHeartbeat(): void {
    this.#syncing = this.#file.syncLater('content').catch(() => undefined);
  }

  #look(): void {
    const standing = this.#standing();
    if (standing === 'overtaken') this.lose('taken-over');
    if (standing === 'gone') {
      const cause = new Error(
        `the epoch file of lease ${this.name} was removed: whoever comes next starts afresh`,
      );
      this.lose('self-fenced', cause);
    }
  }

  #standing(): Standing {
    let dir: Dir | undefined;
    try {
      dir = this.#directories.open(this.name);
    } catch (error) {
      if (FileSystemError.is(error) && error.errno === 'ENOENT') return 'gone';
      throw error;
    }
    if (dir === undefined) return 'gone';
    using present = dir;
    const newest = epochNumbers(present).at(-1) ?? 0;
    if (newest > this.epoch) return 'overtaken';
    const found = present.lstat(epochFileName(this.epoch));
    const own = this.#file.stat();
    return found?.ino === own.ino && found.dev === own.dev ? 'newest' : 'gone';
  }

  #isOver(): boolean {
    return this.#lost.signal.aborted || this.#givenBack;
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

function isSameNode(a: File, b: File): boolean {
  const [left, right] = [a.stat(), b.stat()];
  return left.ino === right.ino && left.dev === right.dev;
}
