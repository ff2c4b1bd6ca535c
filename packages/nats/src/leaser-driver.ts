import { type Clock, type Hints, type Random, randomHex, throwIfAborted } from '@holdfast/base';
import {
  type DriverAcquireOptions,
  type Extension,
  type LeaseGrant,
  LeaseHeldError,
  type LeaseOwner,
  type LeaserDriver,
  type LeaserSupports,
  RenewedGrants,
} from '@holdfast/lease';

import { NatsRequestError } from './errors.js';
import {
  decodeEpoch,
  decodeLease,
  type EpochRecord,
  encodeRecord,
  type LeaseRecord,
} from './internal/lease-record.js';
import type { Streams } from './internal/streams.js';
import { tokenOf } from './internal/subjects.js';

export interface LeaserDriverFacts {
  readonly streams: Streams;
  readonly hints: Hints;
  readonly clock: Clock;
  readonly random: Random;
  readonly prefix: string;
  /** The stream whose messages age out after the time-to-live: who has a name. */
  readonly leases: string;
  /** The stream whose messages stay: the last epoch of each name. */
  readonly epochs: string;
  readonly durable: boolean;
  readonly ttlMilliseconds: number;
  readonly pollMilliseconds: number;
}

interface Stored<T> {
  readonly record: T;
  /** Sequence in its stream. */
  readonly seq: number;
}

/** One attempt to get a name. */
interface Attempt {
  readonly name: string;
  readonly nonce: string;
  readonly owner: LeaseOwner;
  readonly above: number;
}

/** How often a place that moved is looked at again before the attempt counts as lost. */
const mostTries = 8;

/**
 * Who has a name is the last message of its subject in a stream whose messages age: whoever stores one where there was none
 * has it, and stores another one behind it to keep it. Its epoch comes from a counter in a stream whose messages stay.
 */
export class NatsLeaserDriver implements LeaserDriver {
  readonly contract = 'lease/1' as const;
  readonly supports: LeaserSupports;
  readonly #facts: LeaserDriverFacts;
  readonly #grants: RenewedGrants;

  constructor(facts: LeaserDriverFacts) {
    this.#facts = facts;
    this.supports = Object.freeze({ scope: 'fleet', durable: facts.durable });
    this.#grants = new RenewedGrants({ ttlMilliseconds: facts.ttlMilliseconds, clock: facts.clock });
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant> {
    const { clock, random } = this.#facts;
    const { owner, above, signal } = options;
    throwIfAborted(signal);
    const attempt: Attempt = { name, owner, above, nonce: randomHex(random, 16) };
    const [present, counter] = await Promise.all([this.#lease(name), this.#counter(name)]);
    if (present !== undefined && !present.record.released) throw heldBy(name, present.record);
    throwIfAborted(signal);
    // 1. Take the name. The epoch in the message is what the counter will say, unless somebody else counts in between.
    const sentAt = clock.monotonic();
    const epoch = nextEpoch(counter?.record, above);
    const taken = await this.#take(attempt, epoch, present?.seq ?? 0);
    // 2. Count. Whoever holds the name counts, so the epochs of a name rise in the order of its holders.
    const lease = await this.#count(attempt, { epoch, seq: taken }, counter);
    const grant = await this.#begin(attempt, lease, sentAt);
    if (signal?.aborted !== true) return grant;
    await grant.release().catch(() => undefined);
    throw signal.reason;
  }

  async changed(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    const { streams, hints, pollMilliseconds } = this.#facts;
    using _heard = await streams.hear(this.#leaseSubject(name), () => {
      hints.tell(name);
    });
    using wait = hints.listen(name);
    const present = await this.#lease(name);
    // What ages out is announced by nobody.
    if (present !== undefined && !present.record.released) await wait.until(pollMilliseconds, options.signal);
  }

  async close(): Promise<void> {
    await this.#grants.close();
  }

  /** The sequence of our message. @throws LeaseHeldError when somebody else has stored one. */
  async #take(attempt: Attempt, epoch: number, after: number): Promise<number> {
    const { name, nonce, owner } = attempt;
    let seq: number | undefined;
    try {
      seq = await this.#store(name, { nonce, epoch, owner, released: false }, after);
    } catch (error) {
      if (!NatsRequestError.is(error) || error.definite) throw error;
      // The answer was lost. If it was stored, it carries our nonce; if it comes later, it ages out.
      const found = await this.#lease(name);
      if (found?.record.nonce !== nonce) throw error;
      seq = found.seq;
    }
    if (seq !== undefined) return seq;
    const holder = await this.#lease(name);
    throw holder === undefined ? new LeaseHeldError(name, epoch) : heldBy(name, holder.record);
  }

  /**
   * Raises the counter. When somebody else has raised it since it was read, our epoch is a higher one, and our message has
   * to say so, which succeeds only while it is still the last one.
   */
  async #count(
    attempt: Attempt,
    taken: { readonly epoch: number; readonly seq: number },
    read: Stored<EpochRecord> | undefined,
  ): Promise<{ readonly epoch: number; readonly seq: number }> {
    const { name, nonce, owner, above } = attempt;
    let { epoch, seq } = taken;
    let counter = read;
    for (let tries = 1; tries <= mostTries; tries += 1) {
      if (await this.#raise(name, { epoch, nonce }, counter?.seq ?? 0)) return { epoch, seq };
      counter = await this.#counter(name);
      if (counter?.record.nonce === nonce) return { epoch: counter.record.epoch, seq };
      epoch = nextEpoch(counter?.record, above);
      const moved = await this.#store(name, { nonce, epoch, owner, released: false }, seq);
      if (moved === undefined) break;
      seq = moved;
    }
    const holder = await this.#lease(name);
    throw holder === undefined ? new LeaseHeldError(name, epoch) : heldBy(name, holder.record);
  }

  /** Whether the counter is ours now; a lost answer is looked up by whoever calls. */
  async #raise(name: string, record: EpochRecord, after: number): Promise<boolean> {
    const subject = `${this.#facts.prefix}.epoch.${tokenOf(name)}`;
    try {
      return (await this.#facts.streams.publish(subject, encodeRecord(record), after)) !== undefined;
    } catch (error) {
      if (NatsRequestError.is(error) && !error.definite) return false;
      throw error;
    }
  }

  async #begin(
    attempt: Attempt,
    lease: { readonly epoch: number; readonly seq: number },
    sentAt: number,
  ): Promise<LeaseGrant> {
    const { name, nonce, owner } = attempt;
    const { streams } = this.#facts;
    let { seq } = lease;
    const record = { nonce, epoch: lease.epoch, owner, released: false };
    /** Our message may have moved on by a renewal whose answer was lost. */
    const behind = async (next: LeaseRecord): Promise<Extension> => {
      const stored = await this.#store(name, next, seq);
      if (stored !== undefined) {
        seq = stored;
        return 'stands';
      }
      const found = await this.#lease(name);
      if (found === undefined) return 'expired';
      if (found.record.nonce !== nonce || found.record.released) return 'taken-over';
      const again = await this.#store(name, next, found.seq);
      if (again === undefined) return 'taken-over';
      seq = again;
      return 'stands';
    };
    // What anybody stores for the name is heard at once: somebody who took over, and our own renewals.
    const heard = await streams
      .hear(this.#leaseSubject(name), (data) => {
        if (!isOurs(data, nonce)) this.#grants.doubt(name);
      })
      .catch(() => undefined);
    const grant = this.#grants.begin({
      name,
      epoch: lease.epoch,
      sentAt,
      extend: async () => await behind(record),
      free: async () => {
        try {
          await behind({ ...record, released: true });
        } catch (error) {
          if (!NatsRequestError.is(error) || error.definite) throw error;
          await behind({ ...record, released: true });
        } finally {
          heard?.[Symbol.dispose]();
        }
      },
    });
    grant.lost.addEventListener('abort', () => heard?.[Symbol.dispose](), { once: true });
    return grant;
  }

  #leaseSubject(name: string): string {
    return `${this.#facts.prefix}.lease.${tokenOf(name)}`;
  }

  async #store(name: string, record: LeaseRecord, after: number): Promise<number | undefined> {
    return await this.#facts.streams.publish(this.#leaseSubject(name), encodeRecord(record), after);
  }

  async #lease(name: string): Promise<Stored<LeaseRecord> | undefined> {
    const message = await this.#facts.streams.last(this.#facts.leases, this.#leaseSubject(name));
    return message === undefined ? undefined : { record: decodeLease(message.data), seq: message.seq };
  }

  async #counter(name: string): Promise<Stored<EpochRecord> | undefined> {
    const subject = `${this.#facts.prefix}.epoch.${tokenOf(name)}`;
    const message = await this.#facts.streams.last(this.#facts.epochs, subject);
    return message === undefined ? undefined : { record: decodeEpoch(message.data), seq: message.seq };
  }
}

function isOurs(data: Uint8Array, nonce: string): boolean {
  try {
    return decodeLease(data).nonce === nonce;
  } catch {
    return false;
  }
}

function heldBy(name: string, record: LeaseRecord): LeaseHeldError {
  return new LeaseHeldError(name, record.epoch, record.owner);
}

function nextEpoch(counter: EpochRecord | undefined, above: number): number {
  const epoch = Math.max(counter?.epoch ?? 0, above) + 1;
  if (Number.isSafeInteger(epoch)) return epoch;
  throw new RangeError('the epochs of this lease are used up');
}
