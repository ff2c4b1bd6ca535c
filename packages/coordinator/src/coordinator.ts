import { type Clock, onAbort, systemClock, throwIfAborted } from '@holdfast/base';

import {
  type BlockerFields,
  CoordinatorClosedError,
  CoordinatorUnhealthyError,
  PermitUnavailableError,
  type UnavailableKind,
} from './errors.js';
import { Claim } from './internal/claim.js';
import { ScopeIndex } from './internal/scope-index.js';
import type {
  CoordinatorReport,
  Holder,
  Permit,
  PermitRecord,
  QueuedRecord,
  SuspensionRecord,
} from './permit.js';
import { checkRequest, conflict, type PermitRequest } from './request.js';

export interface HealthOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CoordinatorOptions {
  /**
   * Resolves when the right to change the workspace still stands, throws when it is lost or cannot be confirmed. By
   * default the workspace is always healthy.
   */
  readonly health?: ((options: HealthOptions) => void | Promise<void>) | undefined;
  /** Called with every permit that is granted, before its holder learns of it. */
  readonly onGranted?: ((record: PermitRecord) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface AcquireOptions {
  readonly holder?: Holder | undefined;
  /** `wait` (default) queues; `fail` refuses at once when the permit is not free. */
  readonly drain?: 'wait' | 'fail' | undefined;
  /** Longest wait in milliseconds; no limit by default. */
  readonly timeout?: number | undefined;
  /**
   * Called, at most once, when somebody has to wait for this permit: for holders that would rather give way, such as a
   * checkpoint in the background.
   */
  readonly onContended?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Grants the rights to touch one workspace: mutations, checkpoints and restores, and the lifetimes of processes.
 *
 * One queue in order of arrival. A request is granted when it conflicts with no granted permit and with no request ahead
 * of it, so a later request passes only those it does not conflict with, and nothing can be starved. Pure memory: it
 * looks at no disk and trusts the canonical paths it is given.
 */
export class Coordinator implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #health: NonNullable<CoordinatorOptions['health']>;
  readonly #index = new ScopeIndex<Claim>();
  readonly #onGranted: CoordinatorOptions['onGranted'];
  readonly #active = new Set<Claim>();
  /** Granted permits whose holders want to know when somebody waits for them. */
  readonly #yielding = new Map<Claim, () => void>();
  readonly #queued = new Set<Claim>();
  readonly #heldBack = new Set<Claim>();
  readonly #suspensions = new Map<number, SuspensionRecord>();
  readonly #giveBack = (claim: Claim): void => {
    this.#leave(claim);
  };
  #drained: (() => void)[] = [];
  #lastId = 0;
  #lastArrival = 0;
  #closed = false;

  constructor(options: CoordinatorOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#health = options.health ?? (() => undefined);
    this.#onGranted = options.onGranted;
  }

  /**
   * Waits for a permit and returns it. A lifetime also waits while process admission is suspended. Cancelled before or
   * while waiting, or in a race with the grant: rejects with the signal's reason and holds nothing.
   * @throws InvalidRequestError, InvalidScopeError when the request is wrong; CoordinatorClosedError;
   * PermitUnavailableError with the holders for `drain: 'fail'` and for `timeout`.
   */
  async acquire(request: PermitRequest, options: AcquireOptions = {}): Promise<Permit> {
    const { signal } = options;
    throwIfAborted(signal);
    if (this.#closed) throw new CoordinatorClosedError();
    const claim = new Claim(this.#nextId(), checkRequest(request), options.holder ?? {}, this.#clock.now());
    claim.onContended = options.onContended;
    this.#arrive(claim);
    if (options.drain === 'fail' && claim.state !== 'active') this.#refuse(claim, 'busy');
    using _abort = onAbort(signal, (reason) => {
      if (claim.state !== 'active') claim.refuse(reason);
      this.#leave(claim);
    });
    using _timer = this.#limit(claim, options.timeout);
    await claim.decided;
    if (claim.refusal !== undefined) throw claim.refusal.reason;
    // The grant and the abort may have met on the way here: the abort wins, and its listener has given the grant back.
    throwIfAborted(signal);
    return new GrantedPermit(claim, this.#giveBack);
  }

  /**
   * Stops the admission of new processes until the returned object is disposed. Suspensions are counted: admission
   * reopens with the last one. Lifetimes that were granted go on; those still waiting are held back and keep their order
   * among each other.
   */
  suspendAdmission(holder: Holder = {}): Disposable {
    const id = this.#nextId();
    this.#suspensions.set(id, { id, holder, since: this.#clock.now() });
    const candidates: Claim[] = [];
    for (const claim of this.#queued) {
      if (claim.request.operation !== 'lifetime') continue;
      this.#queued.delete(claim);
      this.#heldBack.add(claim);
      claim.state = 'held-back';
      candidates.push(...this.#index.remove(claim));
    }
    this.#grant(candidates.sort((one, other) => one.arrival - other.arrival));
    return {
      [Symbol.dispose]: () => {
        if (this.#suspensions.delete(id) && this.#suspensions.size === 0) this.#admitHeldBack();
      },
    };
  }

  /**
   * Asks whether the workspace may still be changed. Whoever commits a change asks immediately before it.
   * @throws CoordinatorUnhealthyError with the reason as cause.
   */
  async healthy(options: HealthOptions = {}): Promise<void> {
    throwIfAborted(options.signal);
    try {
      await this.#health(options);
    } catch (error) {
      throwIfAborted(options.signal);
      throw new CoordinatorUnhealthyError(error);
    }
  }

  /** Tells who holds and who waits for what. Takes time proportional to holders times waiters: it is for people. */
  inspect(): CoordinatorReport {
    const ahead = [...this.#active, ...this.#queued];
    const queued = [...this.#queued, ...this.#heldBack].map(
      (claim): QueuedRecord => ({
        ...claim.record(),
        waitsFor: claim.state === 'held-back' ? 'admission' : 'permits',
        blockedBy: claim.state === 'held-back' ? [] : blockers(claim, ahead).map((other) => other.id),
      }),
    );
    return {
      closed: this.#closed,
      active: [...this.#active].map((claim) => claim.record()),
      queued,
      suspensions: [...this.#suspensions.values()],
    };
  }

  /** Waits until no permit is held. Requests that arrive meanwhile are waited for too. */
  async drained(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    throwIfAborted(options.signal);
    if (this.#active.size === 0) return;
    await new Promise<void>((resolve, reject) => {
      const subscription = onAbort(options.signal, (reason) => {
        this.#drained = this.#drained.filter((listener) => listener !== done);
        reject(reason);
      });
      const done = (): void => {
        subscription[Symbol.dispose]();
        resolve();
      };
      this.#drained.push(done);
    });
  }

  /** Rejects everybody who waits and refuses new requests. Granted permits stay until their holders release them. */
  close(): Promise<void> {
    this.#closed = true;
    for (const claim of [...this.#queued, ...this.#heldBack]) {
      claim.refuse(new CoordinatorClosedError());
      this.#forget(claim);
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The only place where a permit comes into being: after every arrival, release and cancellation. */
  #grant(candidates: Iterable<Claim>): void {
    for (const claim of candidates) {
      if (claim.state !== 'queued' || !this.#index.isFirst(claim)) continue;
      this.#queued.delete(claim);
      this.#active.add(claim);
      claim.state = 'active';
      claim.since = this.#clock.now();
      claim.grant();
      this.#onGranted?.(claim.record());
      if (claim.onContended === undefined) continue;
      this.#yielding.set(claim, claim.onContended);
      for (const waiting of this.#queued) this.#contend(waiting);
    }
  }

  /** Tells those who would give way that `waiting` has to wait for them. */
  #contend(waiting: Claim): void {
    for (const [holder, notify] of this.#yielding) {
      if (!conflict(holder.request, waiting.request)) continue;
      this.#yielding.delete(holder);
      notify();
    }
  }

  #arrive(claim: Claim): void {
    if (claim.request.operation === 'lifetime' && this.#suspensions.size > 0) {
      claim.state = 'held-back';
      this.#heldBack.add(claim);
      return;
    }
    this.#lastArrival += 1;
    claim.arrival = this.#lastArrival;
    claim.state = 'queued';
    this.#queued.add(claim);
    const { group, scopes } = claim.request;
    if (group !== 'reader') this.#index.add(claim, group === 'global-writer' ? 'everything' : scopes);
    this.#grant([claim]);
    if (this.#queued.has(claim)) this.#contend(claim);
  }

  #admitHeldBack(): void {
    for (const claim of [...this.#heldBack]) {
      this.#heldBack.delete(claim);
      this.#arrive(claim);
    }
  }

  /** Ends a claim in whatever state it is and grants what it stood in the way of. Idempotent. */
  #leave(claim: Claim): void {
    this.#grant(this.#forget(claim));
    if (this.#active.size > 0) return;
    const listeners = this.#drained;
    this.#drained = [];
    for (const listener of listeners) listener();
  }

  #forget(claim: Claim): readonly Claim[] {
    if (claim.state === 'gone') return [];
    claim.state = 'gone';
    this.#active.delete(claim);
    this.#yielding.delete(claim);
    this.#queued.delete(claim);
    this.#heldBack.delete(claim);
    return this.#index.remove(claim);
  }

  #refuse(claim: Claim, kind: UnavailableKind): void {
    const ahead = [...this.#active, ...this.#queued];
    const holders = claim.state === 'held-back' ? [] : blockers(claim, ahead).map(blockerFields);
    claim.refuse(new PermitUnavailableError(kind, claim.request.operation, holders));
    this.#leave(claim);
  }

  #limit(claim: Claim, timeout: number | undefined): Disposable | undefined {
    if (timeout === undefined || claim.state === 'active') return undefined;
    return this.#clock.schedule(timeout, () => {
      if (claim.state === 'queued' || claim.state === 'held-back') this.#refuse(claim, 'timeout');
    });
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

class GrantedPermit implements Permit {
  readonly #claim: Claim;
  readonly #giveBack: (claim: Claim) => void;

  constructor(claim: Claim, giveBack: (claim: Claim) => void) {
    this.#claim = claim;
    this.#giveBack = giveBack;
  }

  get record(): PermitRecord {
    return this.#claim.record();
  }

  get held(): boolean {
    return this.#claim.state === 'active';
  }

  release(): void {
    this.#giveBack(this.#claim);
  }

  [Symbol.dispose](): void {
    this.#giveBack(this.#claim);
  }
}

function blockers(claim: Claim, ahead: readonly Claim[]): Claim[] {
  return ahead.filter(
    (other) => other !== claim && other.arrival < claim.arrival && conflict(claim.request, other.request),
  );
}

function blockerFields(claim: Claim): BlockerFields {
  const { id, operation, scopes, since, holder } = claim.record();
  const named = Object.entries(holder).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    id,
    state: claim.state,
    operation,
    scopes: [...scopes],
    since,
    ...Object.fromEntries(named),
  };
}
