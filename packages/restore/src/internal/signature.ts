import type { Dir, Stat } from '@holdfast/durable';
import type { LiveSignature } from '@holdfast/workspacestore';

import type { RootIdentity } from '../restore-journal.js';

/** Takes the signature of a node. */
export function signatureOf(stat: Stat): LiveSignature {
  const { kind, mode, size, ino, mtimeNs, ctimeNs, nlink } = stat;
  return { kind, mode, size, ino, mtimeNs, ctimeNs, nlink };
}

/**
 * Whether a node is untouched since its signature was taken. The change time of an inode with several names moves when
 * any of them is linked or unlinked, so it counts only for one that had a single name (`soleName`).
 */
export function isUntouched(
  stat: Stat,
  signature: LiveSignature,
  soleName: boolean = signature.nlink === 1,
): boolean {
  if (!isSameNode(stat, signature)) return false;
  // Names inside a directory come and go; its own facts are its mode and identity.
  if (stat.kind === 'directory') return true;
  if (stat.size !== signature.size || stat.mtimeNs !== signature.mtimeNs) return false;
  return !soleName || stat.ctimeNs === signature.ctimeNs;
}

/** Whether it is the same inode with the same mode, whatever was written to it. */
export function isSameNode(stat: Stat, signature: LiveSignature): boolean {
  return (
    stat.kind === signature.kind &&
    stat.ino === signature.ino &&
    (stat.mode & 0o7777) === (signature.mode & 0o7777)
  );
}

/** Identity of an open directory. */
export function identityOf(dir: Dir): RootIdentity {
  const { ino, birthtimeNs } = dir.stat();
  return { inode: String(ino), birthtimeNs: String(birthtimeNs) };
}

export function isSameIdentity(a: RootIdentity, b: RootIdentity): boolean {
  return a.inode === b.inode && a.birthtimeNs === b.birthtimeNs;
}

/** What may still be only in memory of the machine: younger than this, or from the future. */
const recentMilliseconds = 60_000;

/** From when on a change may be only in memory, in nanoseconds since 1970. */
export function recentSince(now: number): bigint {
  return BigInt(Math.trunc(now - recentMilliseconds)) * 1_000_000n;
}

/** Whether a node changed so lately that its bytes may not be on the disk yet. */
export function isRecent(
  facts: { readonly mtimeNs: bigint; readonly ctimeNs: bigint },
  now: number,
): boolean {
  const since = recentSince(now);
  return facts.ctimeNs >= since || facts.mtimeNs >= since;
}
