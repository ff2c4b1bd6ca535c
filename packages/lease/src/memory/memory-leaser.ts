import { onAbort, parseName, throwIfAborted } from '@holdfast/base';

import type {
  DriverAcquireOptions,
  LeaseGrant,
  LeaseOwner,
  LeaserDriver,
  LeaserSupports,
} from '../driver.js';
import { LeaseHeldError, LeaseLostError, LeaserClosedError } from '../errors.js';
import { Closing } from '../internal/closing.js';
import { Leaser } from '../leaser.js';
import { type MemoryHolder, MemoryLeases } from './memory-leases.js';

export interface MemoryLeaserOptions {
  /** Leases to share with other leasers of this process. Default: a storage of its own. */
  readonly leases?: MemoryLeases | undefined;
}

/** Makes a leaser for one process. Only `release`, `close` and `MemoryLeases.expire` end its leases. */
export function memoryLeaser(options: MemoryLeaserOptions = {}): Leaser {
  return new Leaser(new MemoryLeaserDriver(options.leases ?? new MemoryLeases()));
}

/** The reference driver: stricter than real ones, checks its own inputs and refuses use after close. */
export class MemoryLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1';
  readonly supports: LeaserSupports = Object.freeze({ scope: 'process', durable: false });
  readonly #leases: MemoryLeases;
  readonly #grants = new Set<MemoryGrant>();
  readonly #closing = new Closing();

  constructor(leases: MemoryLeases) {
    this.#leases = leases;
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    parseName(name);
    this.#closing.throwIfClosed();
    throwIfAborted(options.signal);
    const present = this.#leases.holder(name);
    if (present !== undefined) throw new LeaseHeldError(name, present.epoch, present.owner);
    const grant = this.#leases.grant(name, options.above, (epoch) => {
      return new MemoryGrant(this.#leases, name, epoch, options.owner, (ended) => this.#grants.delete(ended));
    });
    this.#grants.add(grant);
    // Real backends answer later; callers must not come to rely on an answer in the same tick.
    await Promise.resolve();
    if (options.signal?.aborted === true) {
      await grant.release();
      throw options.signal.reason;
    }
    return grant;
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    this.#closing.throwIfClosed();
    throwIfAborted(options.signal);
    if (this.#leases.holder(name) === undefined) return;
    await new Promise<void>((resolve, reject) => {
      const subscriptions = [
        this.#leases.onFree(name, () => {
          settle(resolve);
        }),
        onAbort(options.signal, (reason) => {
          settle(() => {
            reject(reason);
          });
        }),
        this.#closing.onClose((reason) => {
          settle(() => {
            reject(reason);
          });
        }),
      ];
      const settle = (finish: () => void): void => {
        for (const subscription of subscriptions) subscription[Symbol.dispose]();
        finish();
      };
    });
  }

  async close(): Promise<void> {
    if (this.#closing.isClosed) return;
    this.#closing.close(new LeaserClosedError());
    for (const grant of this.#grants) {
      grant.lose(new LeaseLostError(grant.name, grant.epoch, 'closed'));
      await grant.release();
    }
  }
}

class MemoryGrant implements LeaseGrant, MemoryHolder {
  readonly name: string;
  readonly epoch: number;
  readonly owner: LeaseOwner;
  readonly #leases: MemoryLeases;
  readonly #lost = new AbortController();
  readonly #ended: (grant: MemoryGrant) => void;

  constructor(
    leases: MemoryLeases,
    name: string,
    epoch: number,
    owner: LeaseOwner,
    ended: (grant: MemoryGrant) => void,
  ) {
    this.#leases = leases;
    this.name = name;
    this.epoch = epoch;
    this.owner = owner;
    this.#ended = ended;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  expiresIn(): number {
    return this.#lost.signal.aborted ? 0 : Number.POSITIVE_INFINITY;
  }

  async check(options: { readonly signal?: AbortSignal | undefined }): Promise<boolean> {
    await Promise.resolve();
    throwIfAborted(options.signal);
    return this.#leases.holder(this.name) === this;
  }

  async release(): Promise<void> {
    this.#ended(this);
    await Promise.resolve();
    this.#leases.free(this.name, this);
  }

  lose(reason: LeaseLostError): void {
    this.#ended(this);
    this.#lost.abort(reason);
  }
}
