import { concatBytes, equalBytes, type Hints, sha256, throwIfAborted } from '@holdfast/base';
import {
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerConflictError,
  LedgerDeletedError,
  type LedgerDriver,
  type LedgerDriverOptions,
  type LedgerRange,
  type LedgerRecord,
  type LedgerSupports,
} from '@holdfast/journal';

import { PostgresStatementError } from './errors.js';
import type { Connection } from './internal/connection.js';
import type { WriteSettings } from './internal/settings.js';
import type { Statements } from './internal/statements.js';
import type { PostgresResult } from './query.js';

/** The largest record, in bytes. */
export const maxPostgresRecordBytes: number = 4 * 1_048_576;

const pageRows = 256;
const pageBytes = 1_048_576;
const namesPerPage = 500;

export interface LedgerDriverFacts {
  readonly connection: Connection;
  readonly statements: Statements;
  readonly settings: WriteSettings;
  readonly hints: Hints;
}

/** Whoever updates the ledger's row decides; the records of one append are one statement. */
export class PostgresLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly supports: LedgerSupports;
  readonly maxRecordBytes: number = maxPostgresRecordBytes;
  readonly #connection: Connection;
  readonly #statements: Statements;
  readonly #settings: WriteSettings;
  readonly #hints: Hints;

  constructor(facts: LedgerDriverFacts) {
    this.#connection = facts.connection;
    this.#statements = facts.statements;
    this.#settings = facts.settings;
    this.#hints = facts.hints;
    this.supports = Object.freeze({ follow: true, shared: true, durable: facts.settings.synchronous });
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    throwIfAborted(options.signal);
    const { create, extend } = this.#statements;
    const { lockTimeout, synchronous, tell } = this.#settings;
    const digests = records.map((data, at) => digestOf(expectedTip + 1 + at, data));
    let rows: PostgresResult['rows'];
    try {
      rows = await this.#connection.run(expectedTip === 0 ? create : extend, [
        name,
        expectedTip,
        records.map(asBuffer),
        digests.map(asBuffer),
        tell,
        lockTimeout,
        synchronous,
      ]);
    } catch (error) {
      if (PostgresStatementError.is(error) && error.definite) throw error;
      throw new LedgerAmbiguousError(name, expectedTip, { cause: error });
    }
    if (Number(rows[0]?.['written']) === records.length) return;
    throw new LedgerConflictError(name, expectedTip, await this.#actualTip(name, expectedTip));
  }

  async *read(
    name: string,
    range: LedgerRange,
    options: LedgerDriverOptions,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    let { from, to } = range;
    const { ledger, tip } = await this.#find(name);
    // The range was bounded by the tip: a ledger that is shorter now was deleted, and perhaps made anew.
    if (ledger === undefined || tip < to) throw new LedgerDeletedError(name, range.reverse ? to : from);
    let left = range.limit;
    while (from <= to && left > 0) {
      throwIfAborted(options.signal);
      const rows = await this.#page(ledger, from, to, Math.min(left, pageRows), range.reverse);
      if (rows.length === 0) {
        await this.#explainAbsence(name, ledger, range.reverse ? to : from);
        return;
      }
      for (const row of rows) {
        const record = recordOf(name, row);
        yield record;
        if (range.reverse) to = record.seq - 1;
        else from = record.seq + 1;
      }
      left -= rows.length;
    }
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    using wait = this.#hints.listen(name);
    // Asked after the listening began, so that no news falls in between.
    if ((await this.tip(name)) !== tip) return;
    await wait.until(this.#settings.pollMilliseconds, options.signal);
  }

  async tip(name: string): Promise<number> {
    return (await this.#find(name)).tip;
  }

  async *list(prefix: string, options: LedgerDriverOptions): AsyncGenerator<string, void, undefined> {
    let after = prefix;
    let leaveOut = false;
    for (;;) {
      throwIfAborted(options.signal);
      // No character of a name is above this one.
      const rows = await this.#connection.run(this.#statements.names, [
        after,
        `${prefix}\u007f`,
        namesPerPage,
        leaveOut,
      ]);
      for (const row of rows) yield String(row['name']);
      if (rows.length < namesPerPage) return;
      after = String(rows.at(-1)?.['name']);
      leaveOut = true;
    }
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    throwIfAborted(options.signal);
    const { lockTimeout, synchronous, tell } = this.#settings;
    try {
      await this.#connection.runAgain(this.#statements.remove, [name, tell, lockTimeout, synchronous]);
    } catch (error) {
      if (PostgresStatementError.is(error) && error.definite) throw error;
      // Without the claim that nothing was written: calling again settles it.
      throw new LedgerBackendError('delete', name, { cause: error, retryable: true });
    }
  }

  async close(): Promise<void> {
    // Connections belong to whoever opened them, and news to the storage.
  }

  async #find(name: string): Promise<{ readonly ledger: unknown; readonly tip: number }> {
    const [row] = await this.#connection.run(this.#statements.tip, [name]);
    return row === undefined ? { ledger: undefined, tip: 0 } : { ledger: row['id'], tip: Number(row['tip']) };
  }

  /** For the message of a conflict; not knowing it changes nothing. */
  async #actualTip(name: string, expected: number): Promise<number | undefined> {
    const tip = await this.tip(name).catch(() => undefined);
    return tip === expected ? undefined : tip;
  }

  async #page(
    ledger: unknown,
    from: number,
    to: number,
    rows: number,
    reverse: boolean,
  ): Promise<PostgresResult['rows']> {
    const { page, pageBack } = this.#statements;
    return await this.#connection.run(reverse ? pageBack : page, [ledger, from, to, rows, pageBytes]);
  }

  /** Records that are gone with their ledger were deleted; a ledger that was made anew is another one. */
  async #explainAbsence(name: string, ledger: unknown, seq: number): Promise<void> {
    const rows = await this.#connection.run(this.#statements.present, [ledger]);
    if (rows.length === 0) throw new LedgerDeletedError(name, seq);
    throw new JournalCorruptError(name, 'missing', { seq });
  }
}

function recordOf(name: string, row: PostgresResult['rows'][number]): LedgerRecord {
  const { digest, data } = row;
  const seq = Number(row['seq']);
  if (!(digest instanceof Uint8Array) || !(data instanceof Uint8Array)) {
    throw new TypeError('the client must give bytea values as Uint8Array');
  }
  if (!equalBytes(digest, digestOf(seq, data)))
    throw new JournalCorruptError(name, 'digest-mismatch', { seq });
  return { seq, data };
}

/** Of the place as well: two records that changed places are damage too. */
function digestOf(seq: number, data: Uint8Array): Uint8Array {
  const place = new Uint8Array(8);
  new DataView(place.buffer).setBigUint64(0, BigInt(seq));
  return sha256(concatBytes([place, data]));
}

/** Clients send Buffers as `bytea`, and other arrays as who knows what. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
