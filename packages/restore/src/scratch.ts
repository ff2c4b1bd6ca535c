import { quote, sha256Hex } from '@holdfast/base';
import {
  Dir,
  ensureChildDirectory,
  type FileSystem,
  FileSystemError,
  nodeFileSystem,
  type Stat,
} from '@holdfast/durable';

import { ScratchUnavailableError, WorkspaceRestoreError } from './errors.js';
import { QuietCloseFileSystem } from './internal/quiet-close.js';
import { identityOf, isSameIdentity } from './internal/signature.js';
import type { RootIdentity } from './restore-journal.js';
import type { ScratchPlacement } from './strategy.js';

/** Name of the scratch directory with `scratch: 'inside'`; captures must leave it out (`reserved`). */
export const insideScratchName = '.holdfast-scratch';

const maxNameBytes = 255;

/** A root with the directory that holds it, both open. Everything below works on the handles, never on the path. */
export class RootPlace implements Disposable {
  readonly path: string;
  readonly name: Uint8Array;
  readonly parentPath: string;
  readonly #fileSystem: FileSystem;
  #parent: Dir;
  #root: Dir | undefined;

  private constructor(path: string, fileSystem: FileSystem, parentPath: string, name: Uint8Array) {
    this.path = path;
    this.name = name;
    this.#fileSystem = fileSystem;
    this.parentPath = parentPath;
    this.#parent = Dir.openRoot(fileSystem, parentPath);
  }

  /**
   * Opens the parent of a root by its canonical path, and the root if it is there.
   * @throws WorkspaceRestoreError `symlink-root` when the root is a symlink, `root-replaced` when it is no directory.
   */
  static open(path: string, fileSystem: FileSystem = nodeFileSystem()): RootPlace {
    const cut = path.lastIndexOf('/');
    const name = Buffer.from(path.slice(cut + 1), 'utf8');
    if (cut < 0) throw new TypeError(`root ${quote(path)}: expected an absolute canonical path`);
    if (name.length === 0) throw new ScratchUnavailableError(path, 'filesystem-root');
    const quiet = new QuietCloseFileSystem(fileSystem);
    const place = new RootPlace(path, quiet, cut === 0 ? '/' : path.slice(0, cut), name);
    try {
      place.#openRoot();
      return place;
    } catch (error) {
      place.close();
      throw error;
    }
  }

  /** The open root; `undefined` when there is none. */
  get root(): Dir | undefined {
    return this.#root;
  }

  /** The open root. @throws WorkspaceRestoreError `root-replaced` when there is none. */
  get presentRoot(): Dir {
    if (this.#root === undefined) {
      throw new WorkspaceRestoreError('root-replaced', `${quote(this.path)} does not exist`, {
        root: this.path,
      });
    }
    return this.#root;
  }

  /** The directory that holds the root. */
  get parent(): Dir {
    return this.#parent;
  }

  /**
   * Opens the parent and whatever has the root's name now anew: a handle whose sync failed takes no further change.
   * @throws WorkspaceRestoreError `root-replaced` when another directory has the parent's path.
   */
  reopen(): void {
    const parent = Dir.openRoot(this.#fileSystem, this.parentPath);
    if (!isSameIdentity(identityOf(parent), identityOf(this.#parent))) {
      parent.close();
      throw new WorkspaceRestoreError('root-replaced', `the parent of ${quote(this.path)} was replaced`, {
        root: this.path,
      });
    }
    this.#parent.close();
    this.#parent = parent;
    this.#openRoot();
  }

  #openRoot(): void {
    this.#root?.close();
    this.#root = undefined;
    try {
      this.#root = this.#parent.openDir(this.name);
    } catch (error) {
      if (!FileSystemError.is(error)) throw error;
      const kind = this.#parent.lstat(this.name)?.kind;
      if (kind === undefined) return;
      const facts = { root: this.path, cause: error };
      if (kind === 'symlink') {
        throw new WorkspaceRestoreError('symlink-root', `${quote(this.path)} is a symlink`, facts);
      }
      if (kind !== 'directory') {
        throw new WorkspaceRestoreError(
          'root-replaced',
          `${quote(this.path)} is a ${kind}, not a directory`,
          facts,
        );
      }
      throw error;
    }
  }

  /**
   * Looks whether the root's name still leads to the directory that is open, and that to the one with this identity.
   * @throws WorkspaceRestoreError `symlink-root` or `root-replaced`.
   */
  refuseReplaced(expected?: RootIdentity): void {
    const root = this.presentRoot;
    const named = this.parent.lstat(this.name);
    const facts = { root: this.path };
    if (named?.kind === 'symlink') {
      throw new WorkspaceRestoreError('symlink-root', `${quote(this.path)} became a symlink`, facts);
    }
    const same = named?.kind === 'directory' && named.ino === root.stat().ino;
    if (!same || (expected !== undefined && !isSameIdentity(identityOf(root), expected))) {
      throw new WorkspaceRestoreError(
        'root-replaced',
        `${quote(this.path)} is not the directory that it was`,
        facts,
      );
    }
  }

  close(): void {
    this.#root?.close();
    this.#parent.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The name of a root's scratch directory beside it. */
export function siblingScratchName(rootName: Uint8Array): Uint8Array {
  const name = Buffer.concat([Buffer.from('.'), rootName, Buffer.from('.holdfast')]);
  // A root whose own name leaves no room gets a digest instead.
  return name.length <= maxNameBytes ? name : Buffer.from(`.${sha256Hex(rootName).slice(0, 32)}.holdfast`);
}

/** The path of a root's scratch directory, for whoever keeps a lock or a record beside the scratch. */
export function scratchPath(root: string, placement: ScratchPlacement = 'sibling'): string {
  if (placement === 'inside') return `${root}/${insideScratchName}`;
  const cut = root.lastIndexOf('/') + 1;
  return (
    root.slice(0, cut) +
    Buffer.from(siblingScratchName(Buffer.from(root.slice(cut), 'utf8'))).toString('utf8')
  );
}

/** Opens a root's scratch directory; `undefined` when there is none, or what has its name is not ours. */
export function openOwnScratch(place: RootPlace, placement: ScratchPlacement): Dir | undefined {
  const [dir, name] = scratchAt(place, placement);
  if (dir === undefined || !isOwnDirectory(dir.lstat(name))) return undefined;
  let scratch: Dir;
  try {
    scratch = dir.openDir(name);
  } catch (error) {
    if (FileSystemError.is(error) && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.errno)) return undefined;
    throw error;
  }
  if (isOwnDirectory(scratch.stat())) return scratch;
  scratch.close();
  return undefined;
}

/** Whether a node is a directory that its owner, this user, alone can enter: all of scratch is. */
export function isOwnDirectory(stat: Stat | undefined): boolean {
  const user = process.geteuid?.();
  return stat?.kind === 'directory' && (stat.mode & 0o077) === 0 && (user === undefined || stat.uid === user);
}

/**
 * Opens a root's scratch directory, making it, after looking that it can serve: same mount, writable, private. Its name is the
 * caller's to sync.
 * @throws ScratchUnavailableError saying why it cannot.
 */
export async function ensureScratch(place: RootPlace, placement: ScratchPlacement): Promise<Dir> {
  if (placement === 'sibling') refuseMountPoint(place);
  const [dir, name] = scratchAt(place, placement);
  let scratch: Dir;
  try {
    scratch = await ensureChildDirectory(dir ?? place.presentRoot, name, {
      mode: 0o700,
      sync: false,
    });
  } catch (error) {
    throw explainScratch(place, error);
  }
  if (!isOwnDirectory(scratch.stat())) {
    scratch.close();
    throw new ScratchUnavailableError(place.path, 'not-private');
  }
  return scratch;
}

function refuseMountPoint(place: RootPlace): void {
  const root = place.presentRoot;
  const mounts = [root.mountId(), place.parent.mountId()];
  const apart = mounts.includes(undefined)
    ? root.stat().dev !== place.parent.stat().dev
    : mounts[0] !== mounts[1];
  if (apart) throw new ScratchUnavailableError(place.path, 'mount-point');
}

function explainScratch(place: RootPlace, error: unknown): unknown {
  if (!FileSystemError.is(error)) return error;
  if (['EACCES', 'EPERM', 'EROFS'].includes(error.errno)) {
    return new ScratchUnavailableError(place.path, 'parent-not-writable', { cause: error });
  }
  if (['ENOTDIR', 'ELOOP'].includes(error.errno)) {
    return new ScratchUnavailableError(place.path, 'not-private', { cause: error });
  }
  return error;
}

function scratchAt(place: RootPlace, placement: ScratchPlacement): readonly [Dir | undefined, Uint8Array] {
  if (placement === 'inside') return [place.root, Buffer.from(insideScratchName)];
  return [place.parent, siblingScratchName(place.name)];
}
