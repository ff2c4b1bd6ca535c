import { basename, dirname } from 'node:path';

import {
  Dir,
  ensureDirectory,
  type FileSystem,
  FileSystemError,
  nodeFileSystem,
  removeTree,
} from '@holdfast/durable';
import type { RootIdentity } from '@holdfast/restore';

/** The live directory of a session on the disk. */
export class RootDirectory {
  readonly path: string;
  readonly #fileSystem: FileSystem;

  constructor(path: string, fileSystem: FileSystem = nodeFileSystem()) {
    this.path = path;
    this.#fileSystem = fileSystem;
  }

  /** What stands there. `empty` also when nothing but scratch inside it does. */
  look(reserved: readonly string[]): 'missing' | 'empty' | 'filled' {
    try {
      using dir = Dir.openRoot(this.#fileSystem, this.path);
      const names = dir.list().map((name) => Buffer.from(name).toString('utf8'));
      return names.every((name) => reserved.includes(name)) ? 'empty' : 'filled';
    } catch (error) {
      if (FileSystemError.is(error) && error.errno === 'ENOENT') return 'missing';
      throw error;
    }
  }

  /** Makes it and its missing parents, for the owner only. */
  async create(): Promise<void> {
    (await ensureDirectory(this.#fileSystem, this.path, { mode: 0o700 })).close();
  }

  identity(): RootIdentity {
    using dir = Dir.openRoot(this.#fileSystem, this.path);
    const { ino, birthtimeNs } = dir.stat();
    return { inode: String(ino), birthtimeNs: String(birthtimeNs) };
  }

  /** Removes the directory with everything in it. */
  async remove(): Promise<void> {
    using parent = Dir.openRoot(this.#fileSystem, dirname(this.path));
    await removeTree(parent, Buffer.from(basename(this.path)));
  }

  /** Removes everything in the directory, which stays. */
  async clear(reserved: readonly string[]): Promise<void> {
    using dir = Dir.openRoot(this.#fileSystem, this.path);
    for (const name of dir.list()) {
      if (reserved.includes(Buffer.from(name).toString('utf8'))) continue;
      await removeTree(dir, name);
    }
  }
}
