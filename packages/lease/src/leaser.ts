import {
  InvalidNameError,
  onAbort,
  parseName,
  throwIfAborted,
  uniformAbort,
  yieldToEventLoop,
} from '@holdfast/base';

import type { LeaseOwner, LeaserDriver, LeaserSupports } from './driver.js';
import { isLeaseError, LeaseHeldError, LeaserBackendError, LeaserClosedError } from './errors.js';
import { Closing } from './internal/closing.js';
import { GrantedLease } from './internal/granted-lease.js';
import { TurnQueue } from './internal/turn-queue.js';
import type { Lease } from './lease.js';
import { copyOwner } from './owner.js';

export interface AcquireOptions {
  /** `true`: queues until granted or aborted, in order of arrival within this leaser. Default `false`. */
  readonly wait?: boolean | undefined;
  /** Ends the attempt; a grant that was already made is given back. Later aborts do not touch the lease. */
  readonly signal?: AbortSignal | undefined;
  /** Shown to whoever finds the lease held. Default `{}`. */
  readonly owner?: LeaseOwner | undefined;
  /**
   * The epoch will be above this number. Give the highest epoch that a journal or another sink has seen, so that a
   * backend that lost grants (restored from a backup, failed over) cannot fall behind it. Default 0.
   */
  readonly above?: number | undefined;
}

/**
 * Named mutual exclusion with epochs that only rise. Works over any driver; adapters export a factory that returns it.
 * Leases are not reentrant: a second acquire of a held name is refused, by the same leaser too.
 */
export class Leaser implements AsyncDisposable {
  readonly #driver: LeaserDriver;
  readonly #leases = new Set<GrantedLease>();
  readonly #turns = new TurnQueue();
  readonly #closing = new Closing();
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** @throws TypeError when the driver implements another contract than `lease/1`. */
  constructor(driver: LeaserDriver) {
    const contract: unknown = (driver as { contract?: unknown } | undefined)?.contract;
    if (contract !== 'lease/1') {
      throw new TypeError(
        `Leaser: the driver implements ${JSON.stringify(contract)}, this class needs "lease/1"`,
      );
    }
    this.#driver = driver;
  }

  /** The driver, for layers and adapters. Calling it directly bypasses every check of this class. */
  get driver(): LeaserDriver {
    return this.#driver;
  }

  /** What the driver declares. */
  get supports(): LeaserSupports {
    return this.#driver.supports;
  }

  /** Canonical local directories that the driver writes to; empty for remote ones. */
  storagePaths(): readonly string[] {
    return [...this.#driver.storagePaths()];
  }

  /**
   * Tells at once whether `acquire` would refuse a name, whoever holds it. Asks nothing of the backend, so that a name can
   * be checked long before it is needed; answers on a closed leaser too.
   * @throws InvalidNameError when it would.
   */
  checkName(name: string): void {
    this.#checkName(name);
  }

  /**
   * Acquires the lease `name`. Point of no return: the grant by the backend; an abort before the returned promise
   * settles gives the grant back.
   *
   * @throws InvalidNameError, TypeError or RangeError before anything is asked of the backend.
   * @throws LeaseHeldError while a live holder exists and `wait` is not set.
   * @throws LeaserClosedError when this leaser is or gets closed.
   * @throws LeaserBackendError when the backend failed; never reported as held.
   */
  async acquire(name: string, options: AcquireOptions = {}): Promise<Lease> {
    this.#checkName(name);
    const owner = copyOwner(options.owner);
    const above = parseAbove(options.above);
    throwIfAborted(options.signal);
    this.#closing.throwIfClosed();
    // A controller of this call only: `AbortSignal.any` would leave a trace in a signal that may live for long.
    const ended = new AbortController();
    using _caller = onAbort(options.signal, (reason) => {
      ended.abort(reason);
    });
    using _closing = this.#closing.onClose((reason) => {
      ended.abort(reason);
    });
    const call: AcquireCall = { name, owner, above, signal: ended.signal };
    const lease = await this.#track(options.wait === true ? this.#acquireInTurn(call) : this.#attempt(call));
    if (!ended.signal.aborted) return lease;
    await lease.release().catch(() => undefined);
    throw ended.signal.reason;
  }

  /**
   * Ends the leases that are still held (their signals carry kind `closed`), rejects waiters, and frees what the driver
   * holds. Idempotent; afterwards `acquire` rejects with `LeaserClosedError`.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #checkName(name: string): void {
    const parsed = parseName(name);
    this.#driver.checkName?.(parsed);
  }

  async #acquireInTurn(call: AcquireCall): Promise<Lease> {
    return await this.#turns.run(call.name, call.signal, async () => {
      for (let round = 0; ; round += 1) {
        try {
          return await this.#attempt(call);
        } catch (error) {
          if (!LeaseHeldError.is(error)) throw error;
        }
        // A driver that says "changed" at once and "held" again must not starve everything else.
        if (round > 0) await yieldToEventLoop();
        await this.#ask('wait', call, async () => {
          await this.#driver.changed(call.name, { signal: call.signal });
        });
      }
    });
  }

  async #attempt(call: AcquireCall): Promise<Lease> {
    const { name, owner, above, signal } = call;
    const grant = await this.#ask('acquire', call, async () => {
      return await this.#driver.acquire(name, { owner, above, signal });
    });
    const lease = new GrantedLease(name, grant, (ended) => {
      this.#leases.delete(ended);
    });
    if (lease.held) this.#leases.add(lease);
    if (isEpochBelievable(grant.epoch, above)) return lease;
    await lease.release().catch(() => undefined);
    const expected = `expected a safe integer above ${above}`;
    const cause = new RangeError(`the driver granted epoch ${grant.epoch}, ${expected}`);
    throw new LeaserBackendError('acquire', name, { cause, retryable: false });
  }

  /** Runs a call of the driver: aborts become the signal's own reason, unknown failures become one class. */
  async #ask<T>(operation: 'acquire' | 'wait', call: AcquireCall, ask: () => Promise<T>): Promise<T> {
    try {
      return await uniformAbort(call.signal, ask);
    } catch (error) {
      if (call.signal.aborted && error === call.signal.reason) throw error;
      if (LeaseHeldError.is(error) && error.leaseName !== call.name) {
        throw new LeaseHeldError(call.name, error.holderEpoch, error.owner, { cause: error });
      }
      // A driver without `checkName` can find a name too long here.
      if (isLeaseError(error) || InvalidNameError.is(error)) throw error;
      throw new LeaserBackendError(operation, call.name, { cause: error });
    }
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  async #close(): Promise<void> {
    this.#closing.close(new LeaserClosedError());
    // Calls under way give back what they were granted before the driver goes.
    await Promise.allSettled(this.#running);
    const outcomes = await Promise.allSettled(
      [...this.#leases].map(async (lease) => await lease.end('closed')),
    );
    const failures: unknown[] = [];
    for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason);
    try {
      await this.#driver.close();
    } catch (error) {
      failures.push(
        isLeaseError(error) ? error : new LeaserBackendError('close', undefined, { cause: error }),
      );
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'several leases failed to close');
  }
}

interface AcquireCall {
  readonly name: string;
  readonly owner: LeaseOwner;
  readonly above: number;
  readonly signal: AbortSignal;
}

function parseAbove(above: number | undefined): number {
  if (above === undefined) return 0;
  if (typeof above !== 'number') throw new TypeError('acquire: above must be a number');
  if (!Number.isSafeInteger(above) || above < 0 || above >= Number.MAX_SAFE_INTEGER) {
    throw new RangeError(`acquire: above must be a safe integer of at least 0, found ${above}`);
  }
  return above;
}

/** Fencing rests on the epoch, so a driver that grants a wrong one is not believed. */
function isEpochBelievable(epoch: number, above: number): boolean {
  return Number.isSafeInteger(epoch) && epoch > above;
}
