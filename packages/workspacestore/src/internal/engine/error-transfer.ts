import { HoldfastError } from '@holdfast/base';
import { FileSystemError } from '@holdfast/durable';

import { ArchiveLimitError, NotDirectoryError, TreeChangedError, UnreadableError } from '../../errors.js';

/** An error as it crosses threads, where classes get lost. */
export interface TransferredError {
  readonly code: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause: TransferredError | undefined;
}

export function transferError(error: unknown): TransferredError {
  const known = error instanceof Error ? error : new Error(String(error));
  return {
    code: error instanceof HoldfastError ? error.code : undefined,
    fields: error instanceof HoldfastError ? { ...error.toJSON() } : {},
    message: known.message,
    stack: known.stack,
    cause: known.cause === undefined ? undefined : transferError(known.cause),
  };
}

/** Makes an error of the class that crossed; one that a capture has no business to throw becomes a plain error. */
export function receiveError(sent: TransferredError): Error {
  const options = sent.cause === undefined ? {} : { cause: receiveError(sent.cause) };
  const { fields } = sent;
  switch (sent.code) {
    case ArchiveLimitError.code:
      return new ArchiveLimitError(
        fields['limit'] as ArchiveLimitError['limit'],
        Number(fields['cap']),
        Number(fields['observed']),
        String(fields['where']),
      );
    case UnreadableError.code:
      return new UnreadableError(String(fields['path']), options);
    case TreeChangedError.code:
      return new TreeChangedError(String(fields['path']));
    case NotDirectoryError.code:
      return new NotDirectoryError(String(fields['path']), fields['found'] as NotDirectoryError['found']);
    case FileSystemError.code:
      return new FileSystemError(
        String(fields['operation']),
        String(fields['errno']),
        String(fields['path']),
        options,
      );
    default: {
      const error = new Error(sent.message, options);
      if (sent.stack !== undefined) error.stack = sent.stack;
      return error;
    }
  }
}
