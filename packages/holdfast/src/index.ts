// One install that works: the embedded stack, and what an application needs to define a rig over it and to
// match its errors: `Class.is(error)`, `error.kind`, `findCause`.

export { type WorkspaceTools, workspaceTools } from '@holdfast/agent-tools';
export { findCause, HoldfastError, isHoldfastError } from '@holdfast/base';
export { HomeError } from '@holdfast/cli';
export {
  CheckpointError,
  type CheckpointErrorKind,
  defineRig,
  exclusiveWorkspace,
  JournalFencedError,
  LeaseHeldError,
  LeaseLostError,
  MaterializeError,
  type OpenedSession,
  PermitUnavailableError,
  PersistenceOverlapError,
  type Rig,
  RigDefinitionError,
  type RigDefinitionErrorKind,
  type RigFragment,
  ScratchUnavailableError,
  SessionClosedError,
  SessionFaultedError,
  SessionNotFoundError,
  SessionOpeningError,
  SessionPointError,
  ShutdownError,
  SnapshotPolicyError,
  type SnapshotPolicyErrorKind,
  sessionWorkspaces,
  sharedWorkspace,
  WorkspaceDriftError,
  WorkspaceNotConfiguredError,
  type WorkspacePlacement,
  WorkspacePlacementError,
  type WorkspacePlacementErrorKind,
  WorkspaceRelocatedError,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
  WorkspaceRootBusyError,
  WorkspaceRootNestedError,
  WorkspaceSeedError,
  type WorkspaceSeedErrorKind,
} from '@holdfast/rig';
export {
  defineLoop,
  defineTool,
  type Session,
  type SessionController,
  type TurnContext,
} from '@holdfast/session';

export { type ContentKey, parseRef, type Ref, tryParseRef } from '@holdfast/workspacestore';
export { type Local, type OpenLocalOptions, openLocal } from './open-local.js';
