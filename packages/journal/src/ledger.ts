import {
  abandonOnAbort,
  type Clock,
  InvalidNameError,
  onAbort,
  parseName,
  parseNamePrefix,
  systemClock,
  textOf,
  throwIfAborted,
  uniformAbort,
  yieldToEventLoop,
} from '@holdfast/base';

import type { LedgerDriver, LedgerRange, LedgerRecord, LedgerSupports } from './driver.js';
import {
  JournalCorruptError,
  LedgerBackendError,
  LedgerClosedError,
  LedgerDeletedError,
  LedgerRecordTooLargeError,
} from './errors.js';
import { settleAppend } from './internal/settle-append.js';
import { isJournalError } from './journal-error.js';

export interface LedgerOptions {
  /** Used only for polling where the driver cannot wait for changes. Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Milliseconds between two looks at the tip while following by polling. Default 250. */
  readonly pollMilliseconds?: number | undefined;
}

export interface LedgerCallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface LedgerReadOptions extends LedgerCallOptions {
  /** First sequence, inclusive. Default 1. */
  readonly from?: number | undefined;
  /** Last sequence, inclusive; bounded by the tip. Default: the tip. */
  readonly to?: number | undefined;
  /** Newest first. Default `false`. */
  readonly reverse?: boolean | undefined;
  /** The most records to yield. Default: all. */
  readonly limit?: number | undefined;
}

export interface LedgerFollowOptions {
  /** First sequence to yield. Default 1. */
  readonly from?: number | undefined;
  /** Ends the following; the iteration then rejects with this signal's reason. */
  readonly signal: AbortSignal;
}

/** The tip after an append. */
export interface AppendResult {
  readonly tip: number;
}

/**
 * Named append-only logs with compare-and-set on the tip, over any {@link LedgerDriver}. Validates before any I/O,
 * copies bytes in and out, rejects a caller's abort with the signal's own reason, and never yields a gap.
 */
export class Ledger implements AsyncDisposable {
  readonly #driver: LedgerDriver;
  readonly #clock: Clock;
  readonly #pollMilliseconds: number;
  readonly #closing = new AbortController();
  readonly #inFlight = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(driver: LedgerDriver, options: LedgerOptions = {}) {
    if (driver.contract !== 'ledger/1') {
      throw new TypeError(
        `this version speaks contract ledger/1, the driver speaks ${textOf(driver.contract)}`,
      );
    }
    if (!(driver.maxRecordBytes >= 1_048_576)) {
      throw new TypeError('a ledger driver must take records of at least 1048576 bytes');
    }
    this.#driver = driver;
    this.#clock = options.clock ?? systemClock;
    this.#pollMilliseconds = options.pollMilliseconds ?? 250;
    if (!(this.#pollMilliseconds > 0)) throw new RangeError('pollMilliseconds must be above 0');
  }

  get supports(): LedgerSupports {
    return this.#driver.supports;
  }

  /** Largest record in bytes; at least 1 MiB. */
  get maxRecordBytes(): number {
    return this.#driver.maxRecordBytes;
  }

  /** Canonical local directories that the driver writes to; empty for remote ones. */
  storagePaths(): readonly string[] {
    return [...this.#driver.storagePaths()];
  }

  /**
   * Appends all `records` or none, if the tip equals `expectedTip` (0 creates the ledger); resolves when they are
   * durable. An abort has no effect once the write was sent.
   * @throws LedgerConflictError when the tip is another one; nothing was written.
   * @throws LedgerAmbiguousError when the outcome is unknown.
   * @throws LedgerRecordTooLargeError before any I/O.
   * @throws LedgerBackendError for any other failure; nothing was written.
   */
  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerCallOptions = {},
  ): Promise<AppendResult> {
    parseName(name);
    const owned = this.#ownRecords(name, expectedTip, records);
    await this.#run('append', name, options.signal, true, () =>
      this.#driver.append(name, expectedTip, owned, { signal: options.signal }),
    );
    return { tip: expectedTip + owned.length };
  }

  /**
   * As `append`, and settles an unknown outcome: one identical retry, then a comparison with what is stored after
   * `expectedTip`. Settling is not aborted by the signal. Records should be unique (carry an id): an equal record of
   * somebody else at that position counts as this one.
   * @throws LedgerConflictError when other records are there; these were not and will not be written.
   * @throws AppendVerifyError when the outcome stays unknown.
   */
  async appendDefinite(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerCallOptions = {},
  ): Promise<AppendResult> {
    const owned = records.map((record) => (record instanceof Uint8Array ? record.slice() : record));
    return await settleAppend(this, name, expectedTip, owned, options.signal);
  }

  /**
   * Yields records in order, bounded by the tip when the iteration begins. An absent ledger yields nothing.
   * @throws JournalCorruptError when a record inside the bounds is missing; nothing is skipped.
   * @throws LedgerDeletedError when the ledger is deleted meanwhile.
   */
  async *read(name: string, options: LedgerReadOptions = {}): AsyncGenerator<LedgerRecord, void, undefined> {
    parseName(name);
    const from = checkSequence('from', options.from ?? 1, 1);
    const to = checkSequence('to', options.to ?? Number.MAX_SAFE_INTEGER, 0);
    const limit = checkSequence('limit', options.limit ?? Number.MAX_SAFE_INTEGER, 1);
    const tip = await this.tip(name, { signal: options.signal });
    const last = Math.min(to, tip);
    if (from > last) return;
    yield* this.#readRange(
      name,
      { from, to: last, reverse: options.reverse ?? false, limit },
      options.signal,
    );
  }

  /**
   * Yields records from `from` on, then waits for new ones until `signal` aborts (the iteration rejects with its
   * reason) or the ledger is closed.
   * @throws LedgerDeletedError when the tip is found below a record that was already yielded.
   */
  async *follow(name: string, options: LedgerFollowOptions): AsyncGenerator<LedgerRecord, void, undefined> {
    parseName(name);
    let next = checkSequence('from', options.from ?? 1, 1);
    let delivered = 0;
    for (;;) {
      const tip = await this.tip(name, { signal: options.signal });
      if (tip < delivered) throw new LedgerDeletedError(name, next);
      if (tip >= next) {
        const range = { from: next, to: tip, reverse: false, limit: Number.MAX_SAFE_INTEGER };
        for await (const record of this.#readRange(name, range, options.signal)) {
          yield record;
          delivered = record.seq;
          next = record.seq + 1;
        }
        continue;
      }
      await this.#changed(name, tip, options.signal);
    }
  }

  /** Waits until the tip is another one than `tip`: after an append, a deletion, or because it was another one already. */
  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    parseName(name);
    while ((await this.tip(name, options)) === tip) await this.#changed(name, tip, options.signal);
  }

  /** Waits until the tip may have moved. A driver that is slow to notice an abort does not hold up its caller. */
  async #changed(name: string, tip: number, signal: AbortSignal): Promise<void> {
    // A controller of this wait only: `AbortSignal.any` would leave a trace in signals that live long.
    const ended = new AbortController();
    const end = (reason: unknown): void => {
      ended.abort(reason);
    };
    using _caller = onAbort(signal, end);
    using _closing = onAbort(this.#closing.signal, end);
    const waiting = { signal: ended.signal };
    const wait = this.#driver.supports.follow
      ? async () => await this.#driver.changed(name, tip, waiting)
      : async () => await this.#clock.sleep(this.#pollMilliseconds, waiting);
    try {
      await abandonOnAbort(ended.signal, wait());
      // A driver may wake without cause, even always: that must not keep timers and input from being served.
      await yieldToEventLoop();
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : this.#wrapped('follow', name, false, error);
    }
  }

  /** Resolves with the sequence of the last record; 0 when the ledger is absent. */
  async tip(name: string, options: LedgerCallOptions = {}): Promise<number> {
    parseName(name);
    const tip = await this.#run('tip', name, options.signal, false, () =>
      this.#driver.tip(name, { signal: options.signal }),
    );
    if (!Number.isSafeInteger(tip) || tip < 0) {
      throw new LedgerBackendError('tip', name, {
        cause: new RangeError(`the driver reported tip ${textOf(tip)}`),
      });
    }
    return tip;
  }

  /** Yields the names of existing ledgers that start with `prefix` (plain text), sorted, each once. */
  async *list(prefix: string = '', options: LedgerCallOptions = {}): AsyncGenerator<string, void, undefined> {
    parseNamePrefix(prefix);
    yield* this.#iterate('list', undefined, options.signal, () =>
      this.#driver.list(prefix, { signal: options.signal }),
    );
  }

  /** Removes the ledger; removing an absent one succeeds. A ledger of that name may then start again at 1. */
  async delete(name: string, options: LedgerCallOptions = {}): Promise<void> {
    parseName(name);
    await this.#run('delete', name, options.signal, true, () =>
      this.#driver.delete(name, { signal: options.signal }),
    );
  }

  /** Waits for calls in flight, ends followers, releases the driver. Idempotent; afterwards every method rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(new LedgerClosedError());
    await Promise.allSettled(this.#inFlight);
    await this.#run('close', undefined, undefined, false, () => this.#driver.close(), true);
  }

  #ownRecords(name: string, expectedTip: number, records: readonly Uint8Array[]): Uint8Array[] {
    checkSequence('expectedTip', expectedTip, 0);
    if (!Array.isArray(records) || records.length === 0) {
      throw new TypeError('append takes an array of one or more records');
    }
    if (!Number.isSafeInteger(expectedTip + records.length))
      throw new RangeError('the sequence space is used up');
    return records.map((record: unknown) => {
      if (!(record instanceof Uint8Array)) throw new TypeError('a record must be a Uint8Array');
      if (record.length > this.maxRecordBytes) {
        throw new LedgerRecordTooLargeError(name, record.length, this.maxRecordBytes);
      }
      return Uint8Array.from(record);
    });
  }

  async *#readRange(
    name: string,
    range: LedgerRange,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    const step = range.reverse ? -1 : 1;
    const count = Math.min(range.limit, range.to - range.from + 1);
    let next = range.reverse ? range.to : range.from;
    let seen = 0;
    const records = this.#iterate('read', name, signal, () => this.#driver.read(name, range, { signal }));
    for await (const record of records) {
      if (seen === count) throw new JournalCorruptError(name, 'sequence-mismatch', { seq: record.seq });
      if (record.seq !== next) {
        throw new JournalCorruptError(name, 'gap', {
          seq: next,
          detail: `found record ${textOf(record.seq)}`,
        });
      }
      yield { seq: record.seq, data: Uint8Array.from(record.data) };
      seen += 1;
      next += step;
    }
    if (seen === count) return;
    // A shorter answer is either damage or a deletion in between; only the tip can tell.
    const tip = await this.tip(name, { signal });
    if (tip < next) throw new LedgerDeletedError(name, next);
    throw new JournalCorruptError(name, 'missing', { seq: next });
  }

  /** Runs one step of a driver: open, not aborted, counted for `close`, abort made uniform, errors wrapped once. */
  async #run<T>(
    operation: string,
    name: string | undefined,
    signal: AbortSignal | undefined,
    mutation: boolean,
    work: () => Promise<T>,
    closing = false,
  ): Promise<T> {
    if (!closing && this.#closed !== undefined) throw new LedgerClosedError();
    throwIfAborted(signal);
    const running = uniformAbort(signal, work);
    this.#inFlight.add(running);
    try {
      return await running;
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      throw this.#wrapped(operation, name, mutation, error);
    } finally {
      this.#inFlight.delete(running);
    }
  }

  /** Facts pass as they are; what a driver threw that is none becomes one class. */
  #wrapped(operation: string, name: string | undefined, mutation: boolean, error: unknown): unknown {
    if (isJournalError(error) || InvalidNameError.is(error)) return error;
    const { retryable } = (error ?? {}) as { retryable?: unknown };
    return new LedgerBackendError(operation, name, { cause: error, mutation, retryable: retryable === true });
  }

  async *#iterate<T>(
    operation: string,
    name: string | undefined,
    signal: AbortSignal | undefined,
    open: () => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const run = <R>(work: () => Promise<R>): Promise<R> => this.#run(operation, name, signal, false, work);
    const iterator = await run(async () => open()[Symbol.asyncIterator]());
    let done = false;
    try {
      for (;;) {
        const step = await run(() => iterator.next());
        if (step.done === true) {
          done = true;
          return;
        }
        yield step.value;
      }
    } finally {
      // Freeing the driver's resource must not hide the reason for stopping.
      if (!done) await iterator.return?.().catch(() => undefined);
    }
  }
}

function checkSequence(what: string, value: number, least: number): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new RangeError(
      `${what} must be a whole number of at least ${String(least)}, found ${textOf(value)}`,
    );
  }
  return value;
}
