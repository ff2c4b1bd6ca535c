import type { JsonValue } from '@holdfast/base';

/** How far exclusion reaches: threads of one process, processes of one host, or every host. */
export type LeaseScope = 'process' | 'host' | 'fleet';

/** What a backend can do. Declared must work. */
export interface LeaserSupports {
  readonly scope: LeaseScope;
  /** `true`: epochs go on rising after every process has ended; `false`: they live as long as the storage object. */
  readonly durable: boolean;
}

/** Who holds a lease, as people and diagnostics see it. JSON-safe, no secrets, at most `maxOwnerBytes` as JSON. */
export type LeaseOwner = Readonly<Record<string, JsonValue>>;

/**
 * What an adapter implements. Users never call it: they hold a `Leaser`, which validates names and owners, queues
 * waiters, makes aborts uniform and wraps errors.
 *
 * Guaranteed to the driver: legal names, an owner that is a frozen copy, options that are present, no call after
 * `close`. The driver renews on its own (interval TTL/3), and must abort `lost` BEFORE the time at which somebody else
 * could have been granted the name, counted on a monotonic clock from before the last successful renewal was sent.
 */
export interface LeaserDriver {
  readonly contract: 'lease/1';
  readonly supports: LeaserSupports;
  /** Canonical local directories that this driver writes to; empty for remote ones. */
  storagePaths(): readonly string[];
  /**
   * Throws when this driver could never take a legal name, for instance because what it puts before it makes it too long.
   * Synchronous, asks nothing of the backend. Absent: every legal name can be taken.
   */
  checkName?(name: string): void;
  /**
   * One attempt. Must grant with an epoch above `above` and above every epoch ever granted for the name, or throw
   * `LeaseHeldError` while a live holder exists (this driver's own grants included). A backend outage must be thrown as
   * what it is, never as "held". An abort between the grant and the return must give the grant back and reject with the
   * signal's reason. A reply that was lost may be repeated only if the driver recognises its own grant by a nonce.
   */
  acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant>;
  /**
   * Resolves when the name may have become free, at once when it already is, or after a time of the driver's choice.
   * Used by `wait`; must miss no release that happened between the failed attempt and this call for long.
   */
  changed(name: string, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Ends every grant that is still out (aborting `lost` with kind `closed`) and frees timers and handles. */
  close(): Promise<void>;
}

export interface DriverAcquireOptions {
  readonly owner: LeaseOwner;
  /** The epoch must be above this number; 0 when the caller knows of none. */
  readonly above: number;
  readonly signal?: AbortSignal | undefined;
}

/** A granted lease as the driver sees it. */
export interface LeaseGrant {
  /** A safe integer above 0. */
  readonly epoch: number;
  /** Aborted once, with a `LeaseLostError`, when the lease ended in any way other than `release`. */
  readonly lost: AbortSignal;
  /** Conservative remaining milliseconds; 0 after loss; `Infinity` where only death ends a lease. */
  expiresIn(): number;
  /** Asks the backend whether this grant still stands; resolves `false` on a definite no, throws when it cannot know. */
  check(options: { readonly signal?: AbortSignal | undefined }): Promise<boolean>;
  /**
   * Idempotent, called after loss too. Must never free a later holder, so it compares before it frees. The epoch
   * counter must survive. Renewal stops with the call, whatever its outcome.
   */
  release(): Promise<void>;
}
