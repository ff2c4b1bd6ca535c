import { encodePathText, Pacer } from '@holdfast/base';
import { type Dir, type File, FileSystemError, shareDirectory, type WholeSync } from '@holdfast/durable';

import type { TreeEntry } from '../tree.js';
import { byteText, textBytes } from './entry-path.js';

/** Directories kept open at a time. */
const openDirectories = 64;

/** Syncs that run at a time. */
const parallelSyncs = 16;

const ownerBits = 0o700;

/** How a tree is made durable: every node by itself, all of them at the end, or not at all. */
export type TreeSync = 'each' | 'none' | WholeSync;

/**
 * Writes a tree below one open directory. Every name is created inside a directory that is held open; nothing is
 * resolved through a path.
 */
export class StagedTree {
  readonly #root: Dir;
  readonly #sync: TreeSync;
  readonly #open = new Map<string, Dir>();
  readonly #syncs = new Set<Promise<void>>();
  #syncFailure: { readonly error: unknown } | undefined;
  /** Modes that new files get by being made with them: the umask and the file system are the same for all. */
  readonly #plainModes = new Set<number>();
  /** `false` once a mode did not stick. */
  modesKept = true;
  #bytesWritten = 0;
  #bytesAtSync = 0;

  constructor(root: Dir, sync: TreeSync) {
    this.#root = root;
    this.#sync = sync;
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /**
   * Counts what was written, and gives the disk work before the end. When a sync fails that came early, the tree has
   * failed: the system may tell of a lost write only once.
   */
  countBytes(count: number): void {
    this.#bytesWritten += count;
    if (typeof this.#sync === 'string' || this.#syncs.size > 0) return;
    if (this.#bytesWritten - this.#bytesAtSync < (this.#sync.every ?? Number.POSITIVE_INFINITY)) return;
    this.#bytesAtSync = this.#bytesWritten;
    this.#track(this.#sync.sync());
  }

  /** Makes a directory; one that its owner could not work in gets its mode in `finish`. */
  addDirectory(entry: TreeEntry): void {
    const { parent, name } = split(entry.path);
    const dir = this.#directory(parent);
    dir.mkdir(name, entry.mode | ownerBits);
    const made = dir.openDir(name);
    try {
      this.#setMode(made, entry.mode | ownerBits);
    } catch (error) {
      made.close();
      throw error;
    }
    this.#remember(byteText(entry.path), made);
  }

  addSymlink(entry: TreeEntry): void {
    const { parent, name } = split(entry.path);
    this.#directory(parent).symlink(entry.target as Uint8Array, name);
  }

  /** Writes a whole file. */
  addFile(entry: Pick<TreeEntry, 'path' | 'mode'>, bytes: Uint8Array): Promise<void> | undefined {
    const file = this.#write(entry, bytes);
    try {
      return this.#syncLater(file);
    } finally {
      file.close();
    }
  }

  /** Writes a whole file that is not synced by itself. */
  writeFile(entry: Pick<TreeEntry, 'path' | 'mode'>, bytes: Uint8Array): void {
    this.#write(entry, bytes).close();
  }

  /** The directory as other threads can open it to write files below, where nothing has to be synced file by file. */
  share(): string | undefined {
    return this.#sync === 'each' ? undefined : shareDirectory(this.#root);
  }

  /** Removes a file, if it is there: what another thread may have left of one. */
  removeFile(entry: TreeEntry): void {
    const { parent, name } = split(entry.path);
    try {
      this.#directory(parent).unlink(name);
    } catch (error) {
      if (!(FileSystemError.is(error) && error.errno === 'ENOENT')) throw error;
    }
  }

  /** Writes a file in pieces. */
  async addPieces(entry: TreeEntry, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const file = this.#create(entry);
    try {
      let position = 0;
      for await (const piece of pieces) {
        file.write(piece, position);
        position += piece.length;
        this.countBytes(piece.length);
      }
      this.#setFileMode(file, entry.mode);
      await this.#syncLater(file);
    } finally {
      file.close();
    }
  }

  /**
   * Syncs the directories and gives those their modes that had to wait, deepest first; the root last. With a whole sync,
   * that is the last step, and all there is.
   */
  async finish(
    directories: readonly TreeEntry[],
    rootMode: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const pacer = new Pacer();
    for (const entry of [...directories].reverse()) {
      if (pacer.due) await pacer.rest(signal);
      const final = (entry.mode & ownerBits) === ownerBits;
      if (this.#sync !== 'each' && final) continue;
      const dir = this.#directory(entry.path);
      if (!final) this.#setMode(dir, entry.mode);
      await this.#syncLater(dir);
      this.#forget(byteText(entry.path));
    }
    this.#setMode(this.#root, rootMode);
    await this.#syncLater(this.#root);
    await this.settle();
    if (typeof this.#sync !== 'string') await this.#sync.sync();
  }

  /** Waits for every sync that was started. */
  async settle(): Promise<void> {
    await Promise.all(this.#syncs);
    if (this.#syncFailure !== undefined) throw this.#syncFailure.error;
  }

  close(): void {
    for (const dir of this.#open.values()) dir.close();
    this.#open.clear();
  }

  #write(entry: Pick<TreeEntry, 'path' | 'mode'>, bytes: Uint8Array): File {
    const file = this.#create(entry);
    try {
      if (bytes.length > 0) file.write(bytes, 0);
      this.countBytes(bytes.length);
      this.#setFileMode(file, entry.mode);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  #create(entry: Pick<TreeEntry, 'path' | 'mode'>): File {
    const { parent, name } = split(entry.path);
    return this.#directory(parent).createFile(name, entry.mode);
  }

  #setFileMode(file: File, mode: number): void {
    if (this.#plainModes.has(mode)) return;
    if (this.#setMode(file, mode) === 'plain') this.#plainModes.add(mode);
  }

  /** `plain`: the node had it already. */
  #setMode(node: Dir | File, mode: number): 'plain' | 'set' {
    if ((node.stat().mode & 0o777) === mode) return 'plain';
    node.chmod(mode);
    if ((node.stat().mode & 0o777) !== mode) this.modesKept = false;
    return 'set';
  }

  #syncLater(node: Dir | File): Promise<void> | undefined {
    if (this.#sync !== 'each') return undefined;
    this.#track(node.syncLater());
    if (this.#syncs.size < parallelSyncs) return undefined;
    return Promise.race(this.#syncs);
  }

  #track(sync: Promise<void>): void {
    const running: Promise<void> = sync.then(
      () => {
        this.#syncs.delete(running);
      },
      (error: unknown) => {
        this.#syncs.delete(running);
        this.#syncFailure ??= { error };
      },
    );
    this.#syncs.add(running);
  }

  #directory(path: Uint8Array): Dir {
    if (path.length === 0) return this.#root;
    const text = byteText(path);
    const known = this.#open.get(text);
    if (known !== undefined) return known;
    const { parent, name } = split(path);
    const dir = this.#directory(parent).openDir(name);
    this.#remember(text, dir);
    return dir;
  }

  #remember(text: string, dir: Dir): void {
    this.#open.set(text, dir);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= openDirectories) break;
      this.#forget(oldest);
    }
  }

  #forget(text: string): void {
    this.#open.get(text)?.close();
    this.#open.delete(text);
  }
}

/** Splits a path into its directory and its name. */
export function split(path: Uint8Array): { readonly parent: Uint8Array; readonly name: Uint8Array } {
  const slash = path.lastIndexOf(0x2f);
  if (slash === -1) return { parent: textBytes(''), name: path };
  if (slash === path.length - 1) throw new TypeError(`path ${encodePathText(path)} ends in a slash`);
  return { parent: path.subarray(0, slash), name: path.subarray(slash + 1) };
}
