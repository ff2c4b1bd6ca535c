import { type S3Operation, S3RequestError, type S3RequestFacts } from '../errors.js';

/** How far a request came; decides whether a failure leaves a doubt. */
export interface Progress {
  /** The request was handed to the connection. */
  sent: boolean;
  /** It ran into the driver's own timeout. */
  timedOut: boolean;
}

/** A failed request, and whether the service may have done what it was asked to do. */
export interface Failure {
  readonly error: S3RequestError;
  readonly definite: boolean;
}

/** System errors of a connection that never came to be: nothing was sent. */
const connectErrors: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
]);

/** Statuses and codes that pass by themselves, and that say that nothing was done. */
const passing: ReadonlySet<string> = new Set([
  'SlowDown',
  'RequestTimeout',
  'OperationAborted',
  'ConditionalRequestConflict',
  'TooManyRequests',
]);

/**
 * Reads what the client threw. Copies a few facts of known form and drops the rest: the error itself holds the request,
 * its signature, and whatever a server chose to say.
 */
export function readFailure(operation: S3Operation, raw: unknown, progress: Progress): Failure {
  const status = statusOf(raw);
  // What ended the request is the driver's own timer then.
  const reason = progress.timedOut ? undefined : reasonOf(raw);
  const facts = { status, reason, requestId: requestIdOf(raw) };
  const fail = (kind: S3RequestFacts['kind'], retryable: boolean, definite: boolean): Failure => ({
    error: new S3RequestError(operation, { ...facts, kind }, retryable),
    definite,
  });
  if (progress.timedOut) return fail('timeout', true, !progress.sent);
  if (!progress.sent) return fail('unsent', false, true);
  if (status === undefined) {
    const connecting = connectErrors.has(reason ?? '');
    // The client's own timer for connections looks like this; it has no code to tell it by, so a doubt stays.
    const kind = reason === 'TimeoutError' ? 'timeout' : connecting ? 'unreachable' : 'broken';
    return fail(kind, true, connecting);
  }
  if (status < 300) return fail('nonsense', false, false);
  if (passing.has(reason ?? '') || status === 429) return fail('refused', true, true);
  // A gateway answers 5xx also when the server behind it has done its work.
  if (status >= 500) return fail('refused', true, false);
  return fail('refused', false, true);
}

/** Status of the answer that an error stands for. */
export function statusOf(raw: unknown): number | undefined {
  const status = (raw as { $metadata?: { httpStatusCode?: unknown } } | undefined)?.$metadata?.httpStatusCode;
  return typeof status === 'number' ? status : undefined;
}

/** The service's or the system's code; `undefined` when it has not the form of one. */
export function reasonOf(raw: unknown): string | undefined {
  const { name, code, Code } = (raw ?? {}) as { name?: unknown; code?: unknown; Code?: unknown };
  // The client names errors by the service's code; for errors of the system that is just `Error`.
  const candidates = [Code, code, name === 'Error' || name === 'UnknownError' ? undefined : name];
  return candidates.find(
    (text): text is string => typeof text === 'string' && /^[A-Za-z][\w.]{0,63}$/.test(text),
  );
}

function requestIdOf(raw: unknown): string | undefined {
  const id = (raw as { $metadata?: { requestId?: unknown } } | undefined)?.$metadata?.requestId;
  return typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
}
