import { type BigIntStats, constants } from 'node:fs';

import type { NodeKind, Stat } from '../../file-system.js';

const typeMask = 0o170000;

/** Converts what Node reports, with nanosecond times. */
export function toStat(stats: BigIntStats): Stat {
  const mode = Number(stats.mode);
  return {
    kind: kindOf(mode & typeMask),
    mode: mode & 0o7777,
    size: Number(stats.size),
    dev: stats.dev,
    ino: stats.ino,
    nlink: Number(stats.nlink),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mtimeNs: stats.mtimeNs,
    ctimeNs: stats.ctimeNs,
    birthtimeNs: stats.birthtimeNs,
  };
}

function kindOf(type: number): NodeKind {
  switch (type) {
    case constants.S_IFREG:
      return 'file';
    case constants.S_IFDIR:
      return 'directory';
    case constants.S_IFLNK:
      return 'symlink';
    case constants.S_IFIFO:
      return 'fifo';
    case constants.S_IFSOCK:
      return 'socket';
    case constants.S_IFCHR:
      return 'char-device';
    case constants.S_IFBLK:
      return 'block-device';
    default:
      return 'other';
  }
}
