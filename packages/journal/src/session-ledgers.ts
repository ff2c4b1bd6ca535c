import type { Ledger, LedgerCallOptions } from './ledger.js';

/**
 * What lies beside a session's ledger and can be read without opening it: `refs` (every ref the session needs and the
 * highest acknowledged tip), `summary` (what a list shows), `owner` (who has the ledger open).
 */
export type SessionNoteKind = 'refs' | 'summary' | 'owner';

/** Small records that are replaced as a whole. */
export interface SessionNotes {
  /** `undefined` when there is none. */
  read(
    sessionId: string,
    kind: SessionNoteKind,
    options?: LedgerCallOptions,
  ): Promise<Uint8Array | undefined>;
  /** Replaces the note; a reader sees the old or the new one. Durable when it resolves. */
  write(
    sessionId: string,
    kind: SessionNoteKind,
    bytes: Uint8Array,
    options?: LedgerCallOptions,
  ): Promise<void>;
}

export interface OpenSessionLedgerOptions extends LedgerCallOptions {
  /** Make the storage when the session has none. Default `false`: `SessionNotFoundError`. */
  readonly create?: boolean | undefined;
}

/** Where the ledgers of sessions live: one ledger per session id, or one engine for all of them. */
export interface SessionLedgers extends AsyncDisposable {
  /**
   * Present when a session's ledger is open to one process only: its notes then keep what others need to know. Absent
   * when every process can read the ledger itself.
   */
  readonly notes: SessionNotes | undefined;
  /** Tells whether the session has storage, without opening it. */
  exists(sessionId: string, options?: LedgerCallOptions): Promise<boolean>;
  /**
   * Opens the ledger of a session; the caller closes it. Several opens in one process share the storage.
   * @throws SessionNotFoundError when there is none and `create` is not set.
   * @throws LedgerInUseError when another process has it and it can be open only once.
   */
  open(sessionId: string, options?: OpenSessionLedgerOptions): Promise<Ledger>;
  /** Ids of existing sessions, sorted. */
  list(options?: LedgerCallOptions): AsyncIterable<string>;
  /** Removes ledger and notes; removing an absent session succeeds. */
  delete(sessionId: string, options?: LedgerCallOptions): Promise<void>;
  /** Canonical local directories that are written to; empty for remote ones. */
  storagePaths(): readonly string[];
  close(): Promise<void>;
}
