import { withoutCredentials } from '@holdfast/base';

import { PostgresStatementError } from '../errors.js';

/** What is read of a client's error, besides what it says; everything else stays behind. */
interface ClientError {
  readonly code?: unknown;
  readonly severity?: unknown;
  readonly syscall?: unknown;
}

/** Conditions that a server only reports instead of opening a session: no statement was sent. */
const beforeAnyStatement = /^(?:28...|3D000|53300|57P03)$/;
/** Conditions after which a commit may have happened: lost connections, shutdowns, and what the server cannot tell. */
const outcomeUnknown = /^(?:08...|57P0[124]|40003)$/;
/** Connections, resources, operators, rollbacks for concurrency, locks that were waited for too long. */
const passing = /^(?:08|53|57|40|55P03)/;
const passingSystem = /^(?:ECONN|ETIMEDOUT|EPIPE|EHOST|ENET|EAI_AGAIN|ENOTFOUND)/;
/** System calls that precede every statement. */
const connecting = /^(?:connect|getaddrinfo)$/;

/**
 * Turns whatever a client threw into the facts. Only an error that the server itself reported for the statement is a
 * definite one: the statement was one transaction, and it was rolled back.
 */
export function statementFailure(error: unknown): PostgresStatementError {
  if (PostgresStatementError.is(error)) return error;
  const { code, severity, syscall } = (error ?? {}) as ClientError;
  const text = typeof code === 'string' ? code : undefined;
  const said = withoutCredentials(error);
  const sqlState =
    text !== undefined && /^[0-9A-Z]{5}$/.test(text) && severity !== undefined ? text : undefined;
  if (sqlState !== undefined) {
    const definite =
      beforeAnyStatement.test(sqlState) || (severity === 'ERROR' && !outcomeUnknown.test(sqlState));
    return new PostgresStatementError({
      sqlState,
      system: undefined,
      definite,
      retryable: passing.test(sqlState),
      said,
    });
  }
  const definite = typeof syscall === 'string' && connecting.test(syscall);
  // Clients report lost connections and time limits without a code.
  const retryable = text === undefined || passingSystem.test(text);
  return new PostgresStatementError({ sqlState: undefined, system: text, definite, retryable, said });
}

/** A statement that was not answered in time. Nobody knows what becomes of it. */
export function noAnswer(milliseconds: number): PostgresStatementError {
  return new PostgresStatementError({
    sqlState: undefined,
    system: 'ETIMEDOUT',
    definite: false,
    retryable: true,
    said: `no answer within ${milliseconds} ms`,
  });
}
