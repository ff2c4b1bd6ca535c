import type { Located } from './model-paths.js';
import { type ModelState, rootInode } from './model-state.js';
import type { DirectoryNode, ModelNode } from './nodes.js';

/** Applies the rules of `rename(2)`; `false` when both names hold the same node and nothing is to be done. */
export function checkRename(state: ModelState, moved: ModelNode, source: Located, target: Located): boolean {
  if (target.inode === moved.ino) return false;
  if (target.directory.nlink === 0) throw target.failure('ENOENT');
  const replaced = target.inode === undefined ? undefined : state.node(target.inode);
  if (moved.kind === 'directory' && holds(state, moved.ino, target.directory)) throw source.failure('EINVAL');
  // The kernel looks at this before it looks at kinds.
  if (replaced !== undefined && holds(state, replaced.ino, source.directory))
    throw target.failure('ENOTEMPTY');
  if (moved.kind === 'directory') {
    if (replaced !== undefined && replaced.kind !== 'directory') throw target.failure('ENOTDIR');
    if (replaced?.kind === 'directory' && replaced.entries.size > 0) throw target.failure('ENOTEMPTY');
  } else if (replaced?.kind === 'directory') {
    throw target.failure('EISDIR');
  }
  return true;
}

function holds(state: ModelState, inode: number, directory: DirectoryNode): boolean {
  let current = directory;
  for (;;) {
    if (current.ino === inode) return true;
    if (current.ino === rootInode) return false;
    current = state.node(current.parent) as DirectoryNode;
  }
}
