import { brokenNameRule, InvalidNameError, parseName } from '@holdfast/base';

import type {
  LedgerDriver,
  LedgerDriverOptions,
  LedgerRange,
  LedgerRecord,
  LedgerSupports,
} from './driver.js';
import {
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerConflictError,
  LedgerDeletedError,
} from './errors.js';
import { Ledger, type LedgerOptions } from './ledger.js';

/**
 * Opens a view of `ledger` in which every name is below `prefix` + `/`. Closing the view leaves `ledger` open; closing
 * `ledger` closes the view.
 * @throws InvalidNameError when the prefix is not a legal name.
 */
export function prefixLedger(ledger: Ledger, prefix: string, options: LedgerOptions = {}): Ledger {
  return new Ledger(new PrefixLedgerDriver(ledger, parseName(prefix)), options);
}

class PrefixLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly #inner: Ledger;
  readonly #prefix: string;

  constructor(inner: Ledger, prefix: string) {
    this.#inner = inner;
    this.#prefix = `${prefix}/`;
  }

  get supports(): LedgerSupports {
    return this.#inner.supports;
  }

  get maxRecordBytes(): number {
    return this.#inner.maxRecordBytes;
  }

  storagePaths(): readonly string[] {
    return this.#inner.storagePaths();
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    await this.#renaming(name, (full) => this.#inner.append(full, expectedTip, records, options));
  }

  async *read(
    name: string,
    range: LedgerRange,
    options: LedgerDriverOptions,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    try {
      yield* this.#inner.read(this.#full(name), { ...range, signal: options.signal });
    } catch (error) {
      throw renamed(error, name);
    }
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#renaming(name, (full) => this.#inner.changed(full, tip, options));
  }

  async tip(name: string, options: LedgerDriverOptions): Promise<number> {
    return await this.#renaming(name, (full) => this.#inner.tip(full, options));
  }

  async *list(prefix: string, options: LedgerDriverOptions): AsyncGenerator<string, void, undefined> {
    for await (const name of this.#inner.list(this.#prefix + prefix, options)) {
      yield name.slice(this.#prefix.length);
    }
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    await this.#renaming(name, (full) => this.#inner.delete(full, options));
  }

  async close(): Promise<void> {
    // The ledger below belongs to whoever opened it.
  }

  #full(name: string): string {
    const full = this.#prefix + name;
    const rule = brokenNameRule(full);
    if (rule !== undefined) throw new InvalidNameError(name, rule);
    return full;
  }

  async #renaming<T>(name: string, work: (full: string) => Promise<T>): Promise<T> {
    try {
      return await work(this.#full(name));
    } catch (error) {
      throw renamed(error, name);
    }
  }
}

/** Callers of the view know the short name; the original stays as the cause. */
function renamed(error: unknown, name: string): unknown {
  if (LedgerConflictError.is(error)) {
    return new LedgerConflictError(name, error.expected, error.actual, { cause: error });
  }
  if (LedgerAmbiguousError.is(error)) return new LedgerAmbiguousError(name, error.expected, { cause: error });
  if (LedgerDeletedError.is(error)) return new LedgerDeletedError(name, error.seq);
  if (JournalCorruptError.is(error)) {
    return new JournalCorruptError(name, error.kind, { seq: error.seq, cause: error });
  }
  return error;
}
