export type {
  LedgerDriver,
  LedgerDriverOptions,
  LedgerRange,
  LedgerRecord,
  LedgerSupports,
} from './driver.js';
export {
  AppendVerifyError,
  type CorruptionProblem,
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerConflictError,
  LedgerDeletedError,
  LedgerInUseError,
  LedgerRecordTooLargeError,
} from './errors.js';
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
export {
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
export type {
  OpenSessionLedgerOptions,
  SessionLedgers,
  SessionNoteKind,
  SessionNotes,
} from './session-ledgers.js';
export { journalLedgerName, sharedSessionLedgers } from './shared-session-ledgers.js';
