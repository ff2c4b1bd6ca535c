import type { Dir } from './dir.js';
import { type EntryName, entryNameBytes } from './entry-name.js';
import { FileSystemError, NotAFileError } from './errors.js';

export interface ReadFileOptions {
  /** More than this is refused before it is in memory. */
  readonly maxBytes: number;
}

/**
 * Reads a small regular file whole; `undefined` when the name does not exist. Never blocks on a FIFO or follows a
 * symlink.
 *
 * @throws NotAFileError when something else has the name.
 * @throws FileTooLargeError when it holds more than `maxBytes`.
 */
export function readFile(dir: Dir, name: EntryName, options: ReadFileOptions): Uint8Array | undefined {
  const bytes = entryNameBytes(name);
  try {
    using file = dir.openFile(bytes);
    const { kind } = file.stat();
    if (kind !== 'file') throw new NotAFileError(bytes, kind);
    return file.readAll(options);
  } catch (error) {
    if (!FileSystemError.is(error)) throw error;
    if (error.errno === 'ENOENT') return undefined;
    // A symlink is refused by the open itself (ELOOP), a socket too (ENXIO): say what it is.
    const kind = error.errno === 'ELOOP' || error.errno === 'ENXIO' ? dir.lstat(bytes)?.kind : undefined;
    if (kind !== undefined && kind !== 'file') throw new NotAFileError(bytes, kind);
    throw error;
  }
}
