import * as fs from 'node:fs';

const chunkBytes = 256 * 1024;
const setIdBits = 0o6000;

/** File systems, by device number, that were asked for a clone and have none: not asked again. */
const withoutClones = new Set<number>();

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
    const target = fs.fstatSync(to);
    const refusal = cloneRefusal(source, target) ?? tryClone(to, target, hooks.clone);
    if (refusal === undefined) return 'cloned';
    if (how === 'clone-only') throw refusal;
    copyBytes(from, to, source.blocks * 512 < source.size);
    return 'copied';
  } catch (error) {
    throw hooks.failure(error);
  }
}

function cloneRefusal(source: fs.Stats, target: fs.Stats): unknown {
  if (source.dev !== target.dev) return refusal('EXDEV');
  // Node's clone gives the target the source's mode for a moment; a set-id file must not exist even that long.
  return withoutClones.has(target.dev) || (source.mode & setIdBits) !== 0 ? refusal('ENOTSUP') : undefined;
}

/** Clones; returns the failure, if there is one. The target keeps its mode either way. */
function tryClone(to: number, target: fs.Stats, clone: () => void): unknown {
  try {
    clone();
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTSUP') withoutClones.add(target.dev);
    return error;
  } finally {
    fs.fchmodSync(to, target.mode & 0o7777);
  }
}

function refusal(code: string): Error {
  return Object.assign(new Error(`${code}: no clone`), { code, syscall: 'copyfile' });
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
