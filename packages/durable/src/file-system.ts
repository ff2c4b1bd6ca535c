/**
 * The system calls that Holdfast uses, as one injected interface. Implemented by the real disk (Linux: anchored on
 * directory descriptors; elsewhere: guarded), by the strict crash model, and by wrappers that trace or inject faults.
 *
 * Rules every implementation keeps:
 * - A name is ONE path component as raw bytes: never empty, never `.` or `..`, no `/`, no NUL. It is resolved inside the
 *   directory that `dir` holds open, whatever has happened to paths since.
 * - Nothing follows a symlink in the last component, ever.
 * - Failures are thrown as `FileSystemError` with the system's code (`ENOENT`, `ENOSPC`, …); nothing is retried except
 *   `EINTR`.
 * - All calls are synchronous except `syncLater`; long loops are the caller's to break up.
 */
export interface FileSystem {
  /** `anchored`: descriptor-relative, proof against a racing process. `guarded`: checked before and after. */
  readonly grade: 'anchored' | 'guarded';

  /** Opens a directory by absolute path, refusing a symlink as last component. Absolute, without `.` and `..`. */
  openRoot(path: string | Uint8Array): DirHandle;
  /** The path with every symlink resolved, as bytes. For naming things only: never a safety check. `ENOENT` when absent. */
  canonicalPath(path: string | Uint8Array): Uint8Array;
  /** Opens a child directory (`O_DIRECTORY|O_NOFOLLOW`). `ENOTDIR` or `ELOOP` when it is anything else. */
  openDir(dir: DirHandle, name: Uint8Array): DirHandle;
  /**
   * Opens a child that exists for reading or for reading and writing, with `O_NOFOLLOW|O_NONBLOCK` so that a FIFO or a
   * device never blocks. Callers decide on the `fstat` of the handle, never on an earlier `lstat`.
   */
  openFile(dir: DirHandle, name: Uint8Array, access: 'read' | 'read-write'): FileHandle;
  /**
   * Creates a regular file (`O_EXCL|O_NOFOLLOW`, read-write). `EEXIST` when anything has that name. The process's umask
   * applies to `mode`, here and in `mkdir`; `chmod` afterwards where the exact mode matters.
   */
  createFile(dir: DirHandle, name: Uint8Array, mode: number): FileHandle;
  close(handle: DirHandle | FileHandle): void;

  fstat(handle: DirHandle | FileHandle): Stat;
  /** `undefined` when the name does not exist. */
  lstat(dir: DirHandle, name: Uint8Array): Stat | undefined;
  /** Names in the directory's own order, without `.` and `..`. */
  readdir(dir: DirHandle): Uint8Array[];
  readlink(dir: DirHandle, name: Uint8Array): Uint8Array;

  /** Reads at a position into `buffer`; returns the count, 0 at the end. */
  read(file: FileHandle, buffer: Uint8Array, position: number): number;
  /** Writes all of `bytes` at a position. */
  write(file: FileHandle, bytes: Uint8Array, position: number): void;
  truncate(file: FileHandle, size: number): void;
  chmod(handle: DirHandle | FileHandle, mode: number): void;
  /**
   * Changes the mode of a child that need not be openable; `ELOOP` for a symlink. With `only`, `ENOTDIR` for anything
   * that is no directory: a name may have been swapped for a hard link to a file that is none of our business.
   */
  chmodAt(dir: DirHandle, name: Uint8Array, mode: number, only?: 'directory'): void;
  /** Clones or copies the whole content of one open file into another empty one; reports which it was. */
  copyContent(from: FileHandle, to: FileHandle, how: 'clone-only' | 'clone-or-copy'): 'cloned' | 'copied';

  mkdir(dir: DirHandle, name: Uint8Array, mode: number): void;
  rmdir(dir: DirHandle, name: Uint8Array): void;
  unlink(dir: DirHandle, name: Uint8Array): void;
  symlink(target: Uint8Array, dir: DirHandle, name: Uint8Array): void;
  /** Hard link; `EEXIST` when the new name is taken. */
  link(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void;
  /** Rename; replaces what the target name holds, as `rename(2)` does. */
  rename(fromDir: DirHandle, fromName: Uint8Array, toDir: DirHandle, toName: Uint8Array): void;

  /** Makes the bytes (files) or the names (directories) durable. Blocks. A failure is final for the handle. */
  sync(handle: DirHandle | FileHandle, extent?: SyncExtent): void;
  /** The same off the event loop. The handle may be closed meanwhile; the descriptor lives until the sync is over. */
  syncLater(handle: DirHandle | FileHandle, extent?: SyncExtent): Promise<void>;

  /** Mount identity of an open directory: equal for two directories of one mount; `undefined` where unknowable. */
  mountId(dir: DirHandle): string | undefined;
}

/** `content` leaves out the mode and times of a file (`fdatasync`); the default `all` leaves out nothing. */
export type SyncExtent = 'all' | 'content';

declare const dirHandle: unique symbol;
declare const fileHandle: unique symbol;

/** An open directory. Opaque; owned by whoever opened it. */
export interface DirHandle {
  readonly [dirHandle]: true;
}

/** An open regular file (or whatever `openFile` met: look at its `fstat`). Opaque. */
export interface FileHandle {
  readonly [fileHandle]: true;
}

/** What a node is. `other` covers anything a future kernel may add. */
export type NodeKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'fifo'
  | 'socket'
  | 'char-device'
  | 'block-device'
  | 'other';

/** Facts of a node; times are nanoseconds since 1970. */
export interface Stat {
  readonly kind: NodeKind;
  /** Permission bits including set-id and sticky: `0o7777` masked. */
  readonly mode: number;
  readonly size: number;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly birthtimeNs: bigint;
}
