import type { DirHandle, FileHandle } from '../../file-system.js';

/** An open node of a model. */
export class ModelHandle {
  readonly inode: number;
  /** Path by which it was opened, as text for people. */
  readonly path: string;
  readonly isDirectory: boolean;
  readonly writable: boolean;
  closed = false;

  constructor(inode: number, path: string, kind: 'directory' | 'read' | 'read-write') {
    this.inode = inode;
    this.path = path;
    this.isDirectory = kind === 'directory';
    this.writable = kind === 'read-write';
  }
}

export function asDirHandle(handle: ModelHandle): DirHandle {
  return handle as unknown as DirHandle;
}

export function asFileHandle(handle: ModelHandle): FileHandle {
  return handle as unknown as FileHandle;
}
