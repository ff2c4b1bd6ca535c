import type { Dir } from '../dir.js';
import { FileSystemError } from '../errors.js';
import { breathe, type Steps } from './steps.js';

/** Rounds of "delete all, look again" before a directory into which others keep writing is given up. */
const maxRounds = 64;
const namesBetweenPauses = 16;

/**
 * Deletes what a private name holds. Directories found inside a directory are first renamed up into the top one, so
 * that depth costs neither descriptors nor path length, and no path through a directory that others may move is used.
 */
export function* deleteSteps(parent: Dir, name: Uint8Array, signal: AbortSignal | undefined): Steps<void> {
  if (!isDirectoryAfterUnlink(parent, name, 'outside')) return;
  const top = openForDeletion(parent, name);
  try {
    const flat = new FlatNames(top);
    yield* emptyDirectory(top, top, flat, signal);
    for (let next = flat.take(); next !== undefined; next = flat.take()) {
      const dir = openForDeletion(top, next);
      try {
        yield* emptyDirectory(dir, top, flat, signal);
      } finally {
        dir.close();
      }
      if (!removeEmpty(top, next)) flat.putBack(next);
    }
  } finally {
    top.close();
  }
  // Whoever still holds the tree open may have added to it: the caller's sweep will meet it again.
  parent.rmdir(name);
}

function* emptyDirectory(dir: Dir, top: Dir, flat: FlatNames, signal: AbortSignal | undefined): Steps<void> {
  const inTop = dir === top;
  for (let round = 0; round < maxRounds; round += 1) {
    let met = 0;
    for (const name of dir.list()) {
      if (inTop && flat.has(name)) continue;
      met += 1;
      if (met % namesBetweenPauses === 0) yield* breathe(signal);
      if (!isDirectoryAfterUnlink(dir, name, 'inside')) continue;
      if (inTop) flat.add(name);
      else flat.adopt(dir, name);
    }
    if (met === 0) return;
  }
}

/** Directories that wait in the top directory for their turn. */
class FlatNames {
  readonly #top: Dir;
  readonly #waiting: Uint8Array[] = [];
  readonly #known = new Set<string>();
  #counter = 0;

  constructor(top: Dir) {
    this.#top = top;
  }

  has(name: Uint8Array): boolean {
    return this.#known.size > 0 && this.#known.has(key(name));
  }

  add(name: Uint8Array): void {
    this.#known.add(key(name));
    this.#waiting.push(name);
  }

  take(): Uint8Array | undefined {
    return this.#waiting.pop();
  }

  putBack(name: Uint8Array): void {
    this.#waiting.push(name);
  }

  /** Moves a directory up under a free name. */
  adopt(dir: Dir, name: Uint8Array): void {
    for (;;) {
      this.#counter += 1;
      const flatName = Buffer.from(`.${this.#counter}`, 'latin1');
      try {
        moveUp(dir, name, this.#top, flatName);
      } catch (error) {
        if (!FileSystemError.is(error)) throw error;
        if (error.errno === 'ENOENT') return;
        // The tree has a name like that of its own. An empty directory is replaced, which loses nothing.
        if (error.errno === 'ENOTEMPTY' || error.errno === 'EEXIST' || error.errno === 'ENOTDIR') continue;
        throw error;
      }
      this.add(flatName);
      return;
    }
  }
}

function key(name: Uint8Array): string {
  return Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
}

/** Unlinks; tells whether the name holds a directory instead. Gone is as good as unlinked. */
function isDirectoryAfterUnlink(dir: Dir, name: Uint8Array, where: 'inside' | 'outside'): boolean {
  try {
    dir.unlink(name);
    return false;
  } catch (error) {
    if (!FileSystemError.is(error)) throw error;
    if (error.errno === 'ENOENT') return false;
    if (error.errno === 'EISDIR') return true;
    if (error.errno !== 'EPERM' && error.errno !== 'EACCES') throw error;
    // Some systems say EPERM for a directory; and nothing can be unlinked in a directory without write permission.
    if (dir.lstat(name)?.kind === 'directory') return true;
    // What is not part of the victim keeps its mode.
    if (where === 'outside' || !openUp(dir)) throw error;
  }
  dir.unlink(name);
  return false;
}

function moveUp(dir: Dir, name: Uint8Array, top: Dir, flatName: Uint8Array): void {
  try {
    dir.rename(name, top, flatName);
  } catch (error) {
    if (!FileSystemError.is(error) || error.errno !== 'EACCES') throw error;
    // Moving a directory to another parent writes its "..": both it and its old parent must be writable.
    openUp(dir);
    dir.chmodAt(name, 0o700, 'directory');
    dir.rename(name, top, flatName);
  }
}

function openForDeletion(parent: Dir, name: Uint8Array): Dir {
  try {
    return parent.openDir(name);
  } catch (error) {
    if (!FileSystemError.is(error) || error.errno !== 'EACCES') throw error;
    parent.chmodAt(name, 0o700, 'directory');
    return parent.openDir(name);
  }
}

function openUp(dir: Dir): boolean {
  const { mode } = dir.stat();
  if ((mode & 0o700) === 0o700) return false;
  try {
    dir.chmod(mode | 0o700);
    return true;
  } catch {
    // Somebody else's directory: the refusal that led here says it better.
    return false;
  }
}

function removeEmpty(top: Dir, name: Uint8Array): boolean {
  try {
    top.rmdir(name);
    return true;
  } catch (error) {
    if (!FileSystemError.is(error)) throw error;
    if (error.errno === 'ENOENT') return true;
    if (error.errno === 'ENOTEMPTY' || error.errno === 'EEXIST') return false;
    throw error;
  }
}
