import { basename, dirname, resolve, sep } from 'node:path';

import { Dir, type FileSystem, FileSystemError, type NodeKind } from '@holdfast/durable';

import { type FoundNode, NotDirectoryError, PersistencePathError, UnreadableError } from '../errors.js';

/** An open root directory and the path that names it. */
export interface TreeRoot extends Disposable {
  readonly dir: Dir;
  /** Absolute, parents resolved. */
  readonly path: string;
}

/**
 * Opens a directory that is to be captured. Symlinks above it are resolved; it must not be one itself.
 * @throws NotDirectoryError when it is missing or something else.
 * @throws UnreadableError when it may not be read.
 */
export function openTreeRoot(fileSystem: FileSystem, root: string): TreeRoot {
  const path = canonicalize(fileSystem, root);
  if (path === undefined) throw new NotDirectoryError(root, 'missing');
  try {
    const dir = Dir.openRoot(fileSystem, path);
    return {
      dir,
      path,
      [Symbol.dispose]: () => {
        dir.close();
      },
    };
  } catch (error) {
    if (!FileSystemError.is(error)) throw error;
    if (error.errno === 'EACCES' || error.errno === 'EPERM')
      throw new UnreadableError(root, { cause: error });
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.errno)) throw error;
    throw new NotDirectoryError(root, lookAt(fileSystem, path));
  }
}

/** What stands at a path: nothing, a directory, or what else. */
export function lookAt(fileSystem: FileSystem, path: string): FoundNode {
  if (path === dirname(path)) return 'special';
  let parent: Dir;
  try {
    parent = Dir.openRoot(fileSystem, dirname(path));
  } catch (error) {
    if (FileSystemError.is(error)) return 'missing';
    throw error;
  }
  try {
    const kind: NodeKind | undefined = parent.lstat(Buffer.from(basename(path)))?.kind;
    if (kind === undefined) return 'missing';
    return kind === 'file' || kind === 'symlink' ? kind : 'special';
  } finally {
    parent.close();
  }
}

/** @throws TypeError when a path of this machine is not given as one. */
export function checkHostPath(path: unknown): void {
  if (typeof path !== 'string' || path.length === 0 || path.includes('\0')) {
    throw new TypeError('path: expected a non-empty string without NUL');
  }
}

/** The path with its parents resolved; `undefined` when a parent is missing. */
export function canonicalize(fileSystem: FileSystem, path: string): string | undefined {
  const absolute = resolve(path);
  const parent = dirname(absolute);
  if (parent === absolute) return absolute;
  try {
    const canonicalParent = Buffer.from(fileSystem.canonicalPath(parent)).toString();
    return canonicalParent.endsWith(sep)
      ? canonicalParent + basename(absolute)
      : canonicalParent + sep + basename(absolute);
  } catch (error) {
    if (FileSystemError.is(error) && ['ENOENT', 'ENOTDIR'].includes(error.errno)) return undefined;
    if (FileSystemError.is(error) && error.errno === 'EACCES')
      throw new UnreadableError(path, { cause: error });
    throw error;
  }
}

/** @throws PersistencePathError when the directory and one of the store's own contain each other. */
export function refuseOverlap(path: string, storagePaths: readonly string[]): void {
  for (const storage of storagePaths) {
    if (contains(path, storage) || contains(storage, path)) throw new PersistencePathError(path, storage);
  }
}

function contains(outer: string, inner: string): boolean {
  return outer === inner || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}
