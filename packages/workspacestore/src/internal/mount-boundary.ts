import type { DirHandle, FileSystem, Stat } from '@holdfast/durable';

/** Tells which directories below a root are on another mount. */
export class MountBoundary {
  readonly #fileSystem: FileSystem;
  readonly #device: bigint;
  readonly #mount: string | undefined;

  constructor(fileSystem: FileSystem, root: DirHandle, stat: Stat) {
    this.#fileSystem = fileSystem;
    this.#device = stat.dev;
    this.#mount = fileSystem.mountId(root);
  }

  /** Mount identity costs a read of `/proc`: a directory that was inside before, on this inode, is not asked again. */
  isLeft(dir: DirHandle, stat: Stat, wasInside: boolean): boolean {
    if (wasInside && stat.dev === this.#device) return false;
    const mount = this.#fileSystem.mountId(dir);
    if (mount === undefined || this.#mount === undefined) return stat.dev !== this.#device;
    return mount !== this.#mount;
  }
}
