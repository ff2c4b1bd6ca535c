import { FileSystemError, HandleClosedError, SyncFailedError } from '../errors.js';
import type { DirHandle, FileHandle, FileSystem, SyncExtent } from '../file-system.js';

/** A handle with the number of its owners; the last one to let go closes it. Syncs are counted as owners. */
export class SharedHandle<H extends DirHandle | FileHandle> {
  readonly fileSystem: FileSystem;
  readonly #handle: H;
  #owners = 1;
  #syncFailure: SyncFailedError | undefined;

  constructor(fileSystem: FileSystem, handle: H) {
    this.fileSystem = fileSystem;
    this.#handle = handle;
  }

  retain(): void {
    this.#owners += 1;
  }

  release(): void {
    this.#owners -= 1;
    if (this.#owners > 0) return;
    try {
      this.fileSystem.close(this.#handle);
    } catch (error) {
      // The descriptor is gone either way. What is to last was synced before, and a close that fails says nothing which
      // that sync has not said; thrown on the way out of a failure it would only hide it.
      if (!FileSystemError.is(error)) throw error;
    }
  }

  /** The handle, for a call that has an owner's word that it is open. */
  get handle(): H {
    return this.#handle;
  }

  /** The handle for a change: refused once a sync has failed, since nothing later could be trusted. */
  get changeable(): H {
    if (this.#syncFailure !== undefined) throw this.#syncFailure;
    return this.#handle;
  }

  sync(extent: SyncExtent): void {
    try {
      this.fileSystem.sync(this.changeable, extent);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async syncLater(extent: SyncExtent): Promise<void> {
    const handle = this.changeable;
    this.retain();
    try {
      await this.fileSystem.syncLater(handle, extent);
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.release();
    }
  }

  #failed(error: unknown): unknown {
    if (!FileSystemError.is(error)) return error;
    this.#syncFailure ??= new SyncFailedError(error.errno, error.path, { cause: error });
    return this.#syncFailure;
  }
}

/** One owner's hold on a shared handle: closing twice is closing once, use after close is a typed error. */
export class Hold<H extends DirHandle | FileHandle> {
  readonly #shared: SharedHandle<H>;
  #open = true;

  constructor(shared: SharedHandle<H>) {
    this.#shared = shared;
  }

  get open(): boolean {
    return this.#open;
  }

  use(operation: string): SharedHandle<H> {
    if (!this.#open) throw new HandleClosedError(operation);
    return this.#shared;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#shared.release();
  }
}
