import { type Dir, FileSystemError } from '@holdfast/durable';

/** Directory of staged content inside `work`. */
export const stageName = 'new';
/** Directory of undo copies inside `work`. */
export const undoName = 'undo';

/** Opens a directory of `work` that the stage made; `undefined` when a crash came before that. */
export function openIfThere(work: Dir, name: string): Dir | undefined {
  try {
    return work.openDir(name);
  } catch (error) {
    if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether a failed link means that this file system, or these two places, cannot be linked at all. */
export function meansNoLinks(error: unknown): boolean {
  return (
    FileSystemError.is(error) &&
    ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES'].includes(error.errno)
  );
}

export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return FileSystemError.is(error) && codes.includes(error.errno);
}
