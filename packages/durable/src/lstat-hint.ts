import type { DirHandle, FileSystem, NodeKind, Stat } from './file-system.js';
import { DiskFileSystem } from './internal/disk/disk-file-system.js';

/**
 * The fields of a hint as 64-bit words, each at its place: looking at many nodes makes no objects. `mode` has the type of
 * the node in the bits above the permissions, as in `st_mode`; times are nanoseconds since 1970.
 */
export const hintWord = {
  dev: 0,
  ino: 1,
  mode: 2,
  nlink: 3,
  size: 4,
  mtimeNs: 5,
  ctimeNs: 6,
} as const;

/** How many words a hint has. */
export const hintWords = 7;

/** The type bits of `st_mode`; the same on every system that Node runs on. */
export const typeBits: Readonly<Record<Exclude<NodeKind, 'other'>, number>> = {
  fifo: 0o010000,
  'char-device': 0o020000,
  directory: 0o040000,
  'block-device': 0o060000,
  file: 0o100000,
  symlink: 0o120000,
  socket: 0o140000,
};

/**
 * Looks at a child as `lstat` does, but by path, which the real disk answers in about half the time. A process that
 * moves directories about can make it tell of another place, so a hint is only good for one thing: when it equals a
 * signature that was recorded through a handle, the node recorded then is untouched. Whatever differs, and whatever is to
 * be opened, followed or left out, needs `lstat` or an open handle. `false` means that there is no hint, not that there
 * is no such name. On other file systems it is `lstat`.
 *
 * @param into At least {@link hintWords} long; its content means nothing after `false`.
 */
export function lstatHint(
  fileSystem: FileSystem,
  dir: DirHandle,
  name: Uint8Array,
  into: BigInt64Array,
): boolean {
  if (fileSystem instanceof DiskFileSystem) return fileSystem.lstatHint(dir, name, into);
  const stat = fileSystem.lstat(dir, name);
  if (stat === undefined) return false;
  writeStat(stat, into);
  return true;
}

function writeStat(stat: Stat, into: BigInt64Array): void {
  const type = stat.kind === 'other' ? 0 : typeBits[stat.kind];
  into[hintWord.dev] = stat.dev;
  into[hintWord.ino] = stat.ino;
  into[hintWord.mode] = BigInt(type | stat.mode);
  into[hintWord.nlink] = BigInt(stat.nlink);
  into[hintWord.size] = BigInt(stat.size);
  into[hintWord.mtimeNs] = stat.mtimeNs;
  into[hintWord.ctimeNs] = stat.ctimeNs;
}
