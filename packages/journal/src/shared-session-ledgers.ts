import { LedgerClosedError } from './errors.js';
import type { Ledger, LedgerCallOptions } from './ledger.js';
import { prefixLedger } from './prefix-ledger.js';
import { SessionNotFoundError } from './session-errors.js';
import { isSessionId, parseSessionId } from './session-id.js';
import type { OpenSessionLedgerOptions, SessionLedgers } from './session-ledgers.js';

/** The name that a session's journal has inside its ledger. */
export const journalLedgerName = 'journal';

/**
 * Makes session ledgers out of one ledger that holds many names, such as a database server's: session `id` has the names
 * below `sessions/<id>/`. Closing them leaves `ledger` open.
 */
export function sharedSessionLedgers(ledger: Ledger): SessionLedgers {
  return new SharedSessionLedgers(ledger);
}

class SharedSessionLedgers implements SessionLedgers {
  readonly notes: undefined = undefined;
  readonly #ledger: Ledger;
  #closed = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async exists(sessionId: string, options: LedgerCallOptions = {}): Promise<boolean> {
    this.#check();
    parseSessionId(sessionId);
    return (await this.#ledger.tip(`sessions/${sessionId}/${journalLedgerName}`, options)) > 0;
  }

  async open(sessionId: string, options: OpenSessionLedgerOptions = {}): Promise<Ledger> {
    if (!(await this.exists(sessionId, options)) && options.create !== true) {
      throw new SessionNotFoundError(sessionId);
    }
    return prefixLedger(this.#ledger, `sessions/${sessionId}`);
  }

  async *list(options: LedgerCallOptions = {}): AsyncGenerator<string, void, undefined> {
    this.#check();
    for await (const name of this.#ledger.list('sessions/', options)) {
      const [, id, rest] = name.split('/');
      if (isSessionId(id) && rest === journalLedgerName) yield id;
    }
  }

  async delete(sessionId: string, options: LedgerCallOptions = {}): Promise<void> {
    this.#check();
    parseSessionId(sessionId);
    const names: string[] = [];
    for await (const name of this.#ledger.list(`sessions/${sessionId}/`, options)) names.push(name);
    for (const name of names) await this.#ledger.delete(name, options);
  }

  storagePaths(): readonly string[] {
    return this.#ledger.storagePaths();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(): void {
    if (this.#closed) throw new LedgerClosedError();
  }
}
