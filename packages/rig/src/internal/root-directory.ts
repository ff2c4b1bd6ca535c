import { basename, dirname } from 'node:path';

import { sha256Hex } from '@holdfast/base';
import {
  Dir,
  ensureDirectory,
  type FileSystem,
  FileSystemError,
  nodeFileSystem,
  removeTree,
  sweepTemporaries,
} from '@holdfast/durable';
import type { RootIdentity } from '@holdfast/restore';

/** The live directory of a session on the disk. */
export class RootDirectory {
  readonly path: string;
  /** Part of every temporary name that is made beside the root, so that whoever has the root next knows them for dead. */
  readonly operation: string;
  readonly #fileSystem: FileSystem;

  constructor(path: string, fileSystem: FileSystem = nodeFileSystem()) {
    this.path = path;
    this.operation = `root-${sha256Hex(new TextEncoder().encode(path)).slice(0, 24)}`;
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

  /**
   * Deletes what an interrupted construction or removal of the root left beside it or in it. Only for whoever has the
   * root: nobody else works on it then.
   */
  async sweep(): Promise<void> {
    for (const place of [dirname(this.path), this.path]) {
      try {
        using dir = Dir.openRoot(this.#fileSystem, place);
        await sweepTemporaries(dir, { isLive: (operation) => operation !== this.operation });
      } catch (error) {
        // Where this user may not look or delete, he left nothing either.
        if (!FileSystemError.is(error) || !['ENOENT', 'EACCES', 'EPERM', 'EROFS'].includes(error.errno))
          throw error;
      }
    }
  }

  identity(): RootIdentity {
    using dir = Dir.openRoot(this.#fileSystem, this.path);
    const { ino, birthtimeNs } = dir.stat();
    return { inode: String(ino), birthtimeNs: String(birthtimeNs) };
  }

  /** Removes the directory with everything in it. */
  async remove(): Promise<void> {
    using parent = Dir.openRoot(this.#fileSystem, dirname(this.path));
    await removeTree(parent, Buffer.from(basename(this.path)), { operation: this.operation });
  }

  /** Removes the directory when nothing is in it but what is ours; leaves what somebody else put there. */
  async removeEmpty(reserved: readonly string[]): Promise<void> {
    if (this.look(reserved) !== 'empty') return;
    for (const name of reserved) {
      using dir = Dir.openRoot(this.#fileSystem, this.path);
      await removeTree(dir, Buffer.from(name), { operation: this.operation });
    }
    using parent = Dir.openRoot(this.#fileSystem, dirname(this.path));
    try {
      parent.rmdir(Buffer.from(basename(this.path)));
    } catch (error) {
      if (!FileSystemError.is(error) || error.errno !== 'ENOTEMPTY') throw error;
    }
  }

  /** Removes everything in the directory, which stays. */
  async clear(reserved: readonly string[]): Promise<void> {
    using dir = Dir.openRoot(this.#fileSystem, this.path);
    for (const name of dir.list()) {
      if (reserved.includes(Buffer.from(name).toString('utf8'))) continue;
      await removeTree(dir, name, { operation: this.operation });
    }
  }
}
