import { createSha256, equalBytes, Pacer, type Random, randomHex, sha256 } from '@holdfast/base';
import { type Dir, ensureDirectory, type FileSystem, FileSystemError } from '@holdfast/durable';

import { CacheDirectoryError } from '../errors.js';

const largestEntry = 2 ** 30;
const pieceBytes = 2 ** 20;
const mostBytes = 512 * 2 ** 20;

/**
 * A private directory of files that may vanish or rot at any time: every file ends in the digest of what is before it,
 * a wrong one is as good as none, and nothing that fails here is reported.
 */
export class CacheDirectory {
  /** Absolute and canonical. */
  readonly path: string;
  readonly #dir: Dir;
  readonly #random: Random;

  private constructor(path: string, dir: Dir, random: Random) {
    this.path = path;
    this.#dir = dir;
    this.#random = random;
  }

  /**
   * Opens the directory, making it when it is missing.
   * @throws CacheDirectoryError when others can write to it.
   */
  static async open(fileSystem: FileSystem, path: string, random: Random): Promise<CacheDirectory> {
    const dir = await ensureDirectory(fileSystem, path);
    try {
      const { uid, mode } = dir.stat();
      if (process.getuid !== undefined && uid !== process.getuid())
        throw new CacheDirectoryError(path, 'foreign');
      if ((mode & 0o022) !== 0) throw new CacheDirectoryError(path, 'writable-by-others');
      return new CacheDirectory(Buffer.from(fileSystem.canonicalPath(path)).toString(), dir, random);
    } catch (error) {
      dir.close();
      throw error;
    }
  }

  /** The bytes under a name; `undefined` when they are missing or damaged. */
  read(name: string): Uint8Array | undefined {
    return quietly(() => {
      const file = this.#dir.openFile(name);
      try {
        const bytes = file.readAll({ maxBytes: largestEntry });
        const body = bytes.subarray(0, Math.max(0, bytes.length - 32));
        return equalBytes(sha256(body), bytes.subarray(body.length)) ? body : undefined;
      } finally {
        file.close();
      }
    });
  }

  /** The names that are there now. */
  names(): string[] {
    return quietly(() => this.#dir.list().map((name) => Buffer.from(name).toString())) ?? [];
  }

  /** Replaces what is under a name. Not synced: after a power failure the old bytes, or none, are there. */
  async write(name: string, parts: readonly Uint8Array[]): Promise<void> {
    const temporary = `${name}.${randomHex(this.#random, 4)}`;
    const pacer = new Pacer();
    await quietlyLater(async () => {
      const file = this.#dir.createFile(temporary, 0o600);
      try {
        const hash = createSha256();
        let position = 0;
        for (const part of parts) {
          for (let at = 0; at < part.length; at += pieceBytes) {
            const piece = part.subarray(at, at + pieceBytes);
            hash.update(piece);
            file.write(piece, position);
            position += piece.length;
            if (pacer.due) await pacer.rest();
          }
        }
        file.write(hash.digest(), position);
      } finally {
        file.close();
      }
      this.#dir.rename(temporary, this.#dir, name);
    });
  }

  /** Removes the files that were written longest ago until the rest is of a reasonable size. */
  prune(): void {
    quietly(() => {
      const files = this.#dir.list().map((name) => ({ name, stat: this.#dir.lstat(name) }));
      files.sort((a, b) => Number((b.stat?.mtimeNs ?? 0n) - (a.stat?.mtimeNs ?? 0n)));
      let sum = 0;
      for (const { name, stat } of files) {
        if (stat?.kind !== 'file') continue;
        sum += stat.size;
        if (sum > mostBytes) this.#dir.unlink(name);
      }
    });
  }

  close(): void {
    this.#dir.close();
  }
}

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (FileSystemError.is(error)) return undefined;
    throw error;
  }
}

async function quietlyLater(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!FileSystemError.is(error)) throw error;
  }
}
