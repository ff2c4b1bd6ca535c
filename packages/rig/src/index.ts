// What callers of a rig and of its sessions meet besides its own errors.
export { JournalFencedError, SessionNotFoundError } from '@holdfast/journal';
export { LeaseHeldError, LeaseLostError } from '@holdfast/lease';
export {
  CheckpointError,
  type CheckpointErrorKind,
  MaterializeError,
  PermitUnavailableError,
  ScratchUnavailableError,
  SessionClosedError,
  SessionFaultedError,
  SessionPointError,
  ShutdownError,
  WorkspaceNotConfiguredError,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
} from '@holdfast/session';
export { defineRig } from './define-rig.js';
export {
  type DriftDifference,
  PersistenceOverlapError,
  RigDefinitionError,
  type RigDefinitionErrorKind,
  type RigError,
  type RigErrorCode,
  type RigErrorOptions,
  SessionOpeningError,
  SnapshotPolicyError,
  type SnapshotPolicyErrorKind,
  WorkspaceDriftError,
  WorkspacePlacementError,
  type WorkspacePlacementErrorKind,
  WorkspaceRelocatedError,
  WorkspaceRootBusyError,
  WorkspaceRootNestedError,
  WorkspaceSeedError,
  type WorkspaceSeedErrorKind,
} from './errors.js';
export { type NestedRootsOptions, refuseNestedRoots } from './internal/nested-roots.js';
export { rootLeaseName } from './internal/resolve-placement.js';
export { acquireRootLease, type RootLeaseOptions } from './internal/root-lease.js';
export type { DriftReport, OpenedSession, OpeningReport } from './opened-session.js';
export {
  type ExclusivePlacement,
  type ExclusivePlacementOptions,
  exclusiveWorkspace,
  type FixedPlacementOptions,
  type PerSessionPlacement,
  type PlacementOptions,
  type SharedPlacement,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
} from './placement.js';
export { type DeleteSessionOptions, Rig } from './rig.js';
export type { RigFragment, SnapshotOptions } from './rig-options.js';
export { type RootLockOptions, rootLock } from './root-lock.js';
export type {
  DriftPolicy,
  ForkSessionOptions,
  NewSessionOptions,
  OpenSessionOptions,
} from './session-options.js';
