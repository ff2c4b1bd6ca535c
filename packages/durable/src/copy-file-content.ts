import { Pacer, throwIfAborted } from '@holdfast/base';

import { FileSystemError } from './errors.js';
import type { File } from './file.js';

export interface CopyOptions {
  /** `clone-only` fails with `FileSystemError` where the disk cannot share blocks. Default: copy then. */
  readonly how?: 'clone-only' | 'clone-or-copy' | undefined;
  /** On abort the target holds a part of the content. */
  readonly signal?: AbortSignal | undefined;
}

const pieceBytes = 1024 * 1024;

/**
 * Fills an empty open file with the content of another: by clone where the disk can, else in pieces with rests for the
 * event loop, leaving holes where the source has zeros. Not synced.
 */
export async function copyFileContent(
  from: File,
  to: File,
  options: CopyOptions = {},
): Promise<'cloned' | 'copied'> {
  throwIfAborted(options.signal);
  try {
    return to.copyFrom(from, 'clone-only');
  } catch (error) {
    if (!FileSystemError.is(error) || options.how === 'clone-only') throw error;
  }
  const pacer = new Pacer();
  const buffer = Buffer.allocUnsafe(pieceBytes);
  const zeros = Buffer.alloc(pieceBytes);
  let position = 0;
  for (;;) {
    const count = from.read(buffer, position);
    if (count === 0) break;
    if (buffer.compare(zeros, 0, count, 0, count) !== 0) to.write(buffer.subarray(0, count), position);
    position += count;
    if (pacer.due) await pacer.rest(options.signal);
  }
  to.truncate(position);
  return 'copied';
}
