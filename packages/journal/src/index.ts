export type {
  LedgerDriver,
  LedgerDriverOptions,
  LedgerRange,
  LedgerRecord,
  LedgerSupports,
} from './driver.js';
export {
  AppendVerifyError,
  JournalCorruptError,
  type JournalCorruptKind,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerConflictError,
  LedgerDeletedError,
  LedgerInUseError,
  LedgerRecordTooLargeError,
} from './errors.js';
export type {
  CatalogueBodies,
  CatalogueType,
  CheckpointCause,
  CheckpointConsistency,
  CheckpointCoverage,
  CheckpointStats,
  CheckpointTrigger,
  ConversationRewoundBody,
  EventFailure,
  LoopIdleBody,
  LoopStartedBody,
  PrivateBodies,
  PrivateType,
  RestoreAbortedBody,
  RestorePreparedBody,
  RestoreStartedBody,
  SessionActiveBody,
  SessionIdleBody,
  SessionPlacement,
  SessionRestoredBody,
  SessionStartedBody,
  SessionStoppedBody,
  StepDoneBody,
  TitleBody,
  TurnDoneBody,
  TurnFailedBody,
  TurnInterruptedBody,
  TurnStartedBody,
  WorkspaceCheckpointedBody,
  WorkspaceCheckpointFailedBody,
  WorkspaceRestoredBody,
} from './event-bodies.js';
export {
  catalogueTypes,
  checkEvent,
  checkPrivate,
  checkpointTriggers,
  checkStoredEvent,
  isCatalogueType,
} from './event-catalogue.js';
export type {
  Appended,
  ApplicationType,
  BatchInput,
  CatalogueEvent,
  EventBody,
  EventInput,
  EventOf,
  PreparedEvent,
  PrivateBody,
  PrivateInput,
  SessionEvent,
} from './event-input.js';
export {
  effectiveRanges,
  emptyFold,
  type FoldedCheckpoint,
  type FoldedRestore,
  type FoldedRestored,
  type FoldedWorkspace,
  type FoldInput,
  foldRecord,
  type OpenTurn,
  type Rewind,
  type SequenceRange,
  type SessionFold,
} from './fold.js';
export { isJournalError, type JournalError, type JournalErrorCode } from './journal-error.js';
export type { CheckpointInfo, NeededRef } from './journal-queries.js';
export type {
  EventsOptions,
  FollowEventsOptions,
  JournalCallOptions,
  JournalReading,
  JournalVerification,
  RecordsOptions,
} from './journal-reading.js';
export {
  type AppendResult,
  Ledger,
  type LedgerCallOptions,
  type LedgerFollowOptions,
  type LedgerOptions,
  type LedgerReadOptions,
} from './ledger.js';
export {
  MemoryLedgerDriver,
  type MemoryLedgerOptions,
  MemoryLedgerStorage,
  memoryLedger,
} from './memory-ledger.js';
export {
  type MemorySessionLedgersOptions,
  MemorySessionStorage,
  memorySessionLedgers,
} from './memory-session-ledgers.js';
export { prefixLedger } from './prefix-ledger.js';
export { parsePreparedEvent } from './prepared-event.js';
export {
  isRecordId,
  type JournalRecord,
  maxRecordIdLength,
  type PointerBody,
  type RecordKind,
  type ResolvedRecord,
} from './record.js';
export { decodeRefsNote, encodeRefsNote, type RefsNote } from './refs-note.js';
export {
  AmbiguousSessionIdError,
  EventInvalidError,
  type EventRule,
  IdempotencyCollisionError,
  JournalClosedError,
  JournalEpochError,
  JournalFencedError,
  JournalVersionError,
  SessionExistsError,
  SessionNotFoundError,
} from './session-errors.js';
export { InvalidSessionIdError, isSessionId, newSessionId, parseSessionId } from './session-id.js';
export { SessionJournal } from './session-journal.js';
export type {
  OpenSessionLedgerOptions,
  SessionLedgers,
  SessionNoteKind,
  SessionNotes,
} from './session-ledgers.js';
export {
  type CreateSessionOptions,
  type DeleteSessionOptions,
  type OpenSessionOptions,
  SessionStore,
  type SessionStoreParts,
  sessionLeaseName,
} from './session-store.js';
export { decodeSummary, encodeSummary, type SessionSummary } from './session-summary.js';
export { SessionView } from './session-view.js';
export { journalLedgerName, sharedSessionLedgers } from './shared-session-ledgers.js';
