import { systemClock } from '@holdfast/base';

import { PostgresUnsuitableError } from './errors.js';
import { Connection } from './internal/connection.js';
import { defaultSchema, parseSchema, schemaVersion } from './internal/schema.js';
import type { PostgresQuery } from './query.js';

/** What a server promises with its acknowledgement: `synced`, it is on the disk; `unsynced`, it will be, if nothing crashes. */
export type PostgresAcknowledgement = 'synced' | 'unsynced';

/** What was found out about a database. */
export interface PostgresReport {
  /** As a number: 150020 is 15.20. */
  readonly serverVersion: number;
  /** 0 when the schema was never made. */
  readonly schemaVersion: number;
  readonly acknowledges: PostgresAcknowledgement;
  /** The settings that decide it, by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** What keeps it from being used, worst first; empty when nothing does. */
  readonly problems: readonly PostgresUnsuitableError[];
}

const oldestServer = 120_000;

/** Looks at a database and changes nothing. */
export async function probePostgres(
  client: PostgresQuery,
  options: { readonly schema?: string | undefined; readonly timeoutMilliseconds?: number | undefined } = {},
): Promise<PostgresReport> {
  const schema = parseSchema(options.schema ?? defaultSchema);
  const connection = new Connection(client, systemClock, options.timeoutMilliseconds ?? 10_000);
  const [row] = await connection.run(
    `select current_setting('server_version_num')::int as server,
  to_regclass('${schema}.version')::text as version,
  pg_is_in_recovery() as replica,
  current_setting('transaction_read_only') as read_only,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('statement_timeout') as statement_timeout`,
    [],
  );
  const facts = row ?? {};
  const settings = Object.fromEntries(
    ['synchronous_commit', 'fsync', 'full_page_writes', 'statement_timeout'].map((name) => [
      name,
      String(facts[name]),
    ]),
  );
  const [found] =
    facts['version'] === null ? [] : await connection.run(`select version from ${schema}.version`, []);
  const version = Number(found?.['version'] ?? 0);
  const unsynced = ['synchronous_commit', 'fsync', 'full_page_writes'].filter(
    (name) => settings[name] === 'off',
  );
  const problems: PostgresUnsuitableError[] = [];
  const server = Number(facts['server']);
  if (server < oldestServer)
    problems.push(new PostgresUnsuitableError('server-too-old', `version ${server}`));
  if (facts['replica'] === true) problems.push(new PostgresUnsuitableError('read-only', 'it is a replica'));
  else if (facts['read_only'] === 'on') {
    problems.push(new PostgresUnsuitableError('read-only', 'transactions only read'));
  }
  if (version < schemaVersion) {
    problems.push(new PostgresUnsuitableError('not-migrated', `schema ${schema} has version ${version}`));
  }
  if (version > schemaVersion) {
    problems.push(new PostgresUnsuitableError('schema-too-new', `schema ${schema} has version ${version}`));
  }
  if (unsynced.length > 0) {
    problems.push(new PostgresUnsuitableError('not-durable', `${unsynced.join(' and ')} is off`));
  }
  return Object.freeze({
    serverVersion: server,
    schemaVersion: version,
    acknowledges: unsynced.length > 0 ? 'unsynced' : 'synced',
    settings: Object.freeze(settings),
    problems: Object.freeze(problems),
  });
}
