import { isHoldfastError } from '@holdfast/base';

import { FileSystemError, OutcomeUncertainError, type UncertainOperation } from '../errors.js';

/** Codes with which the kernel refuses a call before doing any of it. Everything else may come from half-way. */
const refusals: ReadonlySet<string> = new Set(
  [
    'EACCES EBUSY EDQUOT EEXIST EINVAL EISDIR ELOOP EMFILE EMLINK ENAMETOOLONG ENFILE ENOENT ENOMEM ENOSPC ENOSYS',
    'ENOTDIR ENOTEMPTY ENOTSUP EOPNOTSUPP EPERM EROFS EXDEV',
  ].flatMap((line) => line.split(' ')),
);

/** Tells whether `error` is a definite refusal of one call: it changed nothing. */
export function isRefusal(error: unknown): boolean {
  if (FileSystemError.is(error)) return refusals.has(error.errno);
  return isHoldfastError(error) ? error.effect === 'none' : !(error instanceof Error && 'errno' in error);
}

/** Makes one naming call; a failure that is no definite refusal leaves the outcome open. */
export function decisive(operation: UncertainOperation, name: Uint8Array, call: () => void): void {
  try {
    call();
  } catch (error) {
    throw isRefusal(error) ? error : new OutcomeUncertainError(operation, name, { cause: error });
  }
}
