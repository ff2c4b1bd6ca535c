import * as fs from 'node:fs';

const chunkBytes = 256 * 1024;
const setIdBits = 0o6000;

/**
 * Fills an empty open file with the content of another: by clone where the file system can, else by copying, leaving
 * holes where the source is sparse.
 */
export function copyContent(
  from: number,
  to: number,
  how: 'clone-only' | 'clone-or-copy',
  hooks: { readonly clone: () => void; readonly failure: (error: unknown) => unknown },
): 'cloned' | 'copied' {
  try {
    const source = fs.fstatSync(from);
    if (tryClone(source.mode, from, to, how, hooks.clone)) return 'cloned';
    copyBytes(from, to, source.blocks * 512 < source.size);
    return 'copied';
  } catch (error) {
    throw hooks.failure(error);
  }
}

function tryClone(
  sourceMode: number,
  from: number,
  to: number,
  how: 'clone-only' | 'clone-or-copy',
  clone: () => void,
): boolean {
  try {
    if ((sourceMode & setIdBits) !== 0) {
      // Node's clone gives the target the source's mode for a moment; a set-id file must not exist even that long.
      throw Object.assign(new Error('set-id files are not cloned'), { code: 'ENOTSUP', syscall: 'copyfile' });
    }
    const { mode } = fs.fstatSync(to);
    clone();
    fs.fchmodSync(to, mode & 0o7777);
    return true;
  } catch (error) {
    if (how === 'clone-only') throw error;
    return false;
  }
}

function copyBytes(from: number, to: number, sparse: boolean): void {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const zeros = sparse ? Buffer.alloc(chunkBytes) : undefined;
  let position = 0;
  for (;;) {
    const count = fs.readSync(from, buffer, 0, chunkBytes, position);
    if (count === 0) break;
    if (zeros === undefined || buffer.compare(zeros, 0, count, 0, count) !== 0) {
      let done = 0;
      while (done < count) done += fs.writeSync(to, buffer, done, count - done, position + done);
    }
    position += count;
  }
  fs.ftruncateSync(to, position);
}
