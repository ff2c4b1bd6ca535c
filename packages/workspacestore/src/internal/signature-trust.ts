import { statfsSync } from 'node:fs';

/** How far signatures of a file system can be trusted. */
export interface SignatureTrust {
  readonly trusted: boolean;
  /** Nodes changed this many milliseconds before the scan, or later, are read again next time. */
  readonly marginMs: number;
}

/** Linux magic numbers of local file systems that keep inode numbers and move the ctime at every change. */
const steady = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x2fc12fc1, // zfs
  0x01021994, // tmpfs
  0x794c7630, // overlay
]);

/** Looks at the type of the file system below `path`. */
export function signatureTrust(path: string): SignatureTrust {
  if (process.platform !== 'linux') return { trusted: process.platform === 'darwin', marginMs: 2000 };
  try {
    return { trusted: steady.has(Number(statfsSync(path).type) >>> 0), marginMs: 20 };
  } catch {
    // Not a path of this machine: an injected file system, of which nothing is known.
    return { trusted: true, marginMs: 2000 };
  }
}
