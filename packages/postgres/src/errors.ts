import { HoldfastError } from '@holdfast/base';

/** Why a database cannot be used as it is. */
export type PostgresUnsuitableKind =
  /** The schema was never made, or is of an older version. */
  | 'not-migrated'
  /** The schema was made by a newer version of this package. */
  | 'schema-too-new'
  /** A replica, or a session that may only read. */
  | 'read-only'
  /** What the server acknowledges is not on its disk. */
  | 'not-durable'
  /** The server is older than what was tested. */
  | 'server-too-old';

const advice: Readonly<Record<PostgresUnsuitableKind, string>> = {
  'not-migrated': 'run migratePostgres() with a role that may create tables',
  'schema-too-new': 'update @holdfast/postgres on this host',
  'read-only': 'connect to the primary, with a role that may write',
  'not-durable':
    'turn it on, or pass acknowledge: "unsynced" to accept that a crash of the server loses what it acknowledged',
  'server-too-old': 'use Postgres 12 or newer',
};

/** The database cannot be used as it is; nothing was changed. */
export class PostgresUnsuitableError extends HoldfastError {
  static override readonly code = 'POSTGRES_UNSUITABLE';
  declare readonly code: 'POSTGRES_UNSUITABLE';
  declare readonly kind: PostgresUnsuitableKind;
  /** What was found, in a few words. */
  declare readonly found: string;

  constructor(kind: PostgresUnsuitableKind, found: string) {
    super(`this Postgres database cannot be used (${found}): ${advice[kind]}`, {
      fields: { kind, found },
      effect: 'none',
      retryable: false,
    });
  }
}

export interface PostgresStatementFacts {
  /** The condition of the server, five characters, where it gave one. */
  readonly sqlState: string | undefined;
  /** The error of the system (`ECONNREFUSED`) or of the client, where there is one. */
  readonly system: string | undefined;
  /** `true`: the statement did not take effect and will not. `false`: nobody knows. */
  readonly definite: boolean;
  readonly retryable: boolean;
  /** What the server or the client said, without credentials. */
  readonly said: string;
}

/**
 * A statement failed. Made from the client's own error, which is not its cause: clients attach connection parameters to
 * theirs.
 */
export class PostgresStatementError extends HoldfastError {
  static override readonly code = 'POSTGRES_STATEMENT';
  declare readonly code: 'POSTGRES_STATEMENT';
  declare readonly sqlState: string | undefined;
  declare readonly system: string | undefined;
  declare readonly definite: boolean;
  declare readonly said: string;

  constructor(facts: PostgresStatementFacts) {
    const what = facts.sqlState ?? facts.system ?? 'no answer';
    super(`Postgres did not carry out a statement (${what}): ${facts.said}`, {
      fields: {
        sqlState: facts.sqlState,
        system: facts.system,
        definite: facts.definite,
        said: facts.said,
      },
      effect: facts.definite ? 'none' : 'unknown',
      retryable: facts.retryable,
    });
  }
}

/** Every error of this package; `switch (error.code)` is exhaustive. */
export type PostgresError = PostgresUnsuitableError | PostgresStatementError;

export type PostgresErrorCode = PostgresError['code'];
