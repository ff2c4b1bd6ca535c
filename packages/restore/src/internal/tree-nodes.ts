import { equalBytes } from '@holdfast/base';
import type { LiveEntry, LiveOmitted, LiveTree, Tree, TreeEntry } from '@holdfast/workspacestore';

import { compareTreeOrder, keyPath, parentKey, pathKey, treeOrder } from './path-key.js';

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

export interface JoinedTrees {
  /** The root, with what differs below it and the directories on the way there. */
  readonly root: TreeNode;
  /** Paths of entries that are equal in both trees and not in `root`. */
  readonly equal: readonly Uint8Array[];
}

/**
 * Joins both trees by path. A restore is mostly about trees that hardly differ, so that what is equal costs one comparison
 * and gets no node. Children are in byte order of their names.
 */
export function joinTrees(live: LiveTree, target: Tree): JoinedTrees {
  const joiner = new Joiner(live, target);
  joiner.entries();
  joiner.omitted();
  return joiner.finish();
}

class Joiner {
  readonly #live: LiveTree;
  readonly #target: Tree;
  readonly #root: TreeNode = { key: '', path: new Uint8Array(), targetOmitted: false, children: [] };
  readonly #nodes = new Map<string, TreeNode>([['', this.#root]]);
  readonly #equal: { readonly live: LiveEntry; readonly target: TreeEntry }[] = [];

  constructor(live: LiveTree, target: Tree) {
    this.#live = live;
    this.#target = target;
  }

  /** Both lists are in canonical order: one pass. */
  entries(): void {
    const live = this.#live.entries;
    const target = this.#target.entries;
    let l = 0;
    let t = 0;
    while (l < live.length || t < target.length) {
      const a = live[l];
      const b = target[t];
      const order = a === undefined ? 1 : b === undefined ? -1 : compareTreeOrder(a.path, b.path);
      if (order < 0) {
        this.#at((a as LiveEntry).path).live = a;
        l += 1;
      } else if (order > 0) {
        this.#at((b as TreeEntry).path).target = b;
        t += 1;
      } else {
        this.#both(a as LiveEntry, b as TreeEntry);
        l += 1;
        t += 1;
      }
    }
  }

  #both(live: LiveEntry, target: TreeEntry): void {
    if (isSameEntry({ live, target })) {
      this.#equal.push({ live, target });
      return;
    }
    const node = this.#at(live.path);
    node.live = live;
    node.target = target;
  }

  omitted(): void {
    for (const row of this.#live.omitted) {
      const node = this.#at(row.path);
      // A captured entry with the same path wins: the row then speaks of something inside it (an unreadable listing).
      if (node.live === undefined && findEntry(this.#live.entries, row.path) === undefined)
        node.uncaptured = row;
    }
    for (const row of this.#target.omitted) this.#at(row.path).targetOmitted = true;
  }

  /** Adds the directories on the way to what differs, then strings the nodes together. */
  finish(): JoinedTrees {
    for (const key of [...this.#nodes.keys()]) {
      for (let up = parentKey(key); up !== '' && !this.#nodes.has(up); up = parentKey(up))
        this.#at(keyPath(up));
    }
    const equal: Uint8Array[] = [];
    for (const { live, target } of this.#equal) {
      const node = this.#nodes.size === 1 ? undefined : this.#nodes.get(pathKey(live.path));
      if (node === undefined) equal.push(live.path);
      else Object.assign(node, { live, target });
    }
    const ordered = [...this.#nodes.values()]
      .filter((node) => node !== this.#root)
      .map((node) => ({ node, order: treeOrder(node.key) }))
      .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0));
    for (const { node } of ordered) (this.#nodes.get(parentKey(node.key)) as TreeNode).children.push(node);
    return { root: this.#root, equal };
  }

  #at(path: Uint8Array): TreeNode {
    const key = pathKey(path);
    let node = this.#nodes.get(key);
    if (node === undefined) {
      node = { key, path, targetOmitted: false, children: [] };
      this.#nodes.set(key, node);
    }
    return node;
  }
}

/** Finds an entry of a canonical list. */
export function findEntry<T extends TreeEntry>(entries: readonly T[], path: Uint8Array): T | undefined {
  let low = 0;
  let high = entries.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle] as T;
    const order = compareTreeOrder(entry.path, path);
    if (order === 0) return entry;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

/** Whether a path already is as the target has it, not looking below. */
export function isSameEntry({
  live,
  target,
}: {
  readonly live?: LiveEntry | undefined;
  readonly target?: TreeEntry | undefined;
}): boolean {
  if (live === undefined || target === undefined) return live === target;
  if (live.kind !== target.kind) return false;
  if (live.kind === 'symlink')
    return equalBytes(live.target ?? new Uint8Array(), target.target ?? new Uint8Array());
  if (live.mode !== target.mode) return false;
  return live.kind === 'directory' || (live.content === target.content && live.size === target.size);
}
