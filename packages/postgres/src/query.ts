/** The rows of an answer; values as the driver gives them (`bytea` as bytes, `bigint` as text or number). */
export interface PostgresResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * All that is asked of a Postgres client: one statement with its parameters, on whichever connection. `pg`'s `Pool` and
 * `Client` are ones. Nothing is ever left behind on a connection, so a pooler in transaction mode may be in between.
 */
export interface PostgresQuery {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

/**
 * A connection of its own for notifications, such as a `pg` `Client` that is not connected yet. It must reach the server
 * itself: a pooler in transaction mode loses what it listens to.
 */
export interface PostgresListener extends PostgresQuery {
  connect(): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: 'notification', listener: (message: PostgresNotification) => void): unknown;
  on(event: 'error' | 'end', listener: () => void): unknown;
}

export interface PostgresNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}
