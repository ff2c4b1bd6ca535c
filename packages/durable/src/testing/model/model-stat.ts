import type { Stat } from '../../file-system.js';
import type { ModelNode } from './nodes.js';

const firstSecondNs = 1_700_000_000_000_000_000n;

/** Facts of a model node; one change is one millisecond. */
export function statOf(node: ModelNode): Stat {
  const size = node.kind === 'file' ? node.content.size : node.kind === 'symlink' ? node.target.length : 0;
  return {
    kind: node.kind,
    mode: node.mode,
    size,
    dev: 1n,
    ino: BigInt(node.ino),
    nlink: node.kind === 'directory' ? node.nlink + 1 : node.nlink,
    uid: 0,
    gid: 0,
    mtimeNs: time(node.mtime),
    ctimeNs: time(node.ctime),
    birthtimeNs: time(node.birthtime),
  };
}

function time(tick: number): bigint {
  return firstSecondNs + BigInt(tick) * 1_000_000n;
}
