import { HoldfastError, quote } from '@holdfast/base';

/** A system call failed. `errno` is the system's own code; `path` is for people and may be escaped. */
export class FileSystemError extends HoldfastError {
  static override readonly code = 'DURABLE_FILE_SYSTEM';
  declare readonly code: 'DURABLE_FILE_SYSTEM';
  /** The system call, for example `rename`. */
  declare readonly operation: string;
  /** The system's code, for example `ENOSPC`. */
  declare readonly errno: string;
  declare readonly path: string;

  constructor(operation: string, errno: string, path: string, options: { readonly cause?: unknown } = {}) {
    super(`${operation} ${quote(path)} failed with ${errno}`, {
      cause: options.cause,
      fields: { operation, errno, path },
    });
  }
}
