// What callers of a session meet besides its own: the errors of what it is made of, plans and receipts.
export { PermitUnavailableError } from '@holdfast/coordinator';
export {
  type RestorePlan,
  type RestoreReceipt,
  ScratchUnavailableError,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
} from '@holdfast/restore';
export { MaterializeError } from '@holdfast/workspacestore';
export { ControlClient } from './control/control-client.js';
export {
  ControlCallError,
  ControlUnavailableError,
  type ControlUnavailableKind,
} from './control/errors.js';
export {
  type ControlDescription,
  type ControlMethod,
  type ControlMethods,
  controlProtocol,
  type EventsPage,
  type RemotePreviewOptions,
  type RemoteRestoreOptions,
} from './control/protocol.js';
export type {
  BoundaryCause,
  BoundaryKind,
  BoundaryOptions,
  CallOptions,
  SessionCheckpoint,
  SessionController,
} from './controller.js';
export {
  CheckpointError,
  type CheckpointErrorKind,
  type FaultKind,
  type FaultReason,
  type MissingKind,
  SessionClosedError,
  type SessionError,
  type SessionErrorCode,
  type SessionErrorOptions,
  SessionFaultedError,
  SessionPointError,
  ShutdownError,
  type ShutdownPhase,
  ToolCallError,
  type ToolErrorKind,
  WorkspaceNotConfiguredError,
} from './errors.js';
export { FaultLatch, type SessionFault } from './fault.js';
export type { BoundaryResult } from './internal/checkpoint-runner.js';
export { noticeChannelName } from './internal/notices.js';
export { forkPoint, type ResolvedPoint } from './internal/points.js';
export {
  decodeRestoreRecord,
  encodeRestoreRecord,
  type RestoreRecord,
  type RewindRecord,
  recordsOfRestore,
} from './internal/restore-record.js';
export { defaultShutdownDeadlines, type ShutdownDeadlines } from './internal/shutdown.js';
export type { LoopState, SessionPhase, SessionState } from './lifecycle.js';
export {
  type AnyLoop,
  type BoundTools,
  defineLoop,
  type LoopDefinition,
  type StepOptions,
  type Submission,
  type TurnContext,
  type TurnOutcome,
} from './loop.js';
export type { NoticeListener, SessionNotice } from './notice.js';
export { createObservations, type Observation, type Observations } from './observations.js';
export {
  bestEffortWait,
  defaultSnapshotTimeout,
  type SnapshotPolicy,
  type SnapshotPriority,
  type SnapshotTrigger,
} from './policy.js';
export type { PreviewRestoreOptions, RestoreWorkspaceOptions } from './restore-options.js';
export { SessionRuntime } from './runtime.js';
export type { ForkOrigin, ForkPoint, RuntimeParts, RuntimeWorkspace } from './runtime-parts.js';
export type { EventsOptions, InterruptOptions, Session, SubmitOptions } from './session.js';
export type { StandardResult, StandardSchema } from './standard-schema.js';
export {
  type AnyTool,
  type BoundTool,
  defineTool,
  type ToolCall,
  type ToolCallOptions,
  type ToolContext,
  type ToolDefinition,
  type ToolNeeds,
  type ToolWorkspace,
} from './tool.js';
export type { PlacementCapture, PlacementMode, SessionWorkspace } from './workspace.js';
export { type OwnWrites, WriteTracker } from './write-tracker.js';
