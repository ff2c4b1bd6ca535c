import { encodePathText } from '@holdfast/base';

import { absolutePathBytes } from '../../absolute-path.js';
import { checkEntryName } from '../../entry-name.js';
import { FileSystemError } from '../../errors.js';
import type { DirHandle, FileHandle, FileSystem, Stat, SyncExtent } from '../../file-system.js';
import { asDirHandle, asFileHandle, ModelHandle } from './model-handle.js';
import { type Located, PathLookup } from './model-paths.js';
import { statOf } from './model-stat.js';
import { ModelState } from './model-state.js';
import { type DirectoryNode, type FileNode, type ModelNode, nameFromKey, nameKey } from './nodes.js';
import { checkRename } from './rename-rules.js';

export interface ModelOptions {
  /** `false` makes `link` fail with `EPERM`; default `true`. */
  readonly links?: boolean | undefined;
  /** `true` makes clones succeed; default `false`. */
  readonly clones?: boolean | undefined;
}

/** A call that changes something, reported before it does. */
export interface ModelOperation {
  readonly operation: string;
  /** Path by which the directory or file was opened, and the name if there is one. */
  readonly path: string;
}

/**
 * A file system in memory that keeps the strict promises only: bytes are durable after a sync of their file, names after
 * a sync of their directory, and what is pending may survive a crash in any combination. It has no permissions: every
 * caller is root. `fork`, `crashStates` (see `crash-states.ts`) and `exploreCrashes` make it a model of crashes.
 */
export class ModelFileSystem implements FileSystem {
  readonly grade = 'anchored';
  readonly state: ModelState;
  readonly options: ModelOptions;
  /** Called before every call that changes something. */
  beforeChange: ((operation: ModelOperation) => void) | undefined;
  readonly #paths: PathLookup;

  constructor(options: ModelOptions = {}, state: ModelState = ModelState.empty()) {
    this.options = options;
    this.state = state;
    this.#paths = new PathLookup(state);
  }

  /** The same disk seen by another process: everything is there, what was not synced is still pending. */
  fork(): ModelFileSystem {
    return new ModelFileSystem(this.options, this.state.fork());
  }

  /** Makes everything durable, as a clean unmount does. */
  settle(): void {
    for (const node of this.state.nodes.values()) this.state.syncNode(node, 'all');
  }

  /** Puts a node there that cannot be made by the file system calls. The parent must exist. */
  plantSpecial(path: string, kind: 'fifo' | 'socket' | 'char-device' | 'block-device', mode = 0o644): void {
    const located = this.#paths.parent('mknod', absolutePathBytes(path));
    if (located.inode !== undefined) throw located.failure('EEXIST');
    this.#give(located.directory, located.name, this.state.addSpecial(kind, mode));
  }

  openRoot(path: string | Uint8Array): DirHandle {
    const located = this.#paths.parent('open', absolutePathBytes(path));
    return asDirHandle(new ModelHandle(directoryOf(this.state, located).ino, located.path, 'directory'));
  }

  canonicalPath(path: string | Uint8Array): Uint8Array {
    return this.#paths.canonical(absolutePathBytes(path));
  }

  openDir(dir: DirHandle, name: Uint8Array): DirHandle {
    const located = this.#at('open', dir, name);
    return asDirHandle(new ModelHandle(directoryOf(this.state, located).ino, located.path, 'directory'));
  }

  openFile(dir: DirHandle, name: Uint8Array, access: 'read' | 'read-write'): FileHandle {
    const located = this.#at('open', dir, name);
    const node = this.#existing(located);
    if (node.kind === 'symlink') throw located.failure('ELOOP');
    if (node.kind === 'socket') throw located.failure('ENXIO');
    if (node.kind === 'directory' && access === 'read-write') throw located.failure('EISDIR');
    return asFileHandle(new ModelHandle(node.ino, located.path, access));
  }

  createFile(dir: DirHandle, name: Uint8Array, mode: number): FileHandle {
    const located = this.#free('createFile', dir, name);
    const node = this.#give(located.directory, located.name, this.state.addFile(mode & 0o7777));
    return asFileHandle(new ModelHandle(node.ino, located.path, 'read-write'));
  }

  close(handle: DirHandle | FileHandle): void {
    modelHandle(handle).closed = true;
  }

  fstat(handle: DirHandle | FileHandle): Stat {
    return statOf(this.#node('fstat', handle));
  }

  lstat(dir: DirHandle, name: Uint8Array): Stat | undefined {
    const { inode } = this.#at('lstat', dir, name);
    return inode === undefined ? undefined : statOf(this.state.node(inode));
  }

  readdir(dir: DirHandle): Uint8Array[] {
    return Array.from(this.#directory('readdir', dir).entries.keys(), nameFromKey);
  }

  readlink(dir: DirHandle, name: Uint8Array): Uint8Array {
    const located = this.#at('readlink', dir, name);
    const node = this.#existing(located);
    if (node.kind !== 'symlink') throw located.failure('EINVAL');
    return node.target.slice();
  }

  read(file: FileHandle, buffer: Uint8Array, position: number): number {
    const node = this.#node('read', file);
    if (node.kind === 'directory') throw failure('read', 'EISDIR', file);
    // No position in a pipe, as the kernel says.
    if (node.kind !== 'file') throw failure('read', 'ESPIPE', file);
    const part = node.content.bytes().subarray(position, position + buffer.length);
    buffer.set(part);
    return part.length;
  }

  write(file: FileHandle, bytes: Uint8Array, position: number): void {
    this.#changeFile('write', file, (node) => {
      node.content.write(bytes, position);
    });
  }

  truncate(file: FileHandle, size: number): void {
    this.#changeFile('truncate', file, (node) => {
      node.content.truncate(size);
    });
  }

  chmod(handle: DirHandle | FileHandle, mode: number): void {
    const found = this.#node('chmod', handle);
    this.#report('chmod', handle);
    this.#setMode(found, mode);
  }

  chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void {
    const located = this.#at('chmodAt', dir, name);
    const node = this.#existing(located);
    if (node.kind === 'symlink') throw located.failure('ELOOP');
    if (only === 'directory' && node.kind !== 'directory') throw located.failure('ENOTDIR');
    this.#report('chmodAt', dir, name);
    this.#setMode(this.state.node(node.ino), mode);
  }

  copyContent(from: FileHandle, to: FileHandle, how: 'clone-only' | 'clone-or-copy'): 'cloned' | 'copied' {
    const source = this.#node('copy', from);
    if (source.kind !== 'file') throw failure('copy', 'EINVAL', from);
    const clones = this.options.clones === true;
    if (how === 'clone-only' && !clones) throw failure('copy', 'ENOTSUP', to);
    const bytes = source.content.bytes().slice();
    this.#changeFile('copyContent', to, (node) => {
      node.content.write(bytes, 0);
      node.content.truncate(bytes.length);
    });
    return clones ? 'cloned' : 'copied';
  }

  mkdir(dir: DirHandle, name: Uint8Array, mode: number): void {
    const located = this.#free('mkdir', dir, name);
    this.#give(
      located.directory,
      located.name,
      this.state.addDirectory(mode & 0o7777, located.directory.ino),
    );
  }

  rmdir(dir: DirHandle, name: Uint8Array): void {
    const located = this.#at('rmdir', dir, name);
    const node = this.#existing(located);
    if (node.kind !== 'directory') throw located.failure('ENOTDIR');
    if (node.entries.size > 0) throw located.failure('ENOTEMPTY');
    this.#report('rmdir', dir, name);
    this.#drop(located);
  }

  unlink(dir: DirHandle, name: Uint8Array): void {
    const located = this.#at('unlink', dir, name);
    if (this.#existing(located).kind === 'directory') throw located.failure('EISDIR');
    this.#report('unlink', dir, name);
    this.#drop(located);
  }

  symlink(target: Uint8Array, dir: DirHandle, name: Uint8Array): void {
    if (target.length === 0) throw failure('symlink', 'ENOENT', dir);
    const located = this.#free('symlink', dir, name);
    this.#give(located.directory, located.name, this.state.addSymlink(target));
  }

  link(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    const source = this.#at('link', fromDir, fromName);
    const node = this.#existing(source);
    const taken = this.#at('link', toDir, toName);
    if (taken.inode !== undefined) throw taken.failure('EEXIST');
    if (node.kind === 'directory' || this.options.links === false) throw source.failure('EPERM');
    const target = this.#free('link', toDir, toName);
    this.#give(target.directory, target.name, node);
  }

  rename(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    const source = this.#at('rename', fromDir, fromName);
    const target = this.#at('rename', toDir, toName);
    const moved = this.#existing(source);
    if (!checkRename(this.state, moved, source, target)) return;
    this.#report('rename', toDir, toName);
    const { state } = this;
    if (target.inode !== undefined) state.own(state.node(target.inode)).nlink -= 1;
    // Inside one directory both names change together; between two each side is a change of its own.
    if (source.directory.ino === target.directory.ino) {
      const names = [
        [source.name, undefined],
        [target.name, moved.ino],
      ] as const;
      state.setNames(state.node(source.directory.ino) as DirectoryNode, names);
    } else {
      state.setNames(state.node(target.directory.ino) as DirectoryNode, [[target.name, moved.ino]]);
      state.setNames(state.node(source.directory.ino) as DirectoryNode, [[source.name, undefined]]);
    }
    const node = state.own(state.node(moved.ino));
    node.ctime = state.tick;
    if (node.kind === 'directory') node.parent = target.directory.ino;
  }

  sync(handle: DirHandle | FileHandle, extent: SyncExtent = 'all'): void {
    this.#node('sync', handle);
    this.#report('sync', handle);
    this.state.syncNode(this.#node('sync', handle), extent);
  }

  async syncLater(handle: DirHandle | FileHandle, extent: SyncExtent = 'all'): Promise<void> {
    this.#node('sync', handle);
    // Whatever the caller does meanwhile happens before the sync takes effect.
    await Promise.resolve();
    this.#report('sync', handle);
    const { inode } = modelHandle(handle);
    this.state.syncNode(this.state.node(inode), extent);
  }

  mountId(dir: DirHandle): string {
    this.#directory('mountId', dir);
    return 'model';
  }

  #report(operation: string, handle: DirHandle | FileHandle, name?: Uint8Array): void {
    if (this.beforeChange === undefined) return;
    const { path } = modelHandle(handle);
    this.beforeChange({ operation, path: name === undefined ? path : childPath(path, name) });
  }

  #node(operation: string, handle: DirHandle | FileHandle): ModelNode {
    const target = modelHandle(handle);
    const node = target.closed ? undefined : this.state.nodes.get(target.inode);
    if (node === undefined) throw new FileSystemError(operation, 'EBADF', target.path);
    return node;
  }

  #directory(operation: string, dir: DirHandle): DirectoryNode {
    const node = this.#node(operation, dir);
    if (node.kind !== 'directory') throw failure(operation, 'ENOTDIR', dir);
    return node;
  }

  #at(operation: string, dir: DirHandle, name: Uint8Array): Located {
    const directory = this.#directory(operation, dir);
    checkEntryName(name);
    const { path } = modelHandle(dir);
    if (name.length > 255) throw new FileSystemError(operation, 'ENAMETOOLONG', childPath(path, name));
    const key = nameKey(name);
    return {
      directory,
      name: key,
      inode: directory.entries.get(key),
      get path() {
        return childPath(path, name);
      },
      failure: (errno) => new FileSystemError(operation, errno, childPath(path, name)),
    };
  }

  #free(operation: string, dir: DirHandle, name: Uint8Array): Located {
    const located = this.#at(operation, dir, name);
    if (located.inode !== undefined) throw located.failure('EEXIST');
    if (located.directory.nlink === 0) throw located.failure('ENOENT');
    this.#report(operation, dir, name);
    return this.#at(operation, dir, name);
  }

  #existing(located: Located): ModelNode {
    if (located.inode === undefined) throw located.failure('ENOENT');
    return this.state.node(located.inode);
  }

  #give(directory: DirectoryNode, name: string, found: ModelNode): ModelNode {
    this.state.setNames(directory, [[name, found.ino]]);
    const node = this.state.own(this.state.node(found.ino));
    node.nlink += 1;
    node.ctime = this.state.tick;
    return node;
  }

  #drop(located: Located): void {
    const { state } = this;
    state.setNames(state.node(located.directory.ino) as DirectoryNode, [[located.name, undefined]]);
    const node = state.own(state.node(located.inode as number));
    node.nlink -= 1;
    node.ctime = state.tick;
  }

  #setMode(found: ModelNode, mode: number): void {
    const node = this.state.own(found);
    this.state.tick += 1;
    node.mode = mode & 0o7777;
    node.ctime = this.state.tick;
  }

  #changeFile(operation: string, file: FileHandle, change: (node: FileNode) => void): void {
    const found = this.#node(operation, file);
    if (found.kind !== 'file' || !modelHandle(file).writable) throw failure(operation, 'EBADF', file);
    this.#report(operation, file);
    const node = this.state.own(this.state.node(found.ino) as FileNode);
    node.content = node.content.forChange(this.state.owner);
    this.state.tick += 1;
    change(node);
    node.mtime = this.state.tick;
    node.ctime = this.state.tick;
  }
}

function directoryOf(state: ModelState, located: Located): DirectoryNode {
  if (located.inode === undefined) throw located.failure('ENOENT');
  const node = state.node(located.inode);
  if (node.kind !== 'directory') throw located.failure('ENOTDIR');
  return node;
}

function modelHandle(handle: DirHandle | FileHandle): ModelHandle {
  if (handle instanceof ModelHandle) return handle;
  throw new TypeError('this handle belongs to another file system');
}

function failure(operation: string, errno: string, handle: DirHandle | FileHandle): FileSystemError {
  return new FileSystemError(operation, errno, modelHandle(handle).path);
}

function childPath(path: string, name: Uint8Array): string {
  return `${path === '/' ? '' : path}/${encodePathText(name)}`;
}
