import { type EntryName, entryNameBytes } from './entry-name.js';
import { File } from './file.js';
import type { DirHandle, FileSystem, Stat, SyncExtent } from './file-system.js';
import { Hold, SharedHandle } from './internal/shared-handle.js';

/**
 * Owns an open directory. Every name is one component, resolved inside the directory that was opened, whatever became
 * of its path. Use after `close` throws `HandleClosedError`; a name that is no component throws `EntryNameError`; calls
 * on the system throw `FileSystemError`.
 */
export class Dir implements Disposable {
  readonly fileSystem: FileSystem;
  readonly #hold: Hold<DirHandle>;

  private constructor(shared: SharedHandle<DirHandle>) {
    this.fileSystem = shared.fileSystem;
    this.#hold = new Hold(shared);
  }

  /** Opens a directory by absolute path, refusing a symlink as last component. */
  static openRoot(fileSystem: FileSystem, path: string | Uint8Array): Dir {
    return Dir.adopt(fileSystem, fileSystem.openRoot(path));
  }

  /** Takes over a handle that the caller opened: from now on only this owner closes it. */
  static adopt(fileSystem: FileSystem, handle: DirHandle): Dir {
    return new Dir(new SharedHandle(fileSystem, handle));
  }

  /** `false` after `close`. */
  get isOpen(): boolean {
    return this.#hold.open;
  }

  /** Returns the raw handle for calls on the file system; it is valid as long as this owner is open. */
  handle(): DirHandle {
    return this.#hold.use('handle').handle;
  }

  /** Returns a further owner of the same open directory; each is closed on its own. */
  retain(): Dir {
    const shared = this.#hold.use('retain');
    shared.retain();
    return new Dir(shared);
  }

  /** Opens a child directory; `ENOTDIR` or `ELOOP` when it is anything else. */
  openDir(name: EntryName): Dir {
    const { handle } = this.#hold.use('openDir');
    return Dir.adopt(this.fileSystem, this.fileSystem.openDir(handle, entryNameBytes(name)));
  }

  /** Opens a child that exists. Never blocks; decide on `stat()` of the result what it is. */
  openFile(name: EntryName, access: 'read' | 'read-write' = 'read'): File {
    const { handle } = this.#hold.use('openFile');
    return File.adopt(this.fileSystem, this.fileSystem.openFile(handle, entryNameBytes(name), access));
  }

  /** Creates a regular file, open for reading and writing; `EEXIST` when anything has that name. */
  createFile(name: EntryName, mode = 0o600): File {
    const handle = this.#hold.use('createFile').changeable;
    return File.adopt(this.fileSystem, this.fileSystem.createFile(handle, entryNameBytes(name), mode));
  }

  /** Names in the directory's own order, as bytes. */
  list(): Uint8Array[] {
    return this.fileSystem.readdir(this.#hold.use('list').handle);
  }

  /** Facts of a child without following a symlink; `undefined` when there is none. */
  lstat(name: EntryName): Stat | undefined {
    return this.fileSystem.lstat(this.#hold.use('lstat').handle, entryNameBytes(name));
  }

  stat(): Stat {
    return this.fileSystem.fstat(this.#hold.use('stat').handle);
  }

  /** Identity of the mount; `undefined` where unknowable. */
  mountId(): string | undefined {
    return this.fileSystem.mountId(this.#hold.use('mountId').handle);
  }

  mkdir(name: EntryName, mode = 0o700): void {
    this.fileSystem.mkdir(this.#hold.use('mkdir').changeable, entryNameBytes(name), mode);
  }

  rmdir(name: EntryName): void {
    this.fileSystem.rmdir(this.#hold.use('rmdir').changeable, entryNameBytes(name));
  }

  unlink(name: EntryName): void {
    this.fileSystem.unlink(this.#hold.use('unlink').changeable, entryNameBytes(name));
  }

  symlink(target: Uint8Array | string, name: EntryName): void {
    this.fileSystem.symlink(
      entryNameBytes(target),
      this.#hold.use('symlink').changeable,
      entryNameBytes(name),
    );
  }

  readlink(name: EntryName): Uint8Array {
    return this.fileSystem.readlink(this.#hold.use('readlink').handle, entryNameBytes(name));
  }

  /** Gives what `name` holds here a second name in `toDir`; `EEXIST` when that is taken. */
  link(name: EntryName, toDir: Dir, toName: EntryName): void {
    this.fileSystem.link(
      this.#hold.use('link').handle,
      entryNameBytes(name),
      toDir.#hold.use('link').changeable,
      entryNameBytes(toName),
    );
  }

  /** Renames, replacing what `toName` holds as `rename(2)` does. Atomic only inside one directory. */
  rename(name: EntryName, toDir: Dir, toName: EntryName): void {
    this.fileSystem.rename(
      this.#hold.use('rename').changeable,
      entryNameBytes(name),
      toDir.#hold.use('rename').changeable,
      entryNameBytes(toName),
    );
  }

  /** Changes the mode of this directory. */
  chmod(mode: number): void {
    this.fileSystem.chmod(this.#hold.use('chmod').changeable, mode);
  }

  /** Changes the mode of a child that need not be openable; `ELOOP` for a symlink, with `only` `ENOTDIR` for files. */
  chmodAt(name: EntryName, mode: number, only?: 'directory'): void {
    this.fileSystem.chmodAt(this.#hold.use('chmodAt').changeable, entryNameBytes(name), mode, only);
  }

  /**
   * Makes the names durable, blocking.
   * @throws SyncFailedError, and again at every later attempt.
   */
  sync(extent: SyncExtent = 'all'): void {
    this.#hold.use('sync').sync(extent);
  }

  /** The same off the event loop. The directory may be closed meanwhile. */
  async syncLater(extent: SyncExtent = 'all'): Promise<void> {
    await this.#hold.use('syncLater').syncLater(extent);
  }

  /** Idempotent. A failure of the system is ignored: it says nothing about what was synced. */
  close(): void {
    this.#hold.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
