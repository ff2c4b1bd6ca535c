export interface LedgerSupports {
  /** `true`: `changed` of the driver waits for new records; `false`: the portable class polls the tip. */
  readonly follow: boolean;
  /** `true`: several processes may use the storage at once. `false`: a second one is refused with a typed error. */
  readonly shared: boolean;
  /** `true`: what a resolved append stored survives power loss. */
  readonly durable: boolean;
}

export interface LedgerRecord {
  /** 1-based, contiguous. */
  readonly seq: number;
  readonly data: Uint8Array;
}

/** A normalised range: 1 ≤ `from` ≤ `to` ≤ the tip when the read began, 1 ≤ `limit`. */
export interface LedgerRange {
  /** First sequence, inclusive; at least 1. */
  readonly from: number;
  /** Last sequence, inclusive. */
  readonly to: number;
  /** `true`: from `to` down to `from`. */
  readonly reverse: boolean;
  /** The most records to yield. `Number.MAX_SAFE_INTEGER` when the caller gave none. */
  readonly limit: number;
}

export interface LedgerDriverOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a ledger adapter implements: named append-only logs with compare-and-set on the tip. Users never call it: they
 * hold a `Ledger`, which validates names, sizes and ranges, copies bytes, unifies aborts and wraps errors.
 *
 * Guaranteed to a driver: legal names, an options object, owned bytes, no call after `close`. A driver may throw raw
 * backend errors; the portable class wraps them once. `docs/contracts/ledger.md` has every clause.
 */
export interface LedgerDriver {
  readonly contract: 'ledger/1';
  readonly supports: LedgerSupports;
  /** Largest record in bytes; at least 1 MiB. */
  readonly maxRecordBytes: number;
  /** Canonical local directories that this driver writes to; empty for remote ones. */
  storagePaths(): readonly string[];
  /**
   * Must store all records or none, and only if the tip equals `expectedTip` (0 creates). Must resolve only when durable
   * (as declared). A definite conflict is `LedgerConflictError`; a failure after which the records may be there, now or
   * later, is `LedgerAmbiguousError`; any other error states that nothing was and nothing will be written. The signal
   * may be honoured until the write is sent, never after.
   */
  append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void>;
  /** Must be bounded by the range given; absent ledger: nothing. Early `return()` must free the resource. */
  read(name: string, range: LedgerRange, options: LedgerDriverOptions): AsyncIterable<LedgerRecord>;
  /** Resolves when the tip may differ from `tip`; early is fine, late is not. Only called when `supports.follow`. */
  changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void>;
  /** 0 when absent. Must see every append that has resolved, of any client when `supports.shared`. */
  tip(name: string, options: LedgerDriverOptions): Promise<number>;
  /** Names, sorted, plain string prefix, streaming. */
  list(prefix: string, options: LedgerDriverOptions): AsyncIterable<string>;
  /** Idempotent; a recreated ledger starts at 1. */
  delete(name: string, options: LedgerDriverOptions): Promise<void>;
  close(): Promise<void>;
}
