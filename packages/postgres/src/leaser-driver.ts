import { type Clock, type Hints, type Random, randomHex, throwIfAborted } from '@holdfast/base';
import {
  type DriverAcquireOptions,
  type LeaseGrant,
  LeaseHeldError,
  type LeaseOwner,
  type LeaserDriver,
  type LeaserSupports,
  RenewedGrants,
} from '@holdfast/lease';

import { PostgresStatementError } from './errors.js';
import type { Connection } from './internal/connection.js';
import type { WriteSettings } from './internal/settings.js';
import type { Statements } from './internal/statements.js';

export interface LeaserDriverFacts {
  readonly connection: Connection;
  readonly statements: Statements;
  readonly settings: WriteSettings;
  readonly hints: Hints;
  readonly ttlMilliseconds: number;
  readonly clock: Clock;
  readonly random: Random;
}

interface Holder {
  readonly epoch: number;
  readonly nonce: string;
  readonly owner: LeaseOwner | undefined;
  /** Milliseconds until others can get it, by the server's clock. */
  readonly remaining: number;
}

/** How often a name that was free and then was not is tried again before it counts as held. */
const mostTries = 5;

/** One row for each name, which is never deleted: it is the counter. Only the server's clock decides what has run out. */
export class PostgresLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1' as const;
  readonly supports: LeaserSupports;
  readonly #facts: LeaserDriverFacts;
  readonly #grants: RenewedGrants;

  constructor(facts: LeaserDriverFacts) {
    this.#facts = facts;
    this.supports = Object.freeze({ scope: 'fleet', durable: facts.settings.synchronous });
    this.#grants = new RenewedGrants({ ttlMilliseconds: facts.ttlMilliseconds, clock: facts.clock });
  }

  storagePaths(): readonly string[] {
    return [];
  }

  /** Somebody said that the lease `name` has changed hands; without a name, any may have. */
  doubt(name?: string): void {
    this.#grants.doubt(name);
  }

  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    const { clock, random } = this.#facts;
    const nonce = randomHex(random, 16);
    for (let tries = 1; ; tries += 1) {
      throwIfAborted(options.signal);
      const sentAt = clock.monotonic();
      const epoch = await this.#take(name, nonce, options);
      if (epoch !== undefined) return await this.#begin({ name, epoch, nonce, sentAt }, options.signal);
      const holder = await this.#holder(name);
      // It ran out or was given back between the two questions: nobody has it.
      if (holder !== undefined && (holder.remaining > 0 || tries === mostTries)) {
        throw new LeaseHeldError(name, holder.epoch, holder.owner);
      }
    }
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    using wait = this.#facts.hints.listen(name);
    const holder = await this.#holder(name);
    if (holder === undefined || holder.remaining <= 0) return;
    const soon = Math.min(holder.remaining + 1, this.#facts.settings.pollMilliseconds);
    await wait.until(soon, options.signal);
  }

  async close(): Promise<void> {
    await this.#grants.close();
  }

  /** The epoch, or `undefined` when somebody else has it. */
  async #take(name: string, nonce: string, options: DriverAcquireOptions): Promise<number | undefined> {
    const { connection, statements, settings, ttlMilliseconds } = this.#facts;
    const values = [
      name,
      options.above,
      nonce,
      JSON.stringify(options.owner),
      ttlMilliseconds,
      settings.lockTimeout,
      settings.synchronous,
    ];
    const granted = async (): Promise<number | undefined> => {
      const [row] = await connection.run(statements.acquire, values);
      return row === undefined ? undefined : Number(row['epoch']);
    };
    try {
      return await granted();
    } catch (error) {
      if (!PostgresStatementError.is(error) || error.definite) throw error;
      // The answer was lost. If the grant was made, its row carries our nonce.
      const epoch = await granted();
      if (epoch !== undefined) return epoch;
      const holder = await this.#holder(name);
      return holder?.nonce === nonce ? holder.epoch : undefined;
    }
  }

  async #begin(
    grant: { readonly name: string; readonly epoch: number; readonly nonce: string; readonly sentAt: number },
    signal: AbortSignal | undefined,
  ): Promise<LeaseGrant> {
    const { connection, statements, settings, ttlMilliseconds } = this.#facts;
    const { name, epoch, nonce, sentAt } = grant;
    const { lockTimeout, synchronous } = settings;
    const lease = this.#grants.begin({
      name,
      epoch,
      sentAt,
      extend: async () => {
        const values = [name, epoch, nonce, ttlMilliseconds, lockTimeout, synchronous];
        const rows = await connection.run(statements.renew, values);
        return rows.length > 0 ? 'stands' : 'taken-over';
      },
      free: async () => {
        await connection.runAgain(statements.free, [name, epoch, nonce, lockTimeout, synchronous]);
      },
    });
    if (signal?.aborted !== true) return lease;
    await lease.release().catch(() => undefined);
    throw signal.reason;
  }

  async #holder(name: string): Promise<Holder | undefined> {
    const [row] = await this.#facts.connection.run(this.#facts.statements.holder, [name]);
    if (row === undefined) return undefined;
    const { epoch, nonce, owner, remaining } = row;
    return {
      epoch: Number(epoch),
      nonce: String(nonce),
      owner: ownerFrom(owner),
      remaining: Number(remaining),
    };
  }
}

function ownerFrom(text: unknown): LeaseOwner | undefined {
  try {
    const owner: unknown = JSON.parse(String(text));
    return typeof owner === 'object' && owner !== null && !Array.isArray(owner)
      ? (owner as LeaseOwner)
      : undefined;
  } catch {
    return undefined;
  }
}
