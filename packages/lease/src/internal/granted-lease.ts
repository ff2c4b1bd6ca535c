import { onAbort, throwIfAborted, uniformAbort } from '@holdfast/base';

import type { LeaseGrant } from '../driver.js';
import { LeaseLostError, type LeaseLostKind, LeaserBackendError } from '../errors.js';
import type { CheckOptions, Lease } from '../lease.js';

/** The portable half of a lease: one loss, one reason, one release, whatever the driver's grant does. */
export class GrantedLease implements Lease {
  readonly name: string;
  readonly epoch: number;
  readonly #grant: LeaseGrant;
  readonly #controller = new AbortController();
  readonly #ended: (lease: GrantedLease) => void;
  /** Absent while a grant that was lost before it arrived is being taken over. */
  readonly #subscription: Disposable | undefined;
  #releasing: Promise<void> | undefined;

  constructor(name: string, grant: LeaseGrant, ended: (lease: GrantedLease) => void) {
    this.name = name;
    this.epoch = grant.epoch;
    this.#grant = grant;
    this.#ended = ended;
    this.#subscription = onAbort(grant.lost, (reason) => {
      this.#end(this.#lossFrom(reason));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get held(): boolean {
    return !this.#controller.signal.aborted;
  }

  expiresIn(): number {
    return this.held ? Math.max(0, this.#grant.expiresIn()) : 0;
  }

  async check(options: CheckOptions = {}): Promise<void> {
    const { signal } = options;
    throwIfAborted(signal);
    throwIfAborted(this.signal);
    let stands: boolean;
    try {
      stands = await uniformAbort(signal, async () => await this.#grant.check({ signal }));
    } catch (error) {
      throwIfAborted(this.signal);
      if (signal?.aborted === true && error === signal.reason) throw error;
      throw LeaserBackendError.is(error)
        ? error
        : new LeaserBackendError('check', this.name, { cause: error });
    }
    if (!stands) this.#end(new LeaseLostError(this.name, this.epoch, 'taken-over'));
    // The loss may also have been noticed while the question was on its way.
    throwIfAborted(this.signal);
    throwIfAborted(signal);
  }

  async release(): Promise<void> {
    await this.end('released');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('released');
  }

  /** Ends the lease for `kind` and gives it back. A failed attempt can be repeated. */
  end(kind: Extract<LeaseLostKind, 'released' | 'closed'>): Promise<void> {
    this.#releasing ??= this.#giveBack(kind).catch((error: unknown) => {
      this.#releasing = undefined;
      throw error;
    });
    return this.#releasing;
  }

  async #giveBack(kind: LeaseLostKind): Promise<void> {
    const lost = !this.held && this.#lossKind !== 'released' && this.#lossKind !== 'closed';
    this.#end(new LeaseLostError(this.name, this.epoch, kind));
    try {
      await this.#grant.release();
    } catch (error) {
      // After a loss there is nothing to give back, so nothing can fail.
      if (lost) return;
      throw LeaserBackendError.is(error)
        ? error
        : new LeaserBackendError('release', this.name, { cause: error });
    }
  }

  get #lossKind(): LeaseLostKind | undefined {
    const reason: unknown = this.#controller.signal.reason;
    return LeaseLostError.is(reason) ? reason.kind : undefined;
  }

  #end(reason: LeaseLostError): void {
    if (this.#controller.signal.aborted) return;
    this.#subscription?.[Symbol.dispose]();
    this.#ended(this);
    this.#controller.abort(reason);
  }

  /** Layers rename leases, so a driver's reason may carry another name than the one the caller used. */
  #lossFrom(reason: unknown): LeaseLostError {
    if (!LeaseLostError.is(reason))
      return new LeaseLostError(this.name, this.epoch, 'self-fenced', { cause: reason });
    if (reason.leaseName === this.name && reason.epoch === this.epoch) return reason;
    return new LeaseLostError(this.name, this.epoch, reason.kind, { cause: reason });
  }
}
