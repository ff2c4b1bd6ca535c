import { type Clock, findCause, type Random, randomHex } from '@holdfast/base';
import { type Dir, type File, FileSystemError, StagedFile } from '@holdfast/durable';

import type { LeaseOwner } from '../driver.js';
import { claimOperation, epochFileName, epochNumbers } from './epoch-directory.js';
import { type EpochRecord, encodeEpochFile, releasePatch } from './epoch-file.js';
import type { ProcessIdentity } from './process-identity.js';

export interface ClaimantOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly process: ProcessIdentity;
  /** Milliseconds; `null` when the holder does not renew. */
  readonly ttl: number | null;
}

/** A number that nobody else can have, with the open file that says so. */
export interface Claim {
  readonly epoch: number;
  readonly file: File;
}

/** Claims numbers in the directory of a lease. */
export class Claimant {
  readonly #options: ClaimantOptions;

  constructor(options: ClaimantOptions) {
    this.#options = options;
  }

  /**
   * Claims the given numbers one after the other, each as the holder of the one before, and returns the last.
   * `undefined`: somebody else was faster, and nothing of this attempt is left that anybody could wait for.
   */
  async claim(
    dir: Dir,
    name: string,
    epochs: readonly number[],
    options: { readonly owner: LeaseOwner; readonly signal?: AbortSignal | undefined },
  ): Promise<Claim | undefined> {
    let held: Claim | undefined;
    try {
      for (const epoch of epochs) {
        const below = held?.epoch;
        const next = await this.#claimOne(
          dir,
          this.#record(name, epoch, options.owner),
          below,
          options.signal,
        );
        if (next === undefined) return undefined;
        held?.file.close();
        held = next;
      }
      const claim = held;
      held = undefined;
      return claim;
    } finally {
      if (held !== undefined) writeReleased(held.file);
    }
  }

  async #claimOne(
    dir: Dir,
    record: EpochRecord,
    below: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Claim | undefined> {
    const { epoch } = record;
    if (!Number.isSafeInteger(epoch))
      throw new RangeError(`no epoch is left above ${Number.MAX_SAFE_INTEGER}`);
    using staged = StagedFile.create(dir, { operation: claimOperation(epoch), random: this.#options.random });
    staged.append(encodeEpochFile(record));
    const file = staged.file.retain();
    let keep = false;
    try {
      const { created } = await staged.publish(epochFileName(epoch), { signal });
      keep = created && isNewest(dir, epoch, below);
      return keep ? { epoch, file } : undefined;
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      // A later holder has deleted the temporary file: its number is taken.
      if (findCause(error, FileSystemError)?.errno === 'ENOENT') return undefined;
      throw error;
    } finally {
      // Through its own descriptor: whatever name the file has got meanwhile, nobody will wait for this process.
      if (!keep) writeReleased(file);
    }
  }

  #record(name: string, epoch: number, owner: LeaseOwner): EpochRecord {
    const { clock, random, process, ttl } = this.#options;
    const acquired = new Date(clock.now()).toISOString();
    return { name, epoch, nonce: randomHex(random, 16), owner, process, ttl, acquired };
  }
}

/** `below`: the number held by the same claimant; anything between the two belongs to somebody else. */
function isNewest(dir: Dir, epoch: number, below: number | undefined): boolean {
  const numbers = epochNumbers(dir);
  if (numbers.at(-1) !== epoch) return false;
  return below === undefined || numbers.at(-2) === below;
}

function writeReleased(file: File): void {
  const { bytes, position } = releasePatch();
  try {
    file.write(bytes, position);
  } catch {
    // It may name this process as a holder until this process ends.
  } finally {
    file.close();
  }
}
