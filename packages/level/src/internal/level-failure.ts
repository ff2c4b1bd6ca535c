import { JournalCorruptError } from '@holdfast/journal';

/**
 * What a failure of the engine says, found by its code and never by its class. `refused`: what is in the directory is no
 * database, or another one; the engine gives no code for that.
 */
export type LevelFailure = 'locked' | 'damaged' | 'system' | 'refused';

// The engine gives one code for every failed system call and no errno; what is left is the end of its message. A file
// that its own table of contents names and that is not there is damage; the rest (permissions, descriptors, space) is not.
const missingFile = /(?:No such file or directory|Not a directory|Is a directory|File name too long)$/;

/** Classifies a failure of the engine, looking through its causes. */
export function levelFailure(error: unknown): LevelFailure {
  for (let current: unknown = error; typeof current === 'object' && current !== null; ) {
    const { code, message, cause } = current as { code?: unknown; message?: unknown; cause?: unknown };
    if (code === 'LEVEL_LOCKED') return 'locked';
    if (code === 'LEVEL_CORRUPTION') return 'damaged';
    if (code === 'LEVEL_IO_ERROR' && typeof message === 'string' && missingFile.test(message))
      return 'damaged';
    current = cause;
  }
  return 'refused';
}

/** Returns damage as the contract's error; other failures as they are, for the portable class to wrap. */
export function asLedgerFailure(subject: string, error: unknown, seq?: number): unknown {
  if (levelFailure(error) !== 'damaged') return error;
  return new JournalCorruptError(subject, 'storage', { seq, cause: error });
}
