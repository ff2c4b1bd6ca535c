import { systemClock } from '@holdfast/base';

import { PostgresUnsuitableError } from './errors.js';
import { Connection } from './internal/connection.js';
import { defaultSchema, migration, parseSchema, schemaVersion } from './internal/schema.js';
import type { PostgresQuery } from './query.js';

export interface MigrateOptions {
  /** The schema to make or to bring up to date. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** Milliseconds until the wait for an answer ends. Default 60,000. */
  readonly timeoutMilliseconds?: number | undefined;
}

/**
 * Makes the tables, or brings them up to date; does nothing when they are. One atomic statement under a lock: any number
 * of hosts may call it at once, also through a pooler. The role must be allowed to create a schema.
 *
 * @throws PostgresUnsuitableError when a newer release made the tables, or the server only reads.
 * @throws PostgresStatementError for anything else; calling again is safe.
 */
export async function migratePostgres(client: PostgresQuery, options: MigrateOptions = {}): Promise<void> {
  const schema = parseSchema(options.schema ?? defaultSchema);
  const connection = new Connection(client, systemClock, options.timeoutMilliseconds ?? 60_000);
  const [server] = await connection.run('select pg_is_in_recovery() as replica', []);
  if (server?.['replica'] === true) throw new PostgresUnsuitableError('read-only', 'it is a replica');
  await connection.run(migration(schema), []);
  const [row] = await connection.run(`select version from ${schema}.version`, []);
  const version = Number(row?.['version']);
  if (version > schemaVersion)
    throw new PostgresUnsuitableError('schema-too-new', `schema version ${version}`);
}
