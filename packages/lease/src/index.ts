export type {
  DriverAcquireOptions,
  LeaseGrant,
  LeaseOwner,
  LeaserDriver,
  LeaserSupports,
  LeaseScope,
} from './driver.js';
export {
  isLeaseError,
  type LeaseError,
  type LeaseErrorCode,
  LeaseHeldError,
  LeaseLostError,
  type LeaseLostKind,
  LeaserBackendError,
  type LeaserBackendErrorOptions,
  LeaserClosedError,
  type LeaserOperation,
} from './errors.js';
export type { CheckOptions, Lease } from './lease.js';
export { type AcquireOptions, Leaser } from './leaser.js';
export { MemoryLeaserDriver, type MemoryLeaserOptions, memoryLeaser } from './memory/memory-leaser.js';
export { type MemoryHolder, MemoryLeases } from './memory/memory-leases.js';
export { maxOwnerBytes, ownerText } from './owner.js';
export { prefixedLeaser } from './prefixed-leaser.js';
export {
  type Extension,
  type RenewableGrant,
  RenewedGrants,
  type RenewedGrantsOptions,
} from './renewed-grants.js';
