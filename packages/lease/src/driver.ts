import type { JsonValue } from '@holdfast/base';

/** How far exclusion reaches: threads of one process, processes of one host, or every host. */
export type LeaseScope = 'process' | 'host' | 'fleet';

export interface LeaserSupports {
  readonly scope: LeaseScope;
}

/** Who holds a lease, as people and diagnostics see it. JSON-safe, no secrets. */
export type LeaseOwner = Readonly<Record<string, JsonValue>>;

/**
 * What an adapter implements. The driver renews on its own (interval TTL/3), and must abort `lost` BEFORE the time at
 * which somebody else could have been granted the name, counted on a monotonic clock from before the last successful
 * renewal was sent.
 */
export interface LeaserDriver {
  readonly contract: 'lease/1';
  readonly supports: LeaserSupports;
  storagePaths(): readonly string[];
  /**
   * One attempt. Must grant with an epoch above every epoch ever granted for the name, or throw `LeaseHeldError` while
   * a live holder exists. A backend outage must be thrown as what it is, never as "held". An abort between the grant
   * and the return must give the grant back.
   */
  acquire(name: string, options: DriverAcquireOptions): Promise<LeaseGrant>;
  /** Resolves when the name may have become free, or after a time of the driver's choice. Used by `wait`. */
  changed(name: string, options: { readonly signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}

export interface DriverAcquireOptions {
  readonly owner: LeaseOwner;
  readonly signal?: AbortSignal | undefined;
}

/** A granted lease as the driver sees it. */
export interface LeaseGrant {
  readonly epoch: number;
  /** Aborted once, with a typed reason, when the lease ended in any way other than `release`. */
  readonly lost: AbortSignal;
  /** Conservative remaining milliseconds; 0 after loss; `Infinity` where only death ends a lease. */
  expiresIn(): number;
  /** Asks the backend whether this grant still stands; resolves `false` on a definite no, throws when it cannot know. */
  check(options: { readonly signal?: AbortSignal | undefined }): Promise<boolean>;
  /** Idempotent. Must never free a later holder. The epoch counter must survive. */
  release(): Promise<void>;
}
