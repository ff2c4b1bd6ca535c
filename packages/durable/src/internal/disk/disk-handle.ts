import { encodePathText } from '@holdfast/base';

import type { DirHandle, FileHandle } from '../../file-system.js';

/**
 * An open descriptor of the process. The number is only ever used through this object, and the object forgets it when
 * it is closed: a closed handle can never address whatever gets the same number next.
 */
export abstract class DiskHandle {
  /** -1 after close. */
  descriptor: number;
  /** Syncs in the thread pool; the descriptor is given back only when they are over. */
  syncsRunning = 0;
  closeWanted = false;
  protected readonly parent: DiskDir | undefined;
  /** The name in `parent`; the absolute path of a root. */
  protected readonly name: Uint8Array;

  constructor(descriptor: number, parent: DiskDir | undefined, name: Uint8Array) {
    this.descriptor = descriptor;
    this.parent = parent;
    this.name = name;
  }

  /** The path by which this was opened, as text for people. */
  display(): string {
    const parts = [encodePathText(this.name)];
    for (let above: DiskHandle | undefined = this.parent; above !== undefined; above = above.parent) {
      parts.push(encodePathText(above.name));
    }
    const root = parts.pop() as string;
    return [root === '/' ? '' : root, ...parts.reverse()].join('/') || '/';
  }
}

const slash = Buffer.from('/');

export class DiskDir extends DiskHandle {
  /** What stands before a child's name to address it: ends in `/`. */
  prefix: Buffer;
  #pathPrefix: Buffer | undefined;
  /** Identity at opening; used by the guarded grade only. */
  readonly dev: bigint;
  readonly ino: bigint;

  constructor(
    descriptor: number,
    parent: DiskDir | undefined,
    name: Uint8Array,
    prefix: Buffer,
    identity: { readonly dev: bigint; readonly ino: bigint },
  ) {
    super(descriptor, parent, name);
    this.prefix = prefix;
    this.dev = identity.dev;
    this.ino = identity.ino;
  }

  /** The path by which this was opened, ending in `/`. It may lead elsewhere by now: for hints only. */
  get pathPrefix(): Buffer {
    if (this.#pathPrefix === undefined) {
      const above = this.parent?.pathPrefix ?? Buffer.alloc(0);
      const joined = Buffer.concat([above, this.name, slash]);
      this.#pathPrefix = this.parent === undefined && this.name.length === 1 ? slash : joined;
    }
    return this.#pathPrefix;
  }
}

export class DiskFile extends DiskHandle {}

export function asDir(handle: DirHandle): DiskDir {
  if (handle instanceof DiskDir) return handle;
  throw new TypeError('this directory handle belongs to another file system');
}

export function asFile(handle: FileHandle): DiskFile {
  if (handle instanceof DiskFile) return handle;
  throw new TypeError('this file handle belongs to another file system');
}

export function asHandle(handle: DirHandle | FileHandle): DiskHandle {
  if (handle instanceof DiskHandle) return handle;
  throw new TypeError('this handle belongs to another file system');
}
