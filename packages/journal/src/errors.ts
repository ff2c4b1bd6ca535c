import { type ErrorFields, HoldfastError, type JsonValue, quote } from '@holdfast/base';
import { ownerText } from '@holdfast/lease';

/** Options of the errors that wrap something. */
export interface LedgerErrorOptions {
  readonly cause?: unknown;
}

/** The tip was not the expected one; definite: nothing was written. */
export class LedgerConflictError extends HoldfastError {
  static override readonly code = 'JOURNAL_CONFLICT';
  declare readonly code: 'JOURNAL_CONFLICT';
  declare readonly ledgerName: string;
  /** The tip that the caller expected. */
  declare readonly expected: number;
  /** The tip that was found, where the backend said so. */
  declare readonly actual: number | undefined;

  constructor(ledgerName: string, expected: number, actual?: number, options: LedgerErrorOptions = {}) {
    const found = actual === undefined ? 'another' : String(actual);
    super(
      `append to ledger ${quote(ledgerName)} refused: expected tip ${String(expected)}, found ${found}; nothing was written`,
      { cause: options.cause, fields: { ledgerName, expected, actual }, effect: 'none' },
    );
  }
}

/** The outcome of an append is unknown: the records may be there, now or later. */
export class LedgerAmbiguousError extends HoldfastError {
  static override readonly code = 'JOURNAL_AMBIGUOUS';
  declare readonly code: 'JOURNAL_AMBIGUOUS';
  declare readonly ledgerName: string;
  declare readonly expected: number;

  constructor(ledgerName: string, expected: number, options: LedgerErrorOptions = {}) {
    super(
      `append to ledger ${quote(ledgerName)} after tip ${String(expected)} has an unknown outcome; use appendDefinite, or read the tip before writing again`,
      { cause: options.cause, fields: { ledgerName, expected }, effect: 'unknown' },
    );
  }
}

/** A retry and a read-back could not settle what an append did. */
export class AppendVerifyError extends HoldfastError {
  static override readonly code = 'JOURNAL_APPEND_VERIFY';
  declare readonly code: 'JOURNAL_APPEND_VERIFY';
  declare readonly ledgerName: string;
  declare readonly expected: number;

  constructor(ledgerName: string, expected: number, options: LedgerErrorOptions = {}) {
    super(
      `append to ledger ${quote(ledgerName)} after tip ${String(expected)} could not be verified: its outcome is still unknown after a retry and a read`,
      { cause: options.cause, fields: { ledgerName, expected }, effect: 'unknown' },
    );
  }
}

/** The ledger, or the storage behind it, was closed. */
export class LedgerClosedError extends HoldfastError {
  static override readonly code = 'JOURNAL_LEDGER_CLOSED';
  declare readonly code: 'JOURNAL_LEDGER_CLOSED';

  constructor() {
    super('the ledger is closed: open it again to use it', { effect: 'none' });
  }
}

/** The storage engine failed. On mutating calls this is definite: nothing was written. */
export class LedgerBackendError extends HoldfastError {
  static override readonly code = 'JOURNAL_BACKEND';
  declare readonly code: 'JOURNAL_BACKEND';
  /** The method that failed, for example `append`. */
  declare readonly operation: string;
  declare readonly ledgerName: string | undefined;

  constructor(
    operation: string,
    ledgerName: string | undefined,
    options: LedgerErrorOptions & {
      readonly mutation?: boolean | undefined;
      readonly retryable?: boolean | undefined;
    } = {},
  ) {
    const where = ledgerName === undefined ? '' : ` of ledger ${quote(ledgerName)}`;
    super(`${operation}${where} failed in the storage backend`, {
      cause: options.cause,
      fields: { operation, ledgerName },
      effect: options.mutation === true ? 'none' : undefined,
      retryable: options.retryable ?? false,
    });
  }
}

/** A record is larger than the backend takes; nothing was written. */
export class LedgerRecordTooLargeError extends HoldfastError {
  static override readonly code = 'JOURNAL_RECORD_TOO_LARGE';
  declare readonly code: 'JOURNAL_RECORD_TOO_LARGE';
  declare readonly ledgerName: string;
  /** Bytes of the record. */
  declare readonly size: number;
  /** The most bytes that one record may have. */
  declare readonly limit: number;

  constructor(ledgerName: string, size: number, limit: number) {
    super(
      `append to ledger ${quote(ledgerName)} refused: a record has ${String(size)} bytes, at most ${String(limit)} are taken`,
      { fields: { ledgerName, size, limit }, effect: 'none' },
    );
  }
}

/** Another process, or another handle of this one, has the storage open, and it can be open only once. */
export class LedgerInUseError extends HoldfastError {
  static override readonly code = 'JOURNAL_IN_USE';
  declare readonly code: 'JOURNAL_IN_USE';
  /** What is in use: a session id or a directory. */
  declare readonly subject: string;
  /** What the owner wrote about itself (process id, host, since when); absent when it could not be read. */
  declare readonly owner: Readonly<Record<string, JsonValue>> | undefined;

  constructor(
    subject: string,
    owner: Readonly<Record<string, JsonValue>> | undefined,
    options: LedgerErrorOptions = {},
  ) {
    super(
      `ledger of ${quote(subject)} is in use by ${ownerText(owner)}: reach it through its owner, or end that process`,
      {
        cause: options.cause,
        fields: { subject, owner },
        effect: 'none',
      },
    );
  }
}

/** The ledger was deleted while it was being read or followed. */
export class LedgerDeletedError extends HoldfastError {
  static override readonly code = 'JOURNAL_LEDGER_DELETED';
  declare readonly code: 'JOURNAL_LEDGER_DELETED';
  declare readonly ledgerName: string;
  /** The next sequence that the reader wanted. */
  declare readonly seq: number;

  constructor(ledgerName: string, seq: number) {
    super(`ledger ${quote(ledgerName)} was deleted while it was read: record ${String(seq)} is gone`, {
      fields: { ledgerName, seq },
    });
  }
}

/** What contradicts itself in stored records. */
export type JournalCorruptKind =
  | 'gap'
  | 'missing'
  | 'undecodable'
  | 'digest-mismatch'
  | 'chain-broken'
  | 'sequence-mismatch'
  | 'epoch-order'
  | 'event-invalid'
  | 'index-invalid'
  | 'body-missing'
  | 'body-mismatch'
  | 'shorter-than-recorded'
  | 'refs-unreadable'
  | 'foreign-record'
  | 'storage';

/** Stored records contradict themselves or what was acknowledged: never reported as absence, never skipped. */
export class JournalCorruptError extends HoldfastError {
  static override readonly code = 'JOURNAL_CORRUPT';
  declare readonly code: 'JOURNAL_CORRUPT';
  /** The ledger or session that is damaged. */
  declare readonly subject: string;
  declare readonly kind: JournalCorruptKind;
  /** The sequence at which it was found, where there is one. */
  declare readonly seq: number | undefined;

  constructor(
    subject: string,
    kind: JournalCorruptKind,
    options: LedgerErrorOptions & {
      readonly seq?: number | undefined;
      readonly detail?: string | undefined;
    } = {},
  ) {
    const at = options.seq === undefined ? '' : ` at record ${String(options.seq)}`;
    const detail = options.detail === undefined ? '' : `: ${options.detail}`;
    super(`journal ${quote(subject)} is damaged${at} (${kind})${detail}`, {
      cause: options.cause,
      fields: { subject, kind, seq: options.seq } satisfies ErrorFields,
    });
  }
}
