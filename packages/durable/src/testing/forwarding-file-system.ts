import { encodePathText } from '@holdfast/base';

import type { DirHandle, FileHandle, FileSystem, Stat, SyncExtent } from '../file-system.js';

/** The calls of a file system; `syncLater` counts as `sync`. */
export type FileSystemOperation = Exclude<keyof FileSystem, 'grade' | 'syncLater'>;

/** One call, as wrappers see it. */
export interface FileSystemCall {
  readonly operation: FileSystemOperation;
  /** Path by which the directory or file was opened, and the name if there is one; for a rename or link the source. */
  readonly path: string;
  /** The target of a rename or link. */
  readonly target?: string | undefined;
  /** `true` when the call changes the disk or makes changes durable. */
  readonly changes: boolean;
}

const changing: ReadonlySet<FileSystemOperation> = new Set([
  'createFile',
  'write',
  'truncate',
  'chmod',
  'chmodAt',
  'copyContent',
  'mkdir',
  'rmdir',
  'unlink',
  'symlink',
  'link',
  'rename',
  'sync',
]);

/** Passes every call on; subclasses look at the calls, or replace them, in `around`. */
export abstract class ForwardingFileSystem implements FileSystem {
  readonly #inner: FileSystem;
  readonly #paths = new WeakMap<object, string>();

  constructor(inner: FileSystem) {
    this.#inner = inner;
  }

  get grade(): 'anchored' | 'guarded' {
    return this.#inner.grade;
  }

  /** The file system that does the work. */
  get inner(): FileSystem {
    return this.#inner;
  }

  /** Runs a call, or something else in its place. For `sync` the result may be a promise. */
  protected abstract around<T>(call: FileSystemCall, run: () => T): T;

  openRoot(path: string | Uint8Array): DirHandle {
    const text = typeof path === 'string' ? path : encodePathText(path);
    return this.#opened(
      this.#call('openRoot', text, () => this.#inner.openRoot(path)),
      text,
    );
  }

  canonicalPath(path: string | Uint8Array): Uint8Array {
    const text = typeof path === 'string' ? path : encodePathText(path);
    return this.#call('canonicalPath', text, () => this.#inner.canonicalPath(path));
  }

  openDir(dir: DirHandle, name: Uint8Array): DirHandle {
    const path = this.#child(dir, name);
    return this.#opened(
      this.#call('openDir', path, () => this.#inner.openDir(dir, name)),
      path,
    );
  }

  openFile(dir: DirHandle, name: Uint8Array, access: 'read' | 'read-write'): FileHandle {
    const path = this.#child(dir, name);
    return this.#opened(
      this.#call('openFile', path, () => this.#inner.openFile(dir, name, access)),
      path,
    );
  }

  createFile(dir: DirHandle, name: Uint8Array, mode: number): FileHandle {
    const path = this.#child(dir, name);
    return this.#opened(
      this.#call('createFile', path, () => this.#inner.createFile(dir, name, mode)),
      path,
    );
  }

  close(handle: DirHandle | FileHandle): void {
    this.#call('close', this.#path(handle), () => this.#inner.close(handle));
  }

  fstat(handle: DirHandle | FileHandle): Stat {
    return this.#call('fstat', this.#path(handle), () => this.#inner.fstat(handle));
  }

  lstat(dir: DirHandle, name: Uint8Array): Stat | undefined {
    return this.#call('lstat', this.#child(dir, name), () => this.#inner.lstat(dir, name));
  }

  readdir(dir: DirHandle): Uint8Array[] {
    return this.#call('readdir', this.#path(dir), () => this.#inner.readdir(dir));
  }

  readlink(dir: DirHandle, name: Uint8Array): Uint8Array {
    return this.#call('readlink', this.#child(dir, name), () => this.#inner.readlink(dir, name));
  }

  read(file: FileHandle, buffer: Uint8Array, position: number): number {
    return this.#call('read', this.#path(file), () => this.#inner.read(file, buffer, position));
  }

  write(file: FileHandle, bytes: Uint8Array, position: number): void {
    this.#call('write', this.#path(file), () => this.#inner.write(file, bytes, position));
  }

  truncate(file: FileHandle, size: number): void {
    this.#call('truncate', this.#path(file), () => this.#inner.truncate(file, size));
  }

  chmod(handle: DirHandle | FileHandle, mode: number): void {
    this.#call('chmod', this.#path(handle), () => this.#inner.chmod(handle, mode));
  }

  chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void {
    this.#call('chmodAt', this.#child(dir, name), () => this.#inner.chmodAt(dir, name, mode, only));
  }

  copyContent(from: FileHandle, to: FileHandle, how: 'clone-only' | 'clone-or-copy'): 'cloned' | 'copied' {
    return this.#call('copyContent', this.#path(to), () => this.#inner.copyContent(from, to, how));
  }

  mkdir(dir: DirHandle, name: Uint8Array, mode: number): void {
    this.#call('mkdir', this.#child(dir, name), () => this.#inner.mkdir(dir, name, mode));
  }

  rmdir(dir: DirHandle, name: Uint8Array): void {
    this.#call('rmdir', this.#child(dir, name), () => this.#inner.rmdir(dir, name));
  }

  unlink(dir: DirHandle, name: Uint8Array): void {
    this.#call('unlink', this.#child(dir, name), () => this.#inner.unlink(dir, name));
  }

  symlink(target: Uint8Array, dir: DirHandle, name: Uint8Array): void {
    this.#call('symlink', this.#child(dir, name), () => this.#inner.symlink(target, dir, name));
  }

  link(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    const target = this.#child(toDir, toName);
    const run = (): void => this.#inner.link(fromDir, fromName, toDir, toName);
    this.#call('link', this.#child(fromDir, fromName), run, target);
  }

  rename(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    const target = this.#child(toDir, toName);
    const run = (): void => this.#inner.rename(fromDir, fromName, toDir, toName);
    this.#call('rename', this.#child(fromDir, fromName), run, target);
  }

  sync(handle: DirHandle | FileHandle, extent?: SyncExtent): void {
    this.#call('sync', this.#path(handle), () => this.#inner.sync(handle, extent));
  }

  async syncLater(handle: DirHandle | FileHandle, extent?: SyncExtent): Promise<void> {
    await this.#call('sync', this.#path(handle), () => this.#inner.syncLater(handle, extent));
  }

  mountId(dir: DirHandle): string | undefined {
    return this.#call('mountId', this.#path(dir), () => this.#inner.mountId(dir));
  }

  #call<T>(operation: FileSystemOperation, path: string, run: () => T, target?: string): T {
    return this.around({ operation, path, target, changes: changing.has(operation) }, run);
  }

  #opened<H extends object>(handle: H, path: string): H {
    this.#paths.set(handle, path);
    return handle;
  }

  #path(handle: object): string {
    return this.#paths.get(handle) ?? '?';
  }

  #child(dir: DirHandle, name: Uint8Array): string {
    const path = this.#path(dir);
    return `${path === '/' ? '' : path}/${encodePathText(name)}`;
  }
}
