import { HoldfastError, quote } from '@holdfast/base';

import type { LeaseOwner } from './driver.js';
import { ownerText } from './owner.js';

/** How a lease ended. */
export type LeaseLostKind =
  /** Its holder gave it back. */
  | 'released'
  /** Its time ran out without a renewal. */
  | 'expired'
  /** Somebody else was granted the name. */
  | 'taken-over'
  /** The holder could not confirm it in time and gave it up before anybody else could have been granted the name. */
  | 'self-fenced'
  /** Its leaser was closed. */
  | 'closed';

/** The calls that a backend failure can come from. */
export type LeaserOperation = 'open' | 'acquire' | 'wait' | 'check' | 'release' | 'close';

/** A live holder has the lease. */
export class LeaseHeldError extends HoldfastError {
  static override readonly code = 'LEASE_HELD';
  declare readonly code: 'LEASE_HELD';
  declare readonly leaseName: string;
  /** Epoch of the present holder. */
  declare readonly holderEpoch: number;
  /** What the present holder said about itself; absent when it said nothing or its record cannot be read. */
  declare readonly owner: LeaseOwner | undefined;

  constructor(leaseName: string, holderEpoch: number, owner?: LeaseOwner, options: { cause?: unknown } = {}) {
    const shown = owner === undefined || Object.keys(owner).length === 0 ? '' : ` by ${ownerText(owner)}`;
    super(`lease ${quote(leaseName)} is held${shown} (epoch ${holderEpoch}): wait for it or end its holder`, {
      cause: options.cause,
      fields: owner === undefined ? { leaseName, holderEpoch } : { leaseName, holderEpoch, owner },
      effect: 'none',
    });
  }
}

/** The lease is not held any more; nothing may be done in its name. Also the reason of `lease.signal`. */
export class LeaseLostError extends HoldfastError {
  static override readonly code = 'LEASE_LOST';
  declare readonly code: 'LEASE_LOST';
  declare readonly leaseName: string;
  declare readonly epoch: number;
  declare readonly kind: LeaseLostKind;

  constructor(leaseName: string, epoch: number, kind: LeaseLostKind, options: { cause?: unknown } = {}) {
    super(`lease ${quote(leaseName)} (epoch ${epoch}) ${lossTexts[kind]}: acquire it again before going on`, {
      cause: options.cause,
      fields: { leaseName, epoch, kind },
    });
  }
}

const lossTexts: Readonly<Record<LeaseLostKind, string>> = {
  released: 'was released',
  expired: 'ran out',
  'taken-over': 'was taken over by another holder',
  'self-fenced': 'could not be confirmed in time and was given up',
  closed: 'ended when its leaser was closed',
};

/** The leaser was closed before or during the call. */
export class LeaserClosedError extends HoldfastError {
  static override readonly code = 'LEASE_CLOSED';
  declare readonly code: 'LEASE_CLOSED';

  constructor() {
    super('this leaser is closed: open it again to use it', { effect: 'none' });
  }
}

export interface LeaserBackendErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later. Default: what the cause says, else `false`. */
  readonly retryable?: boolean | undefined;
}

/** The backend failed, so nobody knows who holds the lease. Never used for "held". */
export class LeaserBackendError extends HoldfastError {
  static override readonly code = 'LEASE_BACKEND';
  declare readonly code: 'LEASE_BACKEND';
  declare readonly operation: LeaserOperation;
  /** Absent where the failure does not concern one name. */
  declare readonly leaseName: string | undefined;

  constructor(
    operation: LeaserOperation,
    leaseName: string | undefined,
    options: LeaserBackendErrorOptions = {},
  ) {
    const subject = leaseName === undefined ? operation : `${operation} of lease ${quote(leaseName)}`;
    super(`${subject} failed in the lease backend: see its cause`, {
      cause: options.cause,
      retryable: options.retryable ?? retryableOf(options.cause),
      // An acquire that failed half-way may have used up an epoch; that is legal, but it is not "nothing".
      effect: operation === 'acquire' || operation === 'release' ? 'unknown' : undefined,
      fields: leaseName === undefined ? { operation } : { operation, leaseName },
    });
  }
}

function retryableOf(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && (cause as { retryable?: unknown }).retryable === true;
}

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type LeaseError = LeaseHeldError | LeaseLostError | LeaserClosedError | LeaserBackendError;

export type LeaseErrorCode = LeaseError['code'];

/** Tells whether `value` is one of this package's errors. */
export function isLeaseError(value: unknown): value is LeaseError {
  return (
    LeaseHeldError.is(value) ||
    LeaseLostError.is(value) ||
    LeaserClosedError.is(value) ||
    LeaserBackendError.is(value)
  );
}
