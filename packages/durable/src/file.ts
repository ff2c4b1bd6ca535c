import { FileTooLargeError } from './errors.js';
import type { FileHandle, FileSystem, Stat, SyncExtent } from './file-system.js';
import { Hold, SharedHandle } from './internal/shared-handle.js';

const firstReadBytes = 16 * 1024;

/**
 * Owns an open file. Use after `close` throws `HandleClosedError`; once a sync has failed every change and every later
 * sync throws the same `SyncFailedError`. Calls on the system throw `FileSystemError`.
 */
export class File implements Disposable {
  readonly fileSystem: FileSystem;
  readonly #hold: Hold<FileHandle>;

  private constructor(shared: SharedHandle<FileHandle>) {
    this.fileSystem = shared.fileSystem;
    this.#hold = new Hold(shared);
  }

  /** Takes over a handle that the caller opened: from now on only this owner closes it. */
  static adopt(fileSystem: FileSystem, handle: FileHandle): File {
    return new File(new SharedHandle(fileSystem, handle));
  }

  /** `false` after `close`. */
  get isOpen(): boolean {
    return this.#hold.open;
  }

  /** Returns the raw handle for calls on the file system; it is valid as long as this owner is open. */
  handle(): FileHandle {
    return this.#hold.use('handle').handle;
  }

  /** Returns a further owner of the same open file; each is closed on its own. */
  retain(): File {
    const shared = this.#hold.use('retain');
    shared.retain();
    return new File(shared);
  }

  stat(): Stat {
    return this.fileSystem.fstat(this.#hold.use('stat').handle);
  }

  /** Reads at `position` into `buffer`; returns the number of bytes, 0 at the end. */
  read(buffer: Uint8Array, position: number): number {
    return this.fileSystem.read(this.#hold.use('read').handle, buffer, position);
  }

  /**
   * Reads from the beginning to the end, whatever the size said before.
   * @throws FileTooLargeError when there are more than `maxBytes`.
   */
  readAll(options: { readonly maxBytes: number }): Uint8Array {
    const { handle } = this.#hold.use('readAll');
    const { maxBytes } = options;
    const announced = this.fileSystem.fstat(handle).size;
    if (announced > maxBytes) throw new FileTooLargeError(maxBytes);
    // One byte more than announced, so that the usual file takes one read that fills and one that finds the end.
    let buffer = new Uint8Array(Math.max(announced + 1, Math.min(firstReadBytes, maxBytes + 1)));
    let length = 0;
    for (;;) {
      const count = this.fileSystem.read(handle, buffer.subarray(length), length);
      if (count === 0) return buffer.slice(0, length);
      length += count;
      if (length > maxBytes) throw new FileTooLargeError(maxBytes);
      if (length === buffer.length) {
        const larger = new Uint8Array(Math.min(buffer.length * 2, maxBytes + 1));
        larger.set(buffer);
        buffer = larger;
      }
    }
  }

  /** Writes all of `bytes` at `position`. */
  write(bytes: Uint8Array, position: number): void {
    this.fileSystem.write(this.#hold.use('write').changeable, bytes, position);
  }

  truncate(size: number): void {
    this.fileSystem.truncate(this.#hold.use('truncate').changeable, size);
  }

  chmod(mode: number): void {
    this.fileSystem.chmod(this.#hold.use('chmod').changeable, mode);
  }

  /** Fills this empty file with the content of `from`: by clone where the disk can, else (unless forbidden) by copying. */
  copyFrom(from: File, how: 'clone-only' | 'clone-or-copy' = 'clone-or-copy'): 'cloned' | 'copied' {
    return this.fileSystem.copyContent(
      from.#hold.use('copyFrom').handle,
      this.#hold.use('copyFrom').changeable,
      how,
    );
  }

  /**
   * Makes the bytes durable, blocking.
   * @throws SyncFailedError, and again at every later attempt.
   */
  sync(extent: SyncExtent = 'all'): void {
    this.#hold.use('sync').sync(extent);
  }

  /** The same off the event loop. The file may be closed meanwhile. */
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
