export { type DiskSyncOptions, diskSync, type WholeSync } from '@holdfast/durable';

export type {
  ApplyOptions,
  HostLock,
  LiveScanOptions,
  PreviewOptions,
  RestoreStep,
} from './apply-options.js';
export { applyRestore } from './apply-restore.js';
export {
  type RestoreError,
  type RestoreErrorCode,
  RestoreIntentError,
  type RestoreIntentKind,
  RestoreTargetError,
  ScratchUnavailableError,
  type ScratchUnavailableKind,
  type TargetRule,
  UndoTaintedError,
  VerificationError,
  WorkspaceRestoreError,
  type WorkspaceRestoreFacts,
  type WorkspaceRestoreKind,
} from './errors.js';
export { intentVersion, type RestoreIntent, type RestorePhase } from './intent.js';
export { reservedName } from './internal/reserved-name.js';
export type { BeforeState, NodeState, Operation, OperationAction } from './operation.js';
export { type RestoreOutcome, readOutcomes } from './outcomes.js';
export {
  type OwnerRecord,
  type OwnerRecordOptions,
  readOwner,
  type WriteOwnerOptions,
  writeOwner,
} from './owner-record.js';
export type {
  Change,
  ChangeKind,
  Conflict,
  ConflictReason,
  OnConflict,
  Prune,
  RestorePlan,
  Skipped,
  SkipReason,
} from './plan.js';
export type { ForeignChanges, PlanOptions } from './plan-options.js';
export { isEmptyPlan, planDigest, planRestore } from './plan-restore.js';
export { previewRestore } from './preview-restore.js';
export type { ReceiptNote, RecoveryAction, RecoveryResult, RestoreReceipt, Verified } from './receipt.js';
export { type ReconcileOptions, reconcile } from './reconcile.js';
export { type Liveness, type RecoverOptions, recover } from './recover.js';
export {
  noJournal,
  type RestoreAborted,
  type RestoreDraft,
  type RestoreJournal,
  type RestoreStarted,
  type RootIdentity,
} from './restore-journal.js';
export { insideScratchName, scratchPath } from './scratch.js';
export type { ContentSink, RestoreSource, SourceScanOptions } from './source.js';
export type {
  DiscardContext,
  PreparationContext,
  RestoreStrategy,
  ScratchPlacement,
  StrategyContext,
  StrategyContract,
} from './strategy.js';
export { type SwapOptions, swap } from './swap.js';
export { type SweepScratchOptions, type SweptScratch, sweepScratch } from './sweep-scratch.js';
export { type TargetLimits, validateTarget } from './validate-target.js';
