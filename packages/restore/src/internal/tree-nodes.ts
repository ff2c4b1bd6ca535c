import type { LiveEntry, LiveOmitted, LiveTree, Tree, TreeEntry } from '@holdfast/workspacestore';

import { keyPath, parentKey, pathKey, treeOrder } from './path-key.js';

/** One path of the union of a live and a target tree. */
export interface TreeNode {
  readonly key: string;
  readonly path: Uint8Array;
  live?: LiveEntry | undefined;
  /** A live node that was not captured. */
  uncaptured?: LiveOmitted | undefined;
  target?: TreeEntry | undefined;
  /** The target saw something here and left it out. */
  targetOmitted: boolean;
  readonly children: TreeNode[];
}

/** Joins both trees by path. Children are in byte order of their names. */
export function joinTrees(live: LiveTree, target: Tree): TreeNode {
  const root: TreeNode = { key: '', path: new Uint8Array(), targetOmitted: false, children: [] };
  const nodes = new Map<string, TreeNode>([['', root]]);
  const at = (path: Uint8Array): TreeNode => {
    const key = pathKey(path);
    let node = nodes.get(key);
    if (node === undefined) {
      node = { key, path, targetOmitted: false, children: [] };
      nodes.set(key, node);
    }
    return node;
  };
  for (const entry of live.entries) at(entry.path).live = entry;
  for (const row of live.omitted) {
    const node = at(row.path);
    // A captured entry with the same path wins: the row then speaks of something inside it (an unreadable listing).
    if (node.live === undefined) node.uncaptured = row;
  }
  for (const entry of target.entries) at(entry.path).target = entry;
  for (const row of target.omitted) at(row.path).targetOmitted = true;

  // Omitted rows may name paths whose parents nobody captured; give those parents nodes too.
  for (const key of [...nodes.keys()]) {
    for (let up = parentKey(key); up !== '' && !nodes.has(up); up = parentKey(up)) {
      nodes.set(up, { key: up, path: keyPath(up), targetOmitted: false, children: [] });
    }
  }
  const ordered = [...nodes.values()]
    .filter((node) => node !== root)
    .map((node) => ({ node, order: treeOrder(node.key) }))
    .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0));
  for (const { node } of ordered) (nodes.get(parentKey(node.key)) as TreeNode).children.push(node);
  return root;
}
