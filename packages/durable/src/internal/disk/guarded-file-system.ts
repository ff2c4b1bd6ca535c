import * as fs from 'node:fs';

import { encodePathText } from '@holdfast/base';

import { absolutePathBytes } from '../../absolute-path.js';
import { checkEntryName } from '../../entry-name.js';
import { FileSystemError } from '../../errors.js';
import type { DirHandle } from '../../file-system.js';
import {
  childFailure,
  DiskFileSystem,
  directoryFlags,
  failure,
  live,
  refuseMode,
  systemError,
} from './disk-file-system.js';
import { asDir, DiskDir } from './disk-handle.js';

const bigintStat = { bigint: true } as const;
const bigintStatOrAbsent = { bigint: true, throwIfNoEntry: false } as const;

/**
 * Where descriptors cannot be used as directories: plain paths, with the identity of the directory checked before and
 * after every call. A process that swaps directories there and back between the two checks is not noticed; one that
 * leaves its swap in place is (`ESTALE`).
 */
export class GuardedFileSystem extends DiskFileSystem {
  readonly grade = 'guarded';
  readonly #directoriesOpen: boolean;

  constructor(options: { readonly directoriesOpen: boolean }) {
    super();
    this.#directoriesOpen = options.directoriesOpen;
  }

  openRoot(path: string | Uint8Array): DirHandle {
    const absolute = absolutePathBytes(path);
    try {
      return this.#open(absolute, undefined, absolute);
    } catch (error) {
      throw failure('open', encodePathText(absolute), error);
    }
  }

  openDir(dir: DirHandle, name: Uint8Array): DirHandle {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    let opened: DirHandle;
    try {
      opened = this.#open(path, parent, name);
    } catch (error) {
      throw childFailure('open', parent, name, error);
    }
    try {
      this.settled(parent);
    } catch (error) {
      this.close(opened);
      throw error;
    }
    return opened;
  }

  chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    try {
      refuseMode(fs.lstatSync(path), only);
      fs.chmodSync(path, mode);
    } catch (error) {
      throw childFailure('chmod', parent, name, error);
    }
    this.settled(parent);
  }

  mountId(): string | undefined {
    return undefined;
  }

  protected at(dir: DiskDir, name: Uint8Array): Buffer {
    checkEntryName(name);
    this.settled(dir);
    return Buffer.concat([dir.prefix, name]);
  }

  protected self(dir: DiskDir): Buffer {
    this.settled(dir);
    return dir.prefix;
  }

  protected settled(dir: DiskDir): void {
    live(dir, 'use');
    const found = fs.lstatSync(withoutSlash(dir.prefix), bigintStatOrAbsent);
    if (found === undefined || !found.isDirectory() || found.ino !== dir.ino || found.dev !== dir.dev) {
      throw new FileSystemError('check', 'ESTALE', dir.display());
    }
  }

  protected clone(): void {
    throw systemError('copyfile', 'ENOTSUP');
  }

  #open(path: Buffer, parent: DiskDir | undefined, name: Uint8Array): DirHandle {
    const before = fs.lstatSync(path, bigintStat);
    if (before.isSymbolicLink()) throw systemError('open', 'ELOOP');
    if (!before.isDirectory()) throw systemError('open', 'ENOTDIR');
    const prefix = path.at(-1) === 0x2f ? path : Buffer.concat([path, Buffer.from('/')]);
    if (!this.#directoriesOpen) return new DiskDir(-1, parent, name, prefix, before) as unknown as DirHandle;
    const descriptor = fs.openSync(path, directoryFlags);
    const after = fs.fstatSync(descriptor, bigintStat);
    if (after.ino !== before.ino || after.dev !== before.dev) {
      fs.closeSync(descriptor);
      throw systemError('open', 'ESTALE');
    }
    return new DiskDir(descriptor, parent, name, prefix, after) as unknown as DirHandle;
  }
}

function withoutSlash(prefix: Buffer): Buffer {
  return prefix.length === 1 ? prefix : prefix.subarray(0, -1);
}
