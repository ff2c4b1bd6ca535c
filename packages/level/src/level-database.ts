/**
 * The part of an abstract-level database that a ledger uses. Every `abstract-level` 3 database has it: `level`,
 * `classic-level`, `memory-level`, `browser-level` and others.
 */
export interface LevelDatabase {
  readonly supports: LevelManifest;
  open(): Promise<void>;
  close(): Promise<void>;
  batch(operations: LevelOperation[], options: LevelBatchOptions): Promise<void>;
  iterator(options: LevelIteratorOptions): LevelIterator;
}

/** What a database says about itself. */
export interface LevelManifest {
  /** `true`: what was written survives the end of the process. */
  readonly permanence?: boolean | undefined;
}

export type LevelOperation =
  | { type: 'put'; key: Uint8Array; value: Uint8Array }
  | { type: 'del'; key: Uint8Array };

export interface LevelBatchOptions {
  readonly keyEncoding: 'view';
  readonly valueEncoding: 'view';
  /** Durable when it resolves; databases without files ignore it. */
  readonly sync: boolean;
}

export interface LevelIteratorOptions {
  readonly keyEncoding: 'view';
  readonly valueEncoding: 'view';
  readonly gte?: Uint8Array;
  readonly lt?: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
  /** `false`: the values are not read. */
  readonly values?: boolean;
}

export interface LevelIterator {
  nextv(size: number): Promise<[Uint8Array, Uint8Array][]>;
  close(): Promise<void>;
}
