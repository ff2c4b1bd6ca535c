import { type Clock, systemClock, throwIfAborted } from '@holdfast/base';

import type { LeaseGrant } from './driver.js';
import { LeaseLostError, type LeaseLostKind } from './errors.js';

/** What the backend says when a grant is to be extended. */
export type Extension =
  /** Extended: nobody else can be granted the name for a whole time-to-live from now on. */
  | 'stands'
  /** The backend let it go; nobody else is known to have the name. */
  | 'expired'
  /** Somebody else was granted the name. */
  | 'taken-over';

/** One grant, as the driver that made it knows it. */
export interface RenewableGrant {
  readonly name: string;
  readonly epoch: number;
  /** The monotonic time just before the request was sent that was granted. */
  readonly sentAt: number;
  /**
   * Extends the grant by a whole time-to-live, if it is still the last one. Throws when it cannot know. Never called twice
   * at a time.
   */
  extend(): Promise<Extension>;
  /** Frees the name, if this grant is still the last one. May be called while `extend` is under way, and again. */
  free(): Promise<void>;
}

export interface RenewedGrantsOptions {
  /** How long the backend keeps a grant that is not extended, in milliseconds by its own clock. */
  readonly ttlMilliseconds: number;
  /** Default: the platform's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * The holder's half of leases that a remote backend lets go after a time-to-live: what every such driver needs, once.
 *
 * Each grant is extended every third of its time-to-live, sooner after a failure. It is given up after two thirds, counted
 * on the monotonic clock from before the last successful request was sent: the last third is the margin for clocks that
 * run at different speeds, so the holder knows before anybody else can be granted the name.
 */
export class RenewedGrants {
  readonly #ttl: number;
  readonly #clock: Clock;
  readonly #grants = new Set<RenewedGrant>();

  /** @throws RangeError when the time-to-live is no number above 0. */
  constructor(options: RenewedGrantsOptions) {
    if (!(options.ttlMilliseconds > 0) || !Number.isFinite(options.ttlMilliseconds)) {
      throw new RangeError(`ttlMilliseconds must be above 0, found ${options.ttlMilliseconds}`);
    }
    this.#ttl = options.ttlMilliseconds;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Begins to extend a grant. A grant whose answer took too long is lost from the beginning: its caller finds the signal
   * aborted, and nobody was told that it has anything.
   */
  begin(grant: RenewableGrant): LeaseGrant {
    const renewed = new RenewedGrant(grant, this.#ttl, this.#clock, (ended) => {
      this.#grants.delete(ended);
    });
    if (!renewed.lost.aborted) this.#grants.add(renewed);
    return renewed;
  }

  /** Asks the backend at once about the grants of `name`, or all of them, because somebody said that they may have changed hands. */
  doubt(name?: string): void {
    for (const grant of this.#grants) if (name === undefined || grant.name === name) grant.doubt();
  }

  /** Ends every grant with kind `closed` and frees its name. Rejects with the first failure, after all were tried. */
  async close(): Promise<void> {
    const grants = [...this.#grants];
    for (const grant of grants) grant.end('closed');
    const outcomes = await Promise.allSettled(grants.map(async (grant) => await grant.release()));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}

class RenewedGrant implements LeaseGrant {
  readonly name: string;
  readonly epoch: number;
  readonly #grant: RenewableGrant;
  readonly #ttl: number;
  readonly #clock: Clock;
  readonly #ended: (grant: RenewedGrant) => void;
  readonly #lost = new AbortController();
  #deadline: number;
  #timer: Disposable | undefined;
  #released = false;
  /** The last question to the backend: a next one is asked after its answer. */
  #asking: Promise<void> | undefined;

  constructor(grant: RenewableGrant, ttl: number, clock: Clock, ended: (grant: RenewedGrant) => void) {
    this.name = grant.name;
    this.epoch = grant.epoch;
    this.#grant = grant;
    this.#ttl = ttl;
    this.#clock = clock;
    this.#ended = ended;
    this.#deadline = this.#deadlineOf(grant.sentAt);
    if (this.#left() <= 0) this.end('self-fenced');
    else this.#wakeAfter(ttl / 3);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  expiresIn(): number {
    return this.#isOver() ? 0 : Math.max(0, this.#left());
  }

  async check(options: { readonly signal?: AbortSignal | undefined }): Promise<boolean> {
    throwIfAborted(options.signal);
    if (this.#isOver()) return false;
    // Whatever the local clock says (it may have stood still while the machine slept), the backend is asked.
    await this.#ask();
    return !this.#isOver();
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#stop();
    await this.#grant.free();
  }

  /** Asks outside of the rhythm; a failure is left to the rhythm. */
  doubt(): void {
    this.#ask().catch(() => undefined);
  }

  end(kind: LeaseLostKind, cause?: unknown): void {
    if (this.#isOver()) return;
    this.#stop();
    this.#lost.abort(new LeaseLostError(this.name, this.epoch, kind, { cause }));
    // What was given up may still be ours at the backend: others need not wait for its time to run out. `closed` is
    // followed by a release that is waited for.
    if (kind === 'self-fenced') this.#grant.free().catch(() => undefined);
  }

  // 1. Deadline. 2. Ask, without waiting: an answer that never comes must not keep the deadline from being looked at.
  #wake(): void {
    if (this.#isOver()) return;
    const left = this.#left();
    if (left <= 0) {
      this.end('self-fenced');
      return;
    }
    if (this.#asking === undefined) {
      this.#ask().catch(() => {
        if (!this.#isOver()) this.#wakeAfter(Math.min(this.#ttl / 12, Math.max(0, this.#left())));
      });
    }
    this.#wakeAfter(Math.min(this.#ttl / 3, left));
  }

  async #ask(): Promise<void> {
    const before = this.#asking;
    const asking = (async () => {
      await before?.catch(() => undefined);
      if (!this.#isOver()) await this.#extend();
    })();
    this.#asking = asking;
    try {
      await asking;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }

  async #extend(): Promise<void> {
    const sentAt = this.#clock.monotonic();
    const answer = await this.#grant.extend();
    if (answer !== 'stands') {
      this.end(answer);
      return;
    }
    const deadline = this.#deadlineOf(sentAt);
    // An answer that took so long is worth nothing: the time may have run out since.
    if (this.#clock.monotonic() >= deadline) this.end('self-fenced');
    else this.#deadline = Math.max(this.#deadline, deadline);
  }

  #deadlineOf(sentAt: number): number {
    return sentAt + (this.#ttl * 2) / 3;
  }

  #left(): number {
    return this.#deadline - this.#clock.monotonic();
  }

  #isOver(): boolean {
    return this.#lost.signal.aborted || this.#released;
  }

  #wakeAfter(milliseconds: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.schedule(milliseconds, () => {
      this.#wake();
    });
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#ended(this);
  }
}
