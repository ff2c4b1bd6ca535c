import { isHoldfastError } from '@holdfast/base';

import type {
  AppendVerifyError,
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerConflictError,
  LedgerDeletedError,
  LedgerInUseError,
  LedgerRecordTooLargeError,
} from './errors.js';
import type {
  AmbiguousSessionIdError,
  EventInvalidError,
  IdempotencyCollisionError,
  JournalClosedError,
  JournalEpochError,
  JournalFencedError,
  JournalVersionError,
  SessionExistsError,
  SessionNotFoundError,
} from './session-errors.js';
import type { InvalidSessionIdError } from './session-id.js';

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type JournalError =
  | AmbiguousSessionIdError
  | AppendVerifyError
  | EventInvalidError
  | IdempotencyCollisionError
  | InvalidSessionIdError
  | JournalClosedError
  | JournalCorruptError
  | JournalEpochError
  | JournalFencedError
  | JournalVersionError
  | LedgerAmbiguousError
  | LedgerBackendError
  | LedgerClosedError
  | LedgerConflictError
  | LedgerDeletedError
  | LedgerInUseError
  | LedgerRecordTooLargeError
  | SessionExistsError
  | SessionNotFoundError;

export type JournalErrorCode = JournalError['code'];

/** Tells whether `value` is one of this package's errors. */
export function isJournalError(value: unknown): value is JournalError {
  return isHoldfastError(value) && value.code.startsWith('JOURNAL_');
}
