export interface LedgerSupports {
  /** `true`: `follow` of the driver waits for new records; `false`: the portable class polls. */
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

export interface LedgerRange {
  /** First sequence, inclusive; at least 1. */
  readonly from: number;
  /** Last sequence, inclusive. */
  readonly to: number;
  readonly reverse: boolean;
  readonly limit: number;
}

/**
 * What a ledger adapter implements: named append-only logs with compare-and-set on the tip. The portable class
 * validates names, copies bytes, bounds ranges by the tip and wraps errors.
 */
export interface LedgerDriver {
  readonly contract: 'ledger/1';
  readonly supports: LedgerSupports;
  /** Largest record in bytes; at least 1 MiB. */
  readonly maxRecordBytes: number;
  storagePaths(): readonly string[];
  /**
   * Atomic: all records or none, only if the tip equals `expectedTip` (0 creates). Must resolve only when durable.
   * Definite conflict: `LedgerConflictError`. A failure after which the records may be there: `LedgerAmbiguousError`.
   * Any other error states that nothing was written.
   */
  append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void>;
  /** Must be bounded by the range given; absent ledger: nothing. */
  read(name: string, range: LedgerRange, options: LedgerDriverOptions): AsyncIterable<LedgerRecord>;
  /** Resolves when the tip may have passed `tip`; only called when `supports.follow`. */
  changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void>;
  /** 0 when absent. */
  tip(name: string, options: LedgerDriverOptions): Promise<number>;
  /** Names, sorted, plain string prefix, streaming. */
  list(prefix: string, options: LedgerDriverOptions): AsyncIterable<string>;
  /** Idempotent; a recreated ledger starts at 1. */
  delete(name: string, options: LedgerDriverOptions): Promise<void>;
  close(): Promise<void>;
}

export interface LedgerDriverOptions {
  readonly signal?: AbortSignal | undefined;
}
