export {
  type PostgresError,
  type PostgresErrorCode,
  PostgresStatementError,
  type PostgresStatementFacts,
  PostgresUnsuitableError,
  type PostgresUnsuitableKind,
} from './errors.js';
export { maxPostgresRecordBytes } from './ledger-driver.js';
export { type MigrateOptions, migratePostgres } from './migrate.js';
export { openPostgres, type PostgresOptions, type PostgresStorage } from './open.js';
export { type PostgresAcknowledgement, type PostgresReport, probePostgres } from './probe.js';
export type { PostgresListener, PostgresNotification, PostgresQuery, PostgresResult } from './query.js';
