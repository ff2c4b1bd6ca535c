import { type Clock, onAbort, type Random, throwIfAborted } from '@holdfast/base';
import type { Dir, FileSystem } from '@holdfast/durable';

import type { DriverAcquireOptions, LeaseGrant, LeaserDriver, LeaserSupports } from '../driver.js';
import { LeaseHeldError, LeaserClosedError } from '../errors.js';
import { Closing } from '../internal/closing.js';
import { type Claim, Claimant } from './claim.js';
import {
  deleteOlder,
  EpochDirectories,
  epochNumbers,
  type NewestEpoch,
  readEpoch,
  readNewest,
} from './epoch-directory.js';
import { type EpochState, maxTtl } from './epoch-file.js';
import { ExpiryWatch } from './expiry-watch.js';
import { FsGrant } from './fs-grant.js';
import type { Liveness, ProcessTable } from './process-identity.js';

export interface FsLeaserDriverOptions {
  readonly fileSystem: FileSystem;
  /** Absolute and without symlinks. */
  readonly directory: string;
  readonly scope: 'process' | 'host';
  readonly ttl: number;
  readonly pollInterval: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly processes: ProcessTable;
  /** Watches a directory for `changed`; polling alone must do. */
  readonly hint: (path: string, notify: () => void) => Disposable;
}

/** How the newest epoch stands for somebody who wants the next one. */
type Verdict = 'free' | 'held' | 'expired';

/** Somebody else claims as fast as we do; each failure is somebody's success, so this many in a row is a broken disk. */
const maxAttempts = 1000;

/** Leases as files: one directory per name, one file per epoch, claimed by an exclusive link. */
export class FsLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1';
  readonly supports: LeaserSupports;
  readonly #options: FsLeaserDriverOptions;
  readonly #directories: EpochDirectories;
  readonly #claimant: Claimant;
  readonly #watch: ExpiryWatch;
  /** Grants whose files do not say `released` yet. */
  readonly #grants = new Set<FsGrant>();
  readonly #closing = new Closing();

  constructor(options: FsLeaserDriverOptions) {
    this.#options = options;
    this.supports = Object.freeze({ scope: options.scope, durable: true });
    this.#directories = new EpochDirectories(options.fileSystem, options.directory);
    this.#watch = new ExpiryWatch(options.clock);
    this.#claimant = new Claimant({
      clock: options.clock,
      random: options.random,
      process: options.processes.self(),
      ttl: options.scope === 'host' ? options.ttl : null,
    });
  }

  storagePaths(): readonly string[] {
    return [this.#options.directory];
  }

  // 1. Read the newest epoch; refuse while its holder lives. Nobody can revive what is released, dead or expired.
  // 2. Claim the next number: temporary file, sync, exclusive link, sync of the directory; then list again. Taken or
  //    disputed: begin again. An abort before the link leaves nothing, one after it gives the claim back.
  // 3. If the predecessor had expired, look at its heartbeat again, see `FsGrant`. It has moved: withdraw the claim.
  // 4. If the caller knows of higher epochs, claim the number above them the same way, as the holder.
  // 5. Begin to renew; delete lower numbers. The newest is never deleted, so the counter survives.
  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    this.#closing.throwIfClosed();
    this.#retryGiveBacks();
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      throwIfAborted(options.signal);
      using dir = await this.#openForClaim(name, options.signal);
      const newest = readNewest(dir, name);
      const verdict = this.#judge(name, newest);
      if (verdict === 'held') throw new LeaseHeldError(name, newest.number, newest.state?.record?.owner);
      const started = this.#options.clock.monotonic();
      const claim = await this.#claim(dir, name, newest, verdict === 'expired', options);
      if (claim === undefined) continue;
      const ttl = this.#options.scope === 'host' ? this.#options.ttl : undefined;
      const facts = { name, epoch: claim.epoch, file: claim.file, ttl };
      const grant = new FsGrant(this.#options.clock, this.#directories, facts, started);
      this.#grants.add(grant);
      if (await this.#begin(grant, dir, options.signal)) return this.#owned(grant);
    }
    throw new Error(`lease ${name} was claimed by others ${maxAttempts} times in a row`);
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    this.#closing.throwIfClosed();
    let wake = new AbortController();
    const ring = (): void => {
      wake.abort();
    };
    using _hint = this.#options.hint(this.#directories.pathOf(name), ring);
    using _caller = onAbort(options.signal, ring);
    using _closing = this.#closing.onClose(ring);
    for (;;) {
      throwIfAborted(options.signal);
      this.#closing.throwIfClosed();
      // Before the look, so that what happens after it is not missed.
      const turn = wake.signal;
      if (this.#isFree(name)) return;
      await this.#options.clock
        .sleep(this.#options.pollInterval, { signal: turn })
        .catch((error: unknown) => {
          if (!turn.aborted) throw error;
        });
      if (wake.signal.aborted) wake = new AbortController();
    }
  }

  async close(): Promise<void> {
    this.#closing.close(new LeaserClosedError());
    for (const grant of this.#grants) {
      grant.lose('closed');
      // What the disk refuses now ends with this process.
      grant.abandon();
    }
    this.#grants.clear();
    await Promise.resolve();
  }

  /**
   * The directory of a lease must be durable before its first number is granted, whoever made it: a counter that
   * vanishes with its directory would start again.
   */
  async #openForClaim(name: string, signal: AbortSignal | undefined): Promise<Dir> {
    const dir = this.#directories.open(name);
    if (dir !== undefined && epochNumbers(dir).length > 0) return dir;
    dir?.close();
    return await this.#directories.ensure(name, signal);
  }

  /** Steps 2 to 4 of `acquire`; `undefined`: in vain, and nothing is left of it. */
  async #claim(
    dir: Dir,
    name: string,
    newest: NewestEpoch,
    overtaking: boolean,
    options: DriverAcquireOptions,
  ): Promise<Claim | undefined> {
    const { owner, above, signal } = options;
    const request = { name, owner, signal };
    const predecessor = newest.number;
    const claim = await this.#claimant.claim(dir, {
      ...request,
      epoch: predecessor + 1,
      predecessor,
      overtaking,
    });
    if (claim === undefined) return undefined;
    try {
      if (overtaking && this.#hasMoved(dir, name, newest)) {
        claim.withdraw(dir);
        return undefined;
      }
      claim.confirm();
    } catch (error) {
      claim.withdraw(dir);
      throw error;
    }
    if (claim.epoch > above) return claim;
    try {
      const raised = { ...request, epoch: above + 1, predecessor: claim.epoch, overtaking: false };
      return await this.#claimant.claim(dir, raised);
    } finally {
      // Below the raised number it means nothing; without one it was ours to give back.
      claim.release();
    }
  }

  /** Step 5 of `acquire`; `false`: overtaken meanwhile. Whatever does not end in a grant is given back. */
  async #begin(grant: FsGrant, dir: Dir, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      // The first heartbeat: a slow disk may have used up much of the time since the claim began.
      const stands = await grant.check({});
      throwIfAborted(signal);
      this.#closing.throwIfClosed();
      if (!stands) return false;
      this.#watch.forget(grant.name);
      deleteOlder(dir, grant.epoch);
      return true;
    } catch (error) {
      grant.lose('self-fenced', error);
      throw error;
    }
  }

  #isFree(name: string): boolean {
    using dir = this.#directories.open(name);
    return dir === undefined || this.#judge(name, readNewest(dir, name)) !== 'held';
  }

  #judge(name: string, newest: NewestEpoch): Verdict {
    const { state } = newest;
    const known = state === undefined || state.word === 'released' ? 'dead' : this.#liveness(state);
    if (known !== 'unknown' || state === undefined) {
      this.#watch.forget(name);
      return known === 'alive' ? 'held' : 'free';
    }
    const ttl = state.record === undefined ? this.#options.ttl : state.record.ttl;
    if (ttl === null) return 'held';
    const patience = Math.min(Math.max(ttl, this.#options.ttl), maxTtl);
    return this.#watch.isStale(name, `${newest.number} ${state.fingerprint}`, patience) ? 'expired' : 'held';
  }

  #liveness({ word, record }: EpochState): Liveness {
    const holder = record === undefined ? 'unknown' : this.#options.processes.isAlive(record.process);
    // A claimant that died on the way cannot say whether the one whom it was overtaking is alive.
    return word === 'claiming' && holder === 'dead' ? 'unknown' : holder;
  }

  #hasMoved(dir: Dir, name: string, seen: NewestEpoch): boolean {
    const now = readEpoch(dir, name, seen.number);
    return now !== undefined && now.fingerprint !== seen.state?.fingerprint;
  }

  /** A view of the grant that lets this driver know when it is given back. */
  #owned(grant: FsGrant): LeaseGrant {
    return {
      epoch: grant.epoch,
      lost: grant.lost,
      expiresIn: () => grant.expiresIn(),
      check: async (options) => await grant.check(options),
      release: async () => {
        await this.#release(grant);
      },
    };
  }

  async #release(grant: FsGrant): Promise<void> {
    try {
      await grant.release();
    } finally {
      if (grant.isGivenBack) this.#grants.delete(grant);
    }
  }

  /** A lease that was lost while the disk refused writes still names this process as its holder. */
  #retryGiveBacks(): void {
    for (const grant of this.#grants) {
      if (grant.lost.aborted && !grant.isGivenBack) {
        try {
          grant.giveBack();
        } catch {
          continue;
        }
      }
      if (grant.isGivenBack) this.#grants.delete(grant);
    }
  }
}
