import {
  BlobConflictError,
  BlobIntegrityError,
  BlobNotFoundError,
  BlobRangeError,
  BlobSourceError,
  BlobsAmbiguousError,
  BlobsBackendError,
  isBlobsError,
} from '../errors.js';

/** Returns the same fact about another key: callers of a layer must read the keys that they use. */
export function withKey(error: unknown, key: string): unknown {
  if (!isBlobsError(error)) return error;
  const { cause } = error;
  switch (error.code) {
    case 'BLOBS_NOT_FOUND':
      return new BlobNotFoundError(key, { cause });
    case 'BLOBS_CONFLICT':
      return new BlobConflictError(key, { cause });
    case 'BLOBS_RANGE':
      return new BlobRangeError(key, error, error.size);
    case 'BLOBS_SOURCE':
      return new BlobSourceError(key, error.kind, error.expected, error.received, { cause });
    case 'BLOBS_INTEGRITY':
      return new BlobIntegrityError(key, error.kind, error.detail, { cause, effect: error.effect });
    case 'BLOBS_AMBIGUOUS':
      return new BlobsAmbiguousError(error.operation, key, { cause, retryable: error.retryable });
    case 'BLOBS_BACKEND':
      return new BlobsBackendError(error.operation, key, { cause, retryable: error.retryable });
    case 'BLOBS_UNSUPPORTED':
    case 'BLOBS_CLOSED':
      return error;
  }
}
