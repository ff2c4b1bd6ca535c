import type { DirHandle, FileHandle, FileSystem, Stat, SyncExtent } from '@holdfast/durable';

/**
 * A file system whose `close` does not fail. Whatever a restore relies on is synced before it is closed, so an error of a
 * close says nothing that a sync has not said; thrown on the way out it would only hide the failure that matters.
 */
export class QuietCloseFileSystem implements FileSystem {
  readonly grade: FileSystem['grade'];
  readonly #inner: FileSystem;

  constructor(inner: FileSystem) {
    this.#inner = inner;
    this.grade = inner.grade;
  }

  close(handle: DirHandle | FileHandle): void {
    try {
      this.#inner.close(handle);
    } catch {
      return;
    }
  }

  openRoot(path: string | Uint8Array): DirHandle {
    return this.#inner.openRoot(path);
  }

  canonicalPath(path: string | Uint8Array): Uint8Array {
    return this.#inner.canonicalPath(path);
  }

  openDir(dir: DirHandle, name: Uint8Array): DirHandle {
    return this.#inner.openDir(dir, name);
  }

  openFile(dir: DirHandle, name: Uint8Array, access: 'read' | 'read-write'): FileHandle {
    return this.#inner.openFile(dir, name, access);
  }

  createFile(dir: DirHandle, name: Uint8Array, mode: number): FileHandle {
    return this.#inner.createFile(dir, name, mode);
  }

  fstat(handle: DirHandle | FileHandle): Stat {
    return this.#inner.fstat(handle);
  }

  lstat(dir: DirHandle, name: Uint8Array): Stat | undefined {
    return this.#inner.lstat(dir, name);
  }

  readdir(dir: DirHandle): Uint8Array[] {
    return this.#inner.readdir(dir);
  }

  readlink(dir: DirHandle, name: Uint8Array): Uint8Array {
    return this.#inner.readlink(dir, name);
  }

  read(file: FileHandle, buffer: Uint8Array, position: number): number {
    return this.#inner.read(file, buffer, position);
  }

  write(file: FileHandle, bytes: Uint8Array, position: number): void {
    this.#inner.write(file, bytes, position);
  }

  truncate(file: FileHandle, size: number): void {
    this.#inner.truncate(file, size);
  }

  chmod(handle: DirHandle | FileHandle, mode: number): void {
    this.#inner.chmod(handle, mode);
  }

  chmodAt(dir: DirHandle, name: Uint8Array, mode: number): void {
    this.#inner.chmodAt(dir, name, mode);
  }

  copyContent(from: FileHandle, to: FileHandle, how: 'clone-only' | 'clone-or-copy'): 'cloned' | 'copied' {
    return this.#inner.copyContent(from, to, how);
  }

  mkdir(dir: DirHandle, name: Uint8Array, mode: number): void {
    this.#inner.mkdir(dir, name, mode);
  }

  rmdir(dir: DirHandle, name: Uint8Array): void {
    this.#inner.rmdir(dir, name);
  }

  unlink(dir: DirHandle, name: Uint8Array): void {
    this.#inner.unlink(dir, name);
  }

  symlink(target: Uint8Array, dir: DirHandle, name: Uint8Array): void {
    this.#inner.symlink(target, dir, name);
  }

  link(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    this.#inner.link(fromDir, fromName, toDir, toName);
  }

  rename(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    this.#inner.rename(fromDir, fromName, toDir, toName);
  }

  sync(handle: DirHandle | FileHandle, extent?: SyncExtent): void {
    this.#inner.sync(handle, extent);
  }

  async syncLater(handle: DirHandle | FileHandle, extent?: SyncExtent): Promise<void> {
    await this.#inner.syncLater(handle, extent);
  }

  mountId(dir: DirHandle): string | undefined {
    return this.#inner.mountId(dir);
  }
}
