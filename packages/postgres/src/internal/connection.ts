import { type Clock } from '@holdfast/base';

import { PostgresStatementError } from '../errors.js';
import type { PostgresQuery, PostgresResult } from '../query.js';
import { noAnswer, statementFailure } from './statement-failure.js';

/** Rollbacks that only say that somebody else was faster: with the same statement the next try decides. */
const rolledBack = /^(?:40001|40P01)$/;
const mostTries = 10;

/**
 * Sends statements with a time limit. Each is a transaction of its own, so a failure that the server reports took nothing
 * with it.
 */
export class Connection {
  readonly #client: PostgresQuery;
  readonly #clock: Clock;
  readonly #limit: number;

  constructor(client: PostgresQuery, clock: Clock, limitMilliseconds: number) {
    this.#client = client;
    this.#clock = clock;
    this.#limit = limitMilliseconds;
  }

  /** @throws PostgresStatementError with what is known of the outcome. */
  async run(text: string, values: unknown[]): Promise<PostgresResult['rows']> {
    for (let tries = 1; ; tries += 1) {
      try {
        return (await this.#once(text, values)).rows;
      } catch (error) {
        const failure = statementFailure(error);
        if (!rolledBack.test(failure.sqlState ?? '') || tries === mostTries) throw failure;
      }
    }
  }

  /** As `run`, for statements that can be repeated: once more when the outcome of the first is not known. */
  async runAgain(text: string, values: unknown[]): Promise<PostgresResult['rows']> {
    try {
      return await this.run(text, values);
    } catch (error) {
      if (!PostgresStatementError.is(error) || error.definite) throw error;
      return await this.run(text, values);
    }
  }

  async #once(text: string, values: unknown[]): Promise<PostgresResult> {
    return await new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(this.#limit, () => {
        reject(noAnswer(this.#limit));
      });
      const ended = (): void => {
        timer[Symbol.dispose]();
      };
      // A client that throws instead of rejecting is no other failure.
      new Promise<PostgresResult>((answer) => {
        answer(this.#client.query(text, values));
      })
        .then(resolve, reject)
        .finally(ended);
    });
  }
}
