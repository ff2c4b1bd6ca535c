import { Dir, type FileSystem } from '@holdfast/durable';

import type { TreeNode } from './tree-node.js';

export interface WriteTreeOptions {
  /** Mode of the root directory; default `0o755`. */
  readonly rootMode?: number | undefined;
  /** Nodes of one parent are made in this order; default as given. Parents always come first. */
  readonly reverse?: boolean | undefined;
}

/** Writes nodes below an existing directory. Modes of directories are set last, deepest first. */
export function writeTree(
  fileSystem: FileSystem,
  root: string,
  nodes: readonly TreeNode[],
  options: WriteTreeOptions = {},
): void {
  using top = Dir.openRoot(fileSystem, root);
  const directories = nodes.filter(({ kind }) => kind === 'directory');
  for (const { path } of directories)
    inParent(top, path, (dir, name) => {
      dir.mkdir(name, 0o700);
    });
  const others = nodes.filter(({ kind }) => kind !== 'directory');
  if (options.reverse === true) others.reverse();
  for (const node of others)
    inParent(top, node.path, (dir, name) => {
      writeNode(dir, name, node);
    });
  for (const { path, mode } of [...directories].reverse())
    inParent(top, path, (dir, name) => {
      dir.chmodAt(name, mode);
    });
  top.chmod(options.rootMode ?? 0o755);
}

function writeNode(dir: Dir, name: Uint8Array, node: TreeNode): void {
  if (node.kind === 'symlink') {
    dir.symlink(node.target as Uint8Array, name);
    return;
  }
  using file = dir.createFile(name, 0o600);
  file.write(node.content as Uint8Array, 0);
  file.chmod(node.mode);
}

function inParent(root: Dir, path: Uint8Array, action: (dir: Dir, name: Uint8Array) => void): void {
  let current = root.retain();
  try {
    let rest = path;
    for (let slash = rest.indexOf(0x2f); slash !== -1; slash = rest.indexOf(0x2f)) {
      const next = current.openDir(rest.subarray(0, slash));
      current.close();
      current = next;
      rest = rest.subarray(slash + 1);
    }
    action(current, rest);
  } finally {
    current.close();
  }
}
