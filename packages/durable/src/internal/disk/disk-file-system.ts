import * as fs from 'node:fs';

import { encodePathText } from '@holdfast/base';

import { absolutePathBytes } from '../../absolute-path.js';
import { checkEntryName } from '../../entry-name.js';
import { FileSystemError } from '../../errors.js';
import type { DirHandle, FileHandle, FileSystem, Stat, SyncExtent } from '../../file-system.js';
import { copyContent } from './copy-content.js';
import { asDir, asFile, asHandle, type DiskDir, DiskFile, type DiskHandle } from './disk-handle.js';
import { toStat } from './node-stat.js';

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = fs.constants;
// Windows lacks these; the guarded grade checks with lstat there.
const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = fs.constants.O_NONBLOCK ?? 0;
const O_NOCTTY = fs.constants.O_NOCTTY ?? 0;
const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
const readWriteFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
const createFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
export const directoryFlags: number = O_RDONLY | (fs.constants.O_DIRECTORY ?? 0) | O_NOFOLLOW | O_NONBLOCK;

const bigintStat = { bigint: true } as const;
const bigintStatOrAbsent = { bigint: true, throwIfNoEntry: false } as const;

/**
 * The system calls on a real disk. How a child is addressed, and what is checked around each call, is the subclass's
 * business: `at` gives the path of a child, `settled` runs after each call on it.
 */
export abstract class DiskFileSystem implements FileSystem {
  abstract readonly grade: 'anchored' | 'guarded';

  abstract openRoot(path: string | Uint8Array): DirHandle;
  abstract openDir(dir: DirHandle, name: Uint8Array): DirHandle;
  abstract chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void;
  abstract mountId(dir: DirHandle): string | undefined;

  /** The path that addresses a child; checks name and handle. */
  protected abstract at(dir: DiskDir, name: Uint8Array): Buffer;
  /** The path that addresses the directory itself. */
  protected abstract self(dir: DiskDir): Buffer;
  protected abstract settled(dir: DiskDir): void;
  protected abstract clone(from: DiskFile, to: DiskFile): void;

  canonicalPath(path: string | Uint8Array): Uint8Array {
    const absolute = absolutePathBytes(path);
    try {
      return fs.realpathSync.native(absolute, 'buffer');
    } catch (error) {
      throw failure('realpath', encodePathText(absolute), error);
    }
  }

  openFile(dir: DirHandle, name: Uint8Array, access: 'read' | 'read-write'): FileHandle {
    return this.#open(dir, name, access === 'read' ? readFlags : readWriteFlags, 0);
  }

  createFile(dir: DirHandle, name: Uint8Array, mode: number): FileHandle {
    return this.#open(dir, name, createFlags, mode);
  }

  #open(dir: DirHandle, name: Uint8Array, flags: number, mode: number): FileHandle {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    let descriptor: number;
    try {
      descriptor = fs.openSync(path, flags, mode);
    } catch (error) {
      throw childFailure('open', parent, name, error);
    }
    try {
      this.settled(parent);
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
    return new DiskFile(descriptor, parent, name) as unknown as FileHandle;
  }

  close(handle: DirHandle | FileHandle): void {
    const target = asHandle(handle);
    if (target.closeWanted) return;
    target.closeWanted = true;
    if (target.syncsRunning === 0) release(target);
  }

  fstat(handle: DirHandle | FileHandle): Stat {
    const target = asHandle(handle);
    try {
      return toStat(fs.fstatSync(live(target, 'fstat'), bigintStat));
    } catch (error) {
      throw handleFailure('fstat', target, error);
    }
  }

  lstat(dir: DirHandle, name: Uint8Array): Stat | undefined {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    let stats: fs.BigIntStats | undefined;
    try {
      stats = fs.lstatSync(path, bigintStatOrAbsent);
    } catch (error) {
      throw childFailure('lstat', parent, name, error);
    }
    this.settled(parent);
    return stats === undefined ? undefined : toStat(stats);
  }

  /** See `lstatHint`. */
  lstatHint(dir: DirHandle, name: Uint8Array, into: BigInt64Array): boolean {
    const { pathPrefix } = asDir(dir);
    checkEntryName(name);
    const path = Buffer.allocUnsafe(pathPrefix.length + name.length);
    path.set(pathPrefix, 0);
    path.set(name, pathPrefix.length);
    try {
      const stats = fs.lstatSync(path, bigintStatOrAbsent);
      if (stats === undefined) return false;
      // The places of `hintWord`.
      into[0] = stats.dev;
      into[1] = stats.ino;
      into[2] = stats.mode;
      into[3] = stats.nlink;
      into[4] = stats.size;
      into[5] = stats.mtimeNs;
      into[6] = stats.ctimeNs;
      return true;
    } catch {
      return false;
    }
  }

  readdir(dir: DirHandle): Uint8Array[] {
    const target = asDir(dir);
    const path = this.self(target);
    // One-byte text is exact for any bytes, and turning it into pooled buffers is cheaper than asking for buffers.
    let names: string[];
    try {
      names = fs.readdirSync(path, 'latin1');
    } catch (error) {
      throw handleFailure('readdir', target, error);
    }
    this.settled(target);
    const list = new Array<Uint8Array>(names.length);
    for (let index = 0; index < names.length; index += 1)
      list[index] = Buffer.from(names[index] as string, 'latin1');
    return list;
  }

  readlink(dir: DirHandle, name: Uint8Array): Uint8Array {
    return this.#child(dir, name, 'readlink', (path) => fs.readlinkSync(path, 'buffer'));
  }

  read(file: FileHandle, buffer: Uint8Array, position: number): number {
    const target = asFile(file);
    const descriptor = live(target, 'read');
    for (;;) {
      try {
        return fs.readSync(descriptor, buffer, 0, buffer.length, position);
      } catch (error) {
        if (errnoOf(error) !== 'EINTR') throw handleFailure('read', target, error);
      }
    }
  }

  write(file: FileHandle, bytes: Uint8Array, position: number): void {
    const target = asFile(file);
    const descriptor = live(target, 'write');
    let done = 0;
    try {
      while (done < bytes.length) {
        done += fs.writeSync(descriptor, bytes, done, bytes.length - done, position + done);
      }
    } catch (error) {
      throw handleFailure('write', target, error);
    }
  }

  truncate(file: FileHandle, size: number): void {
    const target = asFile(file);
    try {
      fs.ftruncateSync(live(target, 'truncate'), size);
    } catch (error) {
      throw handleFailure('truncate', target, error);
    }
  }

  chmod(handle: DirHandle | FileHandle, mode: number): void {
    const target = asHandle(handle);
    try {
      fs.fchmodSync(live(target, 'chmod'), mode);
    } catch (error) {
      throw handleFailure('chmod', target, error);
    }
  }

  copyContent(from: FileHandle, to: FileHandle, how: 'clone-only' | 'clone-or-copy'): 'cloned' | 'copied' {
    const source = asFile(from);
    const target = asFile(to);
    return copyContent(live(source, 'copy'), live(target, 'copy'), how, {
      clone: () => {
        this.clone(source, target);
      },
      failure: (error) => handleFailure('copy', target, error),
    });
  }

  mkdir(dir: DirHandle, name: Uint8Array, mode: number): void {
    this.#child(dir, name, 'mkdir', (path) => {
      fs.mkdirSync(path, mode);
    });
  }

  rmdir(dir: DirHandle, name: Uint8Array): void {
    this.#child(dir, name, 'rmdir', (path) => {
      fs.rmdirSync(path);
    });
  }

  unlink(dir: DirHandle, name: Uint8Array): void {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    try {
      fs.unlinkSync(path);
    } catch (error) {
      throw childFailure('unlink', parent, name, error);
    }
    this.settled(parent);
  }

  symlink(target: Uint8Array, dir: DirHandle, name: Uint8Array): void {
    this.#child(dir, name, 'symlink', (path) => {
      fs.symlinkSync(target as Buffer, path);
    });
  }

  link(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    this.#pair('link', fromDir, fromName, toDir, toName, fs.linkSync);
  }

  rename(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void {
    this.#pair('rename', fromDir, fromName, toDir, toName, fs.renameSync);
  }

  sync(handle: DirHandle | FileHandle, extent: SyncExtent = 'all'): void {
    const target = asHandle(handle);
    const descriptor = live(target, 'sync');
    if (!canSync(target)) return;
    try {
      if (extent === 'content') fs.fdatasyncSync(descriptor);
      else fs.fsyncSync(descriptor);
    } catch (error) {
      throw handleFailure('sync', target, error);
    }
  }

  async syncLater(handle: DirHandle | FileHandle, extent: SyncExtent = 'all'): Promise<void> {
    const target = asHandle(handle);
    const descriptor = live(target, 'sync');
    if (!canSync(target)) return;
    target.syncsRunning += 1;
    const start = extent === 'content' ? fs.fdatasync : fs.fsync;
    const error = await new Promise<unknown>((resolve) => {
      start(descriptor, resolve);
    });
    target.syncsRunning -= 1;
    if (target.closeWanted && target.syncsRunning === 0) release(target);
    if (error !== null) throw handleFailure('sync', target, error);
  }

  #child<T>(dir: DirHandle, name: Uint8Array, operation: string, call: (path: Buffer) => T): T {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    let result: T;
    try {
      result = call(path);
    } catch (error) {
      throw childFailure(operation, parent, name, error);
    }
    this.settled(parent);
    return result;
  }

  #pair(
    operation: string,
    fromDir: DirHandle,
    fromName: Uint8Array,
    toDir: DirHandle,
    toName: Uint8Array,
    call: (from: Buffer, to: Buffer) => void,
  ): void {
    const source = asDir(fromDir);
    const target = asDir(toDir);
    const from = this.at(source, fromName);
    const to = this.at(target, toName);
    try {
      call(from, to);
    } catch (error) {
      throw childFailure(operation, target, toName, error);
    }
    this.settled(source);
    if (target !== source) this.settled(target);
  }
}

/** The descriptor of an open handle. */
export function live(handle: DiskHandle, operation: string): number {
  if (handle.closeWanted) throw new FileSystemError(operation, 'EBADF', handle.display());
  return handle.descriptor;
}

export function failure(operation: string, path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  return errno === undefined ? error : new FileSystemError(operation, errno, path, { cause: error });
}

export function childFailure(operation: string, dir: DiskDir, name: Uint8Array, error: unknown): unknown {
  return failure(operation, `${dir.display()}/${encodePathText(name)}`.replace(/^\/\//, '/'), error);
}

function handleFailure(operation: string, handle: DiskHandle, error: unknown): unknown {
  return error instanceof FileSystemError ? error : failure(operation, handle.display(), error);
}

function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : undefined;
}

/** Throws when a node must not get a new mode by its name. */
export function refuseMode(stats: fs.Stats, only: 'directory' | undefined): void {
  if (stats.isSymbolicLink()) throw systemError('chmod', 'ELOOP');
  if (only === 'directory' && !stats.isDirectory()) throw systemError('chmod', 'ENOTDIR');
}

/** An error like those of the system, to be wrapped like them. */
export function systemError(syscall: string, code: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
}

/** Windows cannot open a directory for syncing: its directories have no descriptor here. */
function canSync(handle: DiskHandle): boolean {
  return handle.descriptor !== -1;
}

function release(handle: DiskHandle): void {
  const { descriptor } = handle;
  handle.descriptor = -1;
  if (descriptor === -1) return;
  try {
    fs.closeSync(descriptor);
  } catch (error) {
    throw handleFailure('close', handle, error);
  }
}
