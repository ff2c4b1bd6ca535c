export {
  type IntentProblem,
  type RestoreError,
  type RestoreErrorCode,
  RestoreIntentError,
  RestoreTargetError,
  type ScratchProblem,
  ScratchUnavailableError,
  type TargetRule,
  UndoTaintedError,
  VerificationError,
  WorkspaceRestoreError,
  type WorkspaceRestoreFacts,
  type WorkspaceRestoreKind,
} from './errors.js';
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
export type { ReceiptNote, RecoveryAction, RecoveryResult, RestoreReceipt, Verified } from './receipt.js';
export type { ContentSink, RestoreSource, SourceScanOptions } from './source.js';
