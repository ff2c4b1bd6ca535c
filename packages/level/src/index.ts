export type {
  LevelBatchOptions,
  LevelDatabase,
  LevelIterator,
  LevelIteratorOptions,
  LevelManifest,
  LevelOperation,
} from './level-database.js';
export { type LevelLedgerOptions, levelLedger, maxLevelRecordBytes } from './level-ledger.js';
export { type LevelLedgersOptions, openLevelLedgers } from './level-session-ledgers.js';
