import { onAbort, parseName, throwIfAborted } from '@holdfast/base';

import type {
  LedgerDriver,
  LedgerDriverOptions,
  LedgerRange,
  LedgerRecord,
  LedgerSupports,
} from './driver.js';
import {
  LedgerClosedError,
  LedgerConflictError,
  LedgerDeletedError,
  LedgerRecordTooLargeError,
} from './errors.js';
import { Ledger, type LedgerOptions } from './ledger.js';

/** What several memory ledgers look at: the "server" of a test. Keep it and open a second view or reopen. */
export class MemoryLedgerStorage {
  /** @internal */
  readonly ledgers: Map<string, Uint8Array[]> = new Map();
  /** @internal */
  readonly watchers: Set<() => void> = new Set();

  /** @internal */
  wake(): void {
    for (const watcher of this.watchers) watcher();
  }
}

export interface MemoryLedgerOptions extends LedgerOptions {
  /** Where the records live. Default: a fresh storage that nobody else sees. */
  readonly storage?: MemoryLedgerStorage | undefined;
  /** Largest record in bytes. Default and least: 1 MiB. */
  readonly maxRecordBytes?: number | undefined;
}

/** Opens a ledger in memory: the reference behaviour, stricter than real engines. Nothing survives the process. */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  return new Ledger(new MemoryLedgerDriver(options), options);
}

/**
 * Records in memory. It checks again what the portable class guarantees (names, sizes, ownership, no use after close),
 * so that a wrong layer between the two is found here and not in production.
 */
export class MemoryLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly supports: LedgerSupports = Object.freeze({ follow: true, shared: true, durable: false });
  readonly maxRecordBytes: number;
  readonly #storage: MemoryLedgerStorage;
  #closed = false;

  constructor(options: MemoryLedgerOptions = {}) {
    this.#storage = options.storage ?? new MemoryLedgerStorage();
    this.maxRecordBytes = options.maxRecordBytes ?? 1_048_576;
  }

  storagePaths(): readonly string[] {
    this.#check();
    return [];
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    this.#check(name);
    throwIfAborted(options.signal);
    if (records.length === 0) throw new TypeError('append without records');
    for (const record of records) {
      if (record.length > this.maxRecordBytes) {
        throw new LedgerRecordTooLargeError(name, record.length, this.maxRecordBytes);
      }
    }
    const owned = records.map((record) => Uint8Array.from(record));
    const stored = this.#storage.ledgers.get(name) ?? [];
    if (stored.length !== expectedTip) throw new LedgerConflictError(name, expectedTip, stored.length);
    stored.push(...owned);
    this.#storage.ledgers.set(name, stored);
    this.#storage.wake();
  }

  async *read(
    name: string,
    range: LedgerRange,
    options: LedgerDriverOptions,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    this.#check(name);
    const step = range.reverse ? -1 : 1;
    let seq = range.reverse ? range.to : range.from;
    const records = this.#storage.ledgers.get(name);
    for (let left = range.limit; left > 0 && seq >= range.from && seq <= range.to; left -= 1) {
      this.#check();
      throwIfAborted(options.signal);
      // The range was bounded by the tip; another ledger of this name is not the one that is read.
      if (records === undefined || this.#storage.ledgers.get(name) !== records) {
        throw new LedgerDeletedError(name, seq);
      }
      const data = records[seq - 1];
      if (data === undefined) return;
      yield Object.freeze({ seq, data: Uint8Array.from(data) });
      seq += step;
    }
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    this.#check(name);
    throwIfAborted(options.signal);
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if ((this.#storage.ledgers.get(name)?.length ?? 0) === tip) return;
        finish();
        resolve();
      };
      const subscription = onAbort(options.signal, (reason) => {
        finish();
        reject(reason);
      });
      const finish = (): void => {
        this.#storage.watchers.delete(look);
        subscription[Symbol.dispose]();
      };
      this.#storage.watchers.add(look);
      look();
    });
  }

  async tip(name: string, options: LedgerDriverOptions): Promise<number> {
    this.#check(name);
    throwIfAborted(options.signal);
    return this.#storage.ledgers.get(name)?.length ?? 0;
  }

  async *list(prefix: string, options: LedgerDriverOptions): AsyncGenerator<string, void, undefined> {
    this.#check();
    for (const name of [...this.#storage.ledgers.keys()].sort()) {
      this.#check();
      throwIfAborted(options.signal);
      if (name.startsWith(prefix)) yield name;
    }
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    this.#check(name);
    throwIfAborted(options.signal);
    this.#storage.ledgers.delete(name);
    this.#storage.wake();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #check(name?: string): void {
    if (this.#closed) throw new LedgerClosedError();
    if (name !== undefined) parseName(name);
  }
}
