import { withoutCredentials } from '@holdfast/base';

import { NatsRequestError } from '../errors.js';

interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly cause?: unknown;
}

/** The expected sequence was not the last one of the subject. */
const wrongSequence: ReadonlySet<unknown> = new Set([10_071, 10_164]);
const notFound: ReadonlySet<unknown> = new Set([10_037]);
/** Errors of the client that say that nobody was there to take the request. */
const nobodyThere: ReadonlySet<unknown> = new Set(['NoRespondersError', 'JetStreamNotEnabled']);
const closed: ReadonlySet<unknown> = new Set(['ClosedConnectionError', 'DrainingConnectionError']);

/** Whether the server answered that the expected sequence is not the last one. */
export function isConflict(error: unknown): boolean {
  return isApiError(error) && wrongSequence.has(error.code);
}

/** Whether the server answered that there is no such message. */
export function isAbsent(error: unknown): boolean {
  return isApiError(error) && notFound.has(error.code);
}

/**
 * Turns whatever the client threw into the facts. Only an answer of the server, or that nobody took the request, is
 * definite: a request that was not answered in time may be carried out yet.
 */
export function requestFailure(error: unknown): NatsRequestError {
  if (NatsRequestError.is(error)) return error;
  const said = withoutCredentials(error);
  if (isApiError(error)) {
    const { status } = error as ClientError;
    const retryable = status === 503 || status === 408;
    return new NatsRequestError({ apiCode: Number(error.code), definite: true, retryable, said });
  }
  const definite = isNamed(error, nobodyThere);
  const retryable = definite || !isNamed(error, closed);
  return new NatsRequestError({ apiCode: undefined, definite, retryable, said });
}

function isApiError(error: unknown): error is { readonly code: unknown } {
  if (typeof error !== 'object' || error === null) return false;
  const { code, status } = error as ClientError;
  return typeof code === 'number' && code >= 10_000 && typeof status === 'number';
}

/** Whether the error, or what caused it, has one of the names. */
function isNamed(error: unknown, names: ReadonlySet<unknown>): boolean {
  let at = error;
  for (let depth = 0; typeof at === 'object' && at !== null && depth < 5; depth += 1) {
    if (names.has((at as ClientError).name) || names.has(at.constructor.name)) return true;
    at = (at as ClientError).cause;
  }
  return false;
}
