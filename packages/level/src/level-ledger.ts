import {
  Ledger,
  type LedgerDriver,
  type LedgerDriverOptions,
  type LedgerOptions,
  type LedgerRange,
  type LedgerRecord,
  type LedgerSupports,
} from '@holdfast/journal';

import { LevelCore } from './internal/level-core.js';
import type { LevelDatabase } from './level-database.js';

/** The largest record, in bytes. */
export const maxLevelRecordBytes: number = 4 * 1_048_576;

export interface LevelLedgerOptions extends LedgerOptions {
  /** Whether a synced write survives power loss. Default: what the database says about its permanence. */
  readonly durable?: boolean | undefined;
}

/**
 * Opens a ledger over an open abstract-level database, which nobody else must write to: closing the ledger closes it.
 * Every append is one synced batch. After a failed write the database is closed, opened and read before anything else.
 */
export function levelLedger(database: LevelDatabase, options: LevelLedgerOptions = {}): Ledger {
  const core = new LevelCore(database);
  const durable = options.durable ?? database.supports.permanence ?? false;
  return new Ledger(
    new LevelLedgerDriver(core, { durable, paths: [], release: () => core.close() }),
    options,
  );
}

/** @internal One view of the ledgers of a database. */
export class LevelLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly supports: LedgerSupports;
  readonly maxRecordBytes: number = maxLevelRecordBytes;
  readonly #core: LevelCore;
  readonly #paths: readonly string[];
  readonly #release: () => Promise<void>;

  constructor(
    core: LevelCore,
    facts: {
      readonly durable: boolean;
      readonly paths: readonly string[];
      readonly release: () => Promise<void>;
    },
  ) {
    this.#core = core;
    this.supports = Object.freeze({ follow: true, shared: false, durable: facts.durable });
    this.#paths = facts.paths;
    this.#release = facts.release;
  }

  storagePaths(): readonly string[] {
    return this.#paths;
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    await this.#core.append(name, expectedTip, records, options.signal);
  }

  read(name: string, range: LedgerRange, options: LedgerDriverOptions): AsyncIterable<LedgerRecord> {
    return this.#core.read(name, range, options.signal);
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#core.changed(name, tip, options.signal);
  }

  async tip(name: string): Promise<number> {
    return await this.#core.tip(name);
  }

  list(prefix: string, options: LedgerDriverOptions): AsyncIterable<string> {
    return this.#core.list(prefix, options.signal);
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    await this.#core.delete(name, options.signal);
  }

  async close(): Promise<void> {
    await this.#release();
  }
}
