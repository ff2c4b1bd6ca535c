export {
  type CanonicalPath,
  containsPath,
  parseCanonicalPath,
  pathComponents,
  tryParseCanonicalPath,
} from './canonical-path.js';
export {
  type AcquireOptions,
  Coordinator,
  type CoordinatorOptions,
  type HealthOptions,
} from './coordinator.js';
export {
  type BlockerFields,
  CoordinatorClosedError,
  type CoordinatorErrorCode,
  CoordinatorUnhealthyError,
  InvalidRequestError,
  InvalidScopeError,
  PermitUnavailableError,
  type RequestRule,
  type ScopeRule,
  type UnavailableKind,
} from './errors.js';
export type {
  CoordinatorReport,
  Holder,
  Permit,
  PermitRecord,
  QueuedRecord,
  SuspensionRecord,
} from './permit.js';
export type { Group, LifetimeAccess, Operation, PermitRequest } from './request.js';
