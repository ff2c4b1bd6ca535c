import { InvalidNameError } from '@holdfast/base';

import { BlobsBackendError, type BlobsOperation, isBlobsError } from '../errors.js';

/**
 * Turns whatever a driver threw into what callers may see: the signal's own reason, an error of this package, or one
 * `BlobsBackendError` around the raw failure.
 */
export function translateFailure(
  error: unknown,
  operation: BlobsOperation,
  key: string | undefined,
  signal: AbortSignal | undefined,
): unknown {
  if (signal?.aborted === true && isAbortOf(error, signal)) return signal.reason;
  if (isBlobsError(error) || InvalidNameError.is(error)) return error;
  return new BlobsBackendError(operation, key, { cause: error, retryable: saysRetryable(error) });
}

function isAbortOf(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true;
  if (typeof error !== 'object' || error === null) return false;
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'AbortError' || code === 'ABORT_ERR';
}

function saysRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { retryable?: unknown }).retryable === true;
}
