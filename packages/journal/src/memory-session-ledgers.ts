import { throwIfAborted } from '@holdfast/base';
import type { LedgerDriver } from './driver.js';
import { LedgerClosedError } from './errors.js';
import { Ledger, type LedgerCallOptions, type LedgerOptions } from './ledger.js';
import { MemoryLedgerDriver, MemoryLedgerStorage } from './memory-ledger.js';
import { SessionNotFoundError } from './session-errors.js';
import { parseSessionId } from './session-id.js';
import type {
  OpenSessionLedgerOptions,
  SessionLedgers,
  SessionNoteKind,
  SessionNotes,
} from './session-ledgers.js';

/** What several `memorySessionLedgers` look at; keep it to reopen sessions in a test. */
export class MemorySessionStorage {
  /** @internal */
  readonly sessions: Map<string, MemoryLedgerStorage> = new Map();
  /** @internal */
  readonly notes: Map<string, Uint8Array> = new Map();
}

export interface MemorySessionLedgersOptions extends LedgerOptions {
  /** Default: a fresh storage that nobody else sees. */
  readonly storage?: MemorySessionStorage | undefined;
  /** Keep notes, as an engine that one process opens must. Default `true`. */
  readonly notes?: boolean | undefined;
  /** Goes around the driver of each ledger that is opened: what a test does to the journal of a session. */
  readonly layer?: ((driver: LedgerDriver, sessionId: string) => LedgerDriver) | undefined;
}

/** Opens session ledgers in memory. Nothing survives the process. */
export function memorySessionLedgers(options: MemorySessionLedgersOptions = {}): SessionLedgers {
  return new MemorySessionLedgers(options);
}

class MemorySessionLedgers implements SessionLedgers {
  readonly notes: SessionNotes | undefined;
  readonly #options: MemorySessionLedgersOptions;
  readonly #storage: MemorySessionStorage;
  readonly #open = new Set<Ledger>();
  #closed = false;

  constructor(options: MemorySessionLedgersOptions) {
    this.#options = options;
    this.#storage = options.storage ?? new MemorySessionStorage();
    this.notes = (options.notes ?? true) ? this.#makeNotes() : undefined;
  }

  async exists(sessionId: string, options: LedgerCallOptions = {}): Promise<boolean> {
    this.#check(options.signal);
    return this.#storage.sessions.has(parseSessionId(sessionId));
  }

  async open(sessionId: string, options: OpenSessionLedgerOptions = {}): Promise<Ledger> {
    this.#check(options.signal);
    parseSessionId(sessionId);
    let storage = this.#storage.sessions.get(sessionId);
    if (storage === undefined) {
      if (options.create !== true) throw new SessionNotFoundError(sessionId);
      storage = new MemoryLedgerStorage();
      this.#storage.sessions.set(sessionId, storage);
    }
    const driver = new MemoryLedgerDriver({ storage });
    const ledger = new Ledger(this.#options.layer?.(driver, sessionId) ?? driver, this.#options);
    this.#open.add(ledger);
    return ledger;
  }

  async *list(options: LedgerCallOptions = {}): AsyncGenerator<string, void, undefined> {
    for (const id of [...this.#storage.sessions.keys()].sort()) {
      this.#check(options.signal);
      yield id;
    }
  }

  async delete(sessionId: string, options: LedgerCallOptions = {}): Promise<void> {
    this.#check(options.signal);
    parseSessionId(sessionId);
    this.#storage.sessions.delete(sessionId);
    for (const key of this.#storage.notes.keys()) {
      if (key.startsWith(`${sessionId}/`)) this.#storage.notes.delete(key);
    }
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((ledger) => ledger.close()));
    this.#open.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(signal?: AbortSignal): void {
    if (this.#closed) throw new LedgerClosedError();
    throwIfAborted(signal);
  }

  #makeNotes(): SessionNotes {
    return {
      read: async (sessionId: string, kind: SessionNoteKind, options: LedgerCallOptions = {}) => {
        this.#check(options.signal);
        return this.#storage.notes.get(`${parseSessionId(sessionId)}/${kind}`)?.slice();
      },
      write: async (
        sessionId: string,
        kind: SessionNoteKind,
        bytes: Uint8Array,
        options: LedgerCallOptions = {},
      ) => {
        this.#check(options.signal);
        this.#storage.notes.set(`${parseSessionId(sessionId)}/${kind}`, bytes.slice());
      },
    };
  }
}
