import * as fs from 'node:fs';

import { encodePathText } from '@holdfast/base';

import { absolutePathBytes } from '../../absolute-path.js';
import { checkEntryName } from '../../entry-name.js';
import type { DirHandle } from '../../file-system.js';
import {
  childFailure,
  DiskFileSystem,
  directoryFlags,
  failure,
  live,
  refuseMode,
} from './disk-file-system.js';
import { asDir, DiskDir, type DiskFile } from './disk-handle.js';

// Not in `fs.constants`; the same value on every Linux architecture that Node runs on.
const O_PATH = 0o10000000;
const unusedIdentity = { dev: 0n, ino: 0n };

/**
 * Linux: every name is resolved by the kernel inside an open directory, addressed through `/proc`. Renaming or
 * replacing any directory on the way to it changes nothing for a handle that is already open.
 */
export class AnchoredFileSystem extends DiskFileSystem {
  readonly grade = 'anchored';
  /** `/proc/<pid>/fd/`: the number instead of `self` saves the kernel a symlink at every call. */
  readonly #descriptors: string;

  constructor(descriptors: string) {
    super();
    this.#descriptors = descriptors;
  }

  openRoot(path: string | Uint8Array): DirHandle {
    const absolute = absolutePathBytes(path);
    try {
      return this.#directory(fs.openSync(absolute, directoryFlags), undefined, absolute);
    } catch (error) {
      throw failure('open', encodePathText(absolute), error);
    }
  }

  /** See `shareDirectory`. */
  share(dir: DirHandle): string {
    return `${this.#descriptors}${live(asDir(dir), 'share')}`;
  }

  /** See `openSharedDirectory`. */
  openShared(shared: string): DirHandle {
    try {
      // The dot is in the directory that the link names: what stands at its path by now does not matter.
      return this.#directory(fs.openSync(`${shared}/.`, directoryFlags), undefined, Buffer.from(shared));
    } catch (error) {
      throw failure('open', shared, error);
    }
  }

  openDir(dir: DirHandle, name: Uint8Array): DirHandle {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    try {
      return this.#directory(fs.openSync(path, directoryFlags), parent, name);
    } catch (error) {
      throw childFailure('open', parent, name, error);
    }
  }

  chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void {
    const parent = asDir(dir);
    const path = this.at(parent, name);
    try {
      // A node without any permission cannot be opened for reading, but its place can be held, looked at and changed.
      const place = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW);
      try {
        refuseMode(fs.fstatSync(place), only);
        fs.chmodSync(`${this.#descriptors}${place}`, mode);
      } finally {
        fs.closeSync(place);
      }
    } catch (error) {
      throw childFailure('chmod', parent, name, error);
    }
  }

  mountId(dir: DirHandle): string | undefined {
    const target = asDir(dir);
    const info = fs.readFileSync(`/proc/self/fdinfo/${live(target, 'mountId')}`, 'latin1');
    return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1];
  }

  protected at(dir: DiskDir, name: Uint8Array): Buffer {
    live(dir, 'use');
    checkEntryName(name);
    const { prefix } = dir;
    const path = Buffer.allocUnsafe(prefix.length + name.length);
    path.set(prefix, 0);
    path.set(name, prefix.length);
    return path;
  }

  protected self(dir: DiskDir): Buffer {
    live(dir, 'use');
    return dir.prefix;
  }

  protected settled(): void {
    // Nothing can have moved: the kernel resolved one name inside an open directory.
  }

  protected clone(from: DiskFile, to: DiskFile): void {
    fs.copyFileSync(
      `${this.#descriptors}${from.descriptor}`,
      `${this.#descriptors}${to.descriptor}`,
      fs.constants.COPYFILE_FICLONE_FORCE,
    );
  }

  #directory(descriptor: number, parent: DiskDir | undefined, name: Uint8Array): DirHandle {
    const prefix = Buffer.from(`${this.#descriptors}${descriptor}/`, 'latin1');
    return new DiskDir(descriptor, parent, name, prefix, unusedIdentity) as unknown as DirHandle;
  }
}
