import {
  FileSystemError,
  LinksUnsupportedError,
  OutcomeUncertainError,
  SyncFailedError,
} from '@holdfast/durable';

import {
  BlobsAmbiguousError,
  BlobsBackendError,
  type BlobsOperation,
  BlobsUnsupportedError,
} from '../errors.js';

/** Conditions that pass by themselves. A full disk is not one: a person has to act. */
const passing: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'EBUSY',
  'EINTR',
  'ENOMEM',
  'ETIMEDOUT',
]);

/** Gives a failure of the file system its class; everything else passes unchanged. */
export function fsFailure(error: unknown, operation: BlobsOperation, key: string | undefined): unknown {
  if (key !== undefined && (operation === 'put' || operation === 'delete') && isUncertain(error)) {
    return new BlobsAmbiguousError(operation, key, { cause: error });
  }
  if (LinksUnsupportedError.is(error)) {
    return new BlobsUnsupportedError('exclusive create', `a file system without hard links (${error.errno})`);
  }
  if (FileSystemError.is(error)) {
    return new BlobsBackendError(operation, key, { cause: error, retryable: passing.has(error.errno) });
  }
  if (SyncFailedError.is(error))
    return new BlobsBackendError(operation, key, { cause: error, retryable: false });
  return error;
}

/** A handle that fails to close does so after everything else: the change was made. */
function isUncertain(error: unknown): boolean {
  return OutcomeUncertainError.is(error) || (FileSystemError.is(error) && error.operation === 'close');
}

/** Tells whether `error` is the system's own word that a name does not exist. */
export function isMissing(error: unknown): boolean {
  return FileSystemError.is(error) && error.errno === 'ENOENT';
}
