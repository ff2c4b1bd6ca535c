import { type Clock, findCause, type Random, randomHex } from '@holdfast/base';
import { type Dir, type File, FileSystemError, StagedFile } from '@holdfast/durable';

import type { LeaseOwner } from '../driver.js';
import { claimOperation, epochFileName, epochNumbers } from './epoch-directory.js';
import { type EpochRecord, encodeEpochFile, statePatch } from './epoch-file.js';
import type { ProcessIdentity } from './process-identity.js';

export interface ClaimantOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly process: ProcessIdentity;
  /** Milliseconds; `null` when the holder does not renew. */
  readonly ttl: number | null;
}

export interface ClaimRequest {
  readonly name: string;
  readonly epoch: number;
  readonly owner: LeaseOwner;
  /**
   * The newest epoch that the claimant knows, 0 for none. Anything between it and the claim belongs to somebody who was
   * faster.
   */
  readonly predecessor: number;
  /** The predecessor may still be alive, so the claim counts only once it is confirmed. */
  readonly overtaking: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Claims numbers in the directory of a lease. */
export class Claimant {
  readonly #options: ClaimantOptions;

  constructor(options: ClaimantOptions) {
    this.#options = options;
  }

  /** `undefined`: somebody else was faster, and nothing is left of this attempt. A failure leaves nothing either. */
  async claim(dir: Dir, request: ClaimRequest): Promise<Claim | undefined> {
    const { epoch, signal } = request;
    if (!Number.isSafeInteger(epoch))
      throw new RangeError(`no epoch is left above ${Number.MAX_SAFE_INTEGER}`);
    const { random } = this.#options;
    using staged = StagedFile.create(dir, { operation: claimOperation(epoch), random });
    staged.append(encodeEpochFile(this.#record(request), request.overtaking ? 'claiming' : 'held'));
    const claim = new Claim(epoch, staged.file.retain(), request.overtaking);
    try {
      const { created } = await staged.publish(epochFileName(epoch), { signal });
      if (created && isUndisputed(dir, request)) return claim;
    } catch (error) {
      claim.withdraw(dir);
      if (signal?.aborted === true && error === signal.reason) throw error;
      // A later holder has deleted the temporary file: its number is taken.
      if (findCause(error, FileSystemError)?.errno === 'ENOENT') return undefined;
      throw error;
    }
    claim.withdraw(dir);
    return undefined;
  }

  #record(request: ClaimRequest): EpochRecord {
    const { name, epoch, owner } = request;
    const { clock, random, process, ttl } = this.#options;
    const acquired = new Date(clock.now()).toISOString();
    return { name, epoch, nonce: randomHex(random, 16), owner, process, ttl, acquired };
  }
}

/** A number that nobody else can have, with the open file that says so. Ends in a grant, or is taken back. */
export class Claim {
  readonly epoch: number;
  readonly file: File;
  #isUnconfirmed: boolean;

  constructor(epoch: number, file: File, isUnconfirmed: boolean) {
    this.epoch = epoch;
    this.file = file;
    this.#isUnconfirmed = isUnconfirmed;
  }

  /** The predecessor has shown no sign of life even after the claim, so from now on this is an ordinary holder. */
  confirm(): void {
    if (!this.#isUnconfirmed) return;
    const { bytes, position } = statePatch('held');
    this.file.write(bytes, position);
    this.#isUnconfirmed = false;
  }

  /**
   * Takes back a claim that never became a grant. Its number was never used and nothing below it was deleted, so this is
   * the one file that may be deleted although it is the newest: the predecessor, who may be alive, is the newest again.
   */
  withdraw(dir: Dir): void {
    try {
      const own = this.file.stat();
      const found = dir.lstat(epochFileName(this.epoch));
      if (found?.ino === own.ino && found.dev === own.dev) dir.unlink(epochFileName(this.epoch));
      this.file.close();
    } catch {
      this.release();
    }
  }

  /** Gives back a claim whose predecessor is gone for certain; an unconfirmed one keeps its warning. Never throws. */
  release(): void {
    try {
      if (this.#isUnconfirmed) return;
      const { bytes, position } = statePatch('released');
      this.file.write(bytes, position);
    } catch {
      // The disk refuses everything: the file names this process as its holder until this process ends.
    } finally {
      this.file.close();
    }
  }
}

// A number above the claim: this process slept through somebody's whole grant and linked a number that had been used
// and deleted. A number between: somebody overtook this process while it was raising its own epoch.
function isUndisputed(dir: Dir, request: ClaimRequest): boolean {
  const numbers = epochNumbers(dir).filter((number) => number > request.predecessor);
  return numbers.length === 1 && numbers[0] === request.epoch;
}
