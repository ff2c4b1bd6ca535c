import { type Clock, Hints, type Random, systemClock, systemRandom } from '@holdfast/base';
import { Ledger } from '@holdfast/journal';
import { Leaser } from '@holdfast/lease';

import { Connection } from './internal/connection.js';
import { News } from './internal/news.js';
import { channelOf, defaultSchema, parseSchema } from './internal/schema.js';
import { statementsOf } from './internal/statements.js';
import { PostgresLeaserDriver } from './leaser-driver.js';
import { PostgresLedgerDriver } from './ledger-driver.js';
import { type PostgresAcknowledgement, type PostgresReport, probePostgres } from './probe.js';
import type { PostgresListener, PostgresQuery } from './query.js';

export interface PostgresOptions {
  /** The schema that `migratePostgres` made. Default `holdfast`. */
  readonly schema?: string | undefined;
  /**
   * What an acknowledgement must mean. Default `synced`: a server that acknowledges what is not on its disk is refused.
   * `unsynced` accepts that a crash of the server loses the last acknowledged appends and grants.
   */
  readonly acknowledge?: PostgresAcknowledgement | undefined;
  /** Milliseconds until the wait for the answer to a statement ends. Default 10,000. */
  readonly statementMilliseconds?: number | undefined;
  /** Milliseconds that the server lets a statement wait for a lock. Default 5,000. */
  readonly lockMilliseconds?: number | undefined;
  /** Milliseconds after which a lease that is not renewed can be taken by others. At least 500. Default 15,000. */
  readonly ttlMilliseconds?: number | undefined;
  /** Opens a connection for notifications, straight to the server. Default: none, and those who wait look by themselves. */
  readonly listen?: (() => PostgresListener) | undefined;
  /**
   * Announce appends to those who listen. Default: when this storage listens itself. Commits that announce something follow
   * each other, one after the other, in the whole server: with 32 writers a quarter to a half of its throughput was left.
   */
  readonly announceAppends?: boolean | undefined;
  /** Milliseconds after which those who wait look by themselves. Default 250, or 2,000 with `listen`. */
  readonly pollMilliseconds?: number | undefined;
  /** Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Default: the platform's randomness. */
  readonly random?: Random | undefined;
}

/** Ledgers and leases in one schema of one database. */
export interface PostgresStorage extends AsyncDisposable {
  readonly ledger: Ledger;
  readonly leaser: Leaser;
  /** What was found when it was opened. */
  readonly report: PostgresReport;
  /** Closes both, and the connection for notifications. The client stays open. */
  close(): Promise<void>;
}

/**
 * Opens the ledgers and leases of a database. The client belongs to the caller, who closes it after the storage.
 * @throws PostgresUnsuitableError when the database cannot be used as it is, with what to do.
 * @throws PostgresStatementError when it cannot be asked.
 */
export async function openPostgres(
  client: PostgresQuery,
  options: PostgresOptions = {},
): Promise<PostgresStorage> {
  const schema = parseSchema(options.schema ?? defaultSchema);
  const clock = options.clock ?? systemClock;
  const limit = positive('statementMilliseconds', options.statementMilliseconds ?? 10_000);
  const lock = positive('lockMilliseconds', options.lockMilliseconds ?? 5_000);
  const ttlMilliseconds = positive('ttlMilliseconds', options.ttlMilliseconds ?? 15_000, 500);
  const poll = positive('pollMilliseconds', options.pollMilliseconds ?? (options.listen ? 2_000 : 250));
  const synchronous = (options.acknowledge ?? 'synced') === 'synced';
  const report = await probePostgres(client, { schema, timeoutMilliseconds: limit });
  for (const problem of report.problems) {
    if (problem.kind !== 'not-durable' || synchronous) throw problem;
  }
  const connection = new Connection(client, clock, limit);
  const statements = statementsOf(schema);
  const [ledgers, leases] = [new Hints(clock), new Hints(clock)];
  const settings = {
    lockTimeout: `${Math.ceil(lock)}ms`,
    synchronous,
    tell: options.announceAppends ?? options.listen !== undefined,
    pollMilliseconds: poll,
  };
  const driver = new PostgresLeaserDriver({
    connection,
    statements,
    settings,
    hints: leases,
    ttlMilliseconds,
    clock,
    random: options.random ?? systemRandom,
  });
  const ledger = new Ledger(new PostgresLedgerDriver({ connection, statements, settings, hints: ledgers }), {
    clock,
  });
  const leaser = new Leaser(driver);
  const news =
    options.listen === undefined
      ? undefined
      : new News({
          channel: channelOf(schema),
          clock,
          listen: options.listen,
          ledgers,
          leases,
          onLease: (name) => {
            driver.doubt(name);
          },
        });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const outcomes = await Promise.allSettled([ledger.close(), leaser.close()]);
    await news?.[Symbol.asyncDispose]();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };
  return {
    ledger,
    leaser,
    report,
    close: async () => {
      closed ??= close();
      await closed;
    },
    [Symbol.asyncDispose]: async () => {
      closed ??= close();
      await closed;
    },
  };
}

function positive(what: string, value: number, least: number = 1): number {
  if (Number.isFinite(value) && value >= least) return value;
  throw new RangeError(`${what} must be a number of at least ${least}, found ${value}`);
}
