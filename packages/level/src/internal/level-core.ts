import { equalBytes, onAbort, throwIfAborted } from '@holdfast/base';
import {
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerConflictError,
  type LedgerRange,
  type LedgerRecord,
} from '@holdfast/journal';

import type {
  LevelDatabase,
  LevelIterator,
  LevelIteratorOptions,
  LevelOperation,
} from '../level-database.js';
import { asLedgerFailure } from './level-failure.js';
import { endKey, parseKey, prefixKey, recordKey, sealValue, unsealValue } from './level-keys.js';

const encodings = { keyEncoding: 'view', valueEncoding: 'view' } as const;
const pageSize = 128;

/**
 * The ledgers of one open database, shared by every view of it in this process. It is the only writer, so a tip that was
 * read once is kept; appends and deletes run one at a time.
 */
export class LevelCore {
  readonly #database: LevelDatabase;
  readonly #tips = new Map<string, number>();
  readonly #watchers = new Set<() => void>();
  #turn: Promise<unknown> = Promise.resolve();
  /** Set after a failed write: the handle may hold what is not on disk, and answers nothing until it was reopened. */
  #poisoned = false;

  constructor(database: LevelDatabase) {
    this.#database = database;
  }

  /**
   * 1. Compare the tip.
   * 2. One synced batch for all records.
   * 3. After a failure: close, open, and read what the engine recovered. That is definite, since recovery rewrites and
   *    syncs what it found; only a database that does not open again leaves the outcome unknown.
   */
  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#exclusive(async () => {
      throwIfAborted(signal);
      const tip = await this.#tip(name);
      if (tip !== expectedTip) throw new LedgerConflictError(name, expectedTip, tip);
      const operations = records.map((data, index): LevelOperation => {
        const key = recordKey(name, expectedTip + 1 + index);
        return { type: 'put', key, value: sealValue(key, data) };
      });
      throwIfAborted(signal);
      try {
        await this.#database.batch(operations, { ...encodings, sync: true });
      } catch (error) {
        this.#poisoned = true;
        await this.#settle(name, expectedTip, operations, error);
      }
      this.#tips.set(name, expectedTip + records.length);
    });
    this.#wake();
  }

  async *read(
    name: string,
    range: LedgerRange,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    await this.#exclusive(async () => undefined);
    const iterator = this.#database.iterator({
      ...encodings,
      gte: recordKey(name, range.from),
      lt: range.to >= Number.MAX_SAFE_INTEGER ? endKey(name) : recordKey(name, range.to + 1),
      reverse: range.reverse,
      limit: range.limit >= Number.MAX_SAFE_INTEGER ? -1 : range.limit,
    });
    let next = range.reverse ? range.to : range.from;
    try {
      for (;;) {
        throwIfAborted(signal);
        const page = await this.#page(name, iterator, next);
        if (page.length === 0) return;
        for (const [key, value] of page) {
          const record = openEntry(name, key, value, next);
          yield record;
          next = record.seq + (range.reverse ? -1 : 1);
        }
      }
    } finally {
      await iterator.close();
    }
  }

  async tip(name: string): Promise<number> {
    return await this.#exclusive(() => this.#tip(name));
  }

  async changed(name: string, tip: number, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        finish();
        resolve();
      };
      const subscription = onAbort(signal, (reason) => {
        finish();
        reject(reason);
      });
      const finish = (): void => {
        this.#watchers.delete(look);
        subscription[Symbol.dispose]();
      };
      this.#watchers.add(look);
      // What came between the caller's look at the tip and this wait must not be missed.
      if ((this.#tips.get(name) ?? 0) !== tip) look();
    });
  }

  /** Names in order, found by leaping from the end of one ledger to the beginning of the next. */
  async *list(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
    let from = prefixKey(prefix);
    for (;;) {
      throwIfAborted(signal);
      await this.#exclusive(async () => undefined);
      const [entry] = await this.#entries({ ...encodings, gte: from, limit: 1, values: false });
      if (entry === undefined) return;
      const key = parseKey(entry[0]);
      if (key === undefined)
        throw new JournalCorruptError(prefix, 'undecodable', { detail: 'an unknown key' });
      if (!key.name.startsWith(prefix)) return;
      yield key.name;
      from = endKey(key.name);
    }
  }

  /** Removes every record in one batch: a crash leaves all of them or none, never a shorter ledger. */
  async delete(name: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#exclusive(async () => {
      throwIfAborted(signal);
      const range = { ...encodings, gte: recordKey(name, 0), lt: endKey(name), values: false };
      const operations = (await this.#entries(range)).map(
        ([key]): LevelOperation => ({ type: 'del', key: Uint8Array.from(key) }),
      );
      if (operations.length > 0) {
        try {
          await this.#database.batch(operations, { ...encodings, sync: true });
        } catch (error) {
          this.#poisoned = true;
          throw error;
        } finally {
          this.#tips.delete(name);
        }
      }
      this.#tips.set(name, 0);
    });
    this.#wake();
  }

  /** Waits for what is under way and closes the database. */
  async close(): Promise<void> {
    await this.#turn;
    await this.#database.close();
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(async () => {
      await this.#healthy();
      return await work();
    });
    this.#turn = run.catch(() => undefined);
    return await run;
  }

  /** Opens a poisoned database again; until that works nothing is answered. */
  async #healthy(): Promise<void> {
    if (!this.#poisoned) return;
    this.#tips.clear();
    await this.#database.close();
    await this.#database.open();
    this.#poisoned = false;
  }

  async #settle(
    name: string,
    expectedTip: number,
    operations: readonly LevelOperation[],
    cause: unknown,
  ): Promise<void> {
    let tip: number;
    let stored: readonly (readonly [Uint8Array, Uint8Array])[];
    try {
      await this.#healthy();
      tip = await this.#tip(name);
      const range = { gte: recordKey(name, expectedTip + 1), lt: endKey(name) };
      stored = await this.#entries({ ...encodings, ...range });
    } catch (error) {
      throw new LedgerAmbiguousError(name, expectedTip, { cause: new AggregateError([cause, error]) });
    }
    if (tip === expectedTip) throw cause;
    const landed =
      stored.length === operations.length &&
      operations.every((operation, index) => {
        const [key, value] = stored[index] ?? [];
        if (operation.type !== 'put' || key === undefined || value === undefined) return false;
        return equalBytes(key, operation.key) && equalBytes(value, operation.value);
      });
    if (!landed) throw new JournalCorruptError(name, 'storage', { seq: expectedTip + 1, cause });
  }

  async #tip(name: string): Promise<number> {
    const known = this.#tips.get(name);
    if (known !== undefined) return known;
    const range = { gte: recordKey(name, 0), lt: endKey(name) };
    const [last] = await this.#entries({ ...encodings, ...range, reverse: true, limit: 1 }, name);
    const tip = last === undefined ? 0 : openEntry(name, last[0], last[1]).seq;
    if (tip > 0) {
      const [first] = await this.#entries({ ...encodings, ...range, limit: 1 }, name);
      const seq = first === undefined ? undefined : parseKey(first[0])?.seq;
      if (seq !== 1) throw new JournalCorruptError(name, 'gap', { seq: 1 });
    }
    this.#tips.set(name, tip);
    return tip;
  }

  async #page(name: string, iterator: LevelIterator, seq: number): Promise<[Uint8Array, Uint8Array][]> {
    try {
      return await iterator.nextv(pageSize);
    } catch (error) {
      throw asLedgerFailure(name, error, seq);
    }
  }

  async #entries(
    options: LevelIteratorOptions,
    name: string = 'level',
  ): Promise<readonly (readonly [Uint8Array, Uint8Array])[]> {
    const iterator = this.#database.iterator(options);
    const entries: [Uint8Array, Uint8Array][] = [];
    try {
      for (;;) {
        const page = await iterator.nextv(pageSize);
        if (page.length === 0) return entries;
        entries.push(...page);
      }
    } catch (error) {
      throw asLedgerFailure(name, error);
    } finally {
      await iterator.close();
    }
  }

  #wake(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function openEntry(name: string, key: Uint8Array, value: Uint8Array, expected?: number): LedgerRecord {
  const place = parseKey(key);
  if (place === undefined || place.name !== name) {
    throw new JournalCorruptError(name, 'undecodable', { seq: expected, detail: 'an unknown key' });
  }
  const data = unsealValue(key, value);
  if (data === undefined)
    throw new JournalCorruptError(name, 'digest-mismatch', { seq: expected ?? place.seq });
  return { seq: place.seq, data };
}
