import type { LiveEntry, LiveOmitted, LiveTree, Tree, TreeEntry } from '@holdfast/workspacestore';

import type { BeforeState, NodeState } from '../operation.js';
import type { ChangeKind, SkipReason } from '../plan.js';
import type { PlanOptions } from '../plan-options.js';
import { ConflictFinder } from './conflict-finder.js';
import { isWithin, keyPath, pathKey } from './path-key.js';
import { type PathSet, parsePaths } from './path-set.js';
import { PlanLists } from './plan-lists.js';
import { findEntry, isSameEntry, joinTrees, type TreeNode } from './tree-nodes.js';

/** Walks both trees once and decides, for every path, what a restore does with it. */
export class PlanBuilder {
  readonly lists: PlanLists = new PlanLists();
  keep = 0;
  exact = true;
  readonly root: TreeNode;
  readonly selection: PathSet;
  readonly #live: LiveTree;
  readonly #target: Tree;
  readonly #options: PlanOptions;
  readonly #force: PathSet;
  readonly #conflicts: ConflictFinder;
  readonly #equal: readonly Uint8Array[];

  constructor(live: LiveTree, target: Tree, options: PlanOptions) {
    this.#live = live;
    this.#target = target;
    this.#options = options;
    this.selection = parsePaths('paths', options.paths ?? ['.']);
    this.#force = parsePaths('force', options.force ?? []);
    this.#conflicts = new ConflictFinder(options.captured, options.foreign);
    const { root, equal } = joinTrees(live, target);
    this.root = root;
    this.#equal = equal;
  }

  /** Whether a path is in one of the trees, or in or below something that either left out. */
  knows(key: string): boolean {
    const path = keyPath(key);
    if (findEntry(this.#live.entries, path) !== undefined) return true;
    if (findEntry(this.#target.entries, path) !== undefined) return true;
    return [...this.#live.omitted, ...this.#target.omitted].some((row) => isWithin(key, pathKey(row.path)));
  }

  build(): void {
    const { rootMode } = this.#target;
    if (rootMode !== this.#live.rootMode) {
      if (this.selection.has('')) {
        const before: BeforeState = { kind: 'directory', mode: this.#live.rootMode, size: 0 };
        const after: NodeState = { kind: 'directory', mode: rootMode, size: 0 };
        this.lists.change('chmod', '', this.root.path, after, octal(before.mode));
        this.lists.operation('chmod', '', this.root.path, before, after);
      } else {
        this.exact = false;
      }
    }
    for (const child of this.root.children) this.#visit(child);
    const everything = this.selection.has('');
    for (const path of this.#equal) if (everything || this.selection.has(pathKey(path))) this.keep += 1;
  }

  /** Decides about one path and what is below it. Tells whether something will stand there afterwards. */
  #visit(node: TreeNode): boolean {
    const relation = this.selection.relation(node.key);
    if (relation === 'outside') {
      if (!isSameTree(node)) this.exact = false;
      return isPresent(node);
    }
    if (node.uncaptured !== undefined) return this.#visitUncaptured(node, node.uncaptured);
    if (relation === 'above') return this.#visitAbove(node);
    if (node.live === undefined) return this.#visitAbsent(node);
    if (node.target === undefined) return this.#visitExtra(node, node.live);
    return this.#visitBoth(node, node.live, node.target);
  }

  #visitAbove(node: TreeNode): boolean {
    const { live, target } = node;
    const needed = target?.kind === 'directory' && live?.kind !== 'directory' && this.#hasChosenTarget(node);
    if (needed) return live === undefined ? this.#visitAbsent(node) : this.#visitBoth(node, live, target);
    if (!isSameEntry(node)) this.exact = false;
    this.#visitChildren(node);
    return isPresent(node);
  }

  #hasChosenTarget(node: TreeNode): boolean {
    return node.children.some(
      (child) =>
        (child.target !== undefined && this.selection.has(child.key)) ||
        (this.selection.relation(child.key) === 'above' && this.#hasChosenTarget(child)),
    );
  }

  #visitUncaptured(node: TreeNode, row: LiveOmitted): boolean {
    const { target } = node;
    const replaceable = row.reason === 'special' && target !== undefined;
    const forced = this.#force.has(node.key) && row.kind !== 'directory' && row.reason !== 'mount';
    if (!replaceable && !forced) {
      const accounted =
        node.targetOmitted ||
        row.reason === 'reserved' ||
        (row.reason === 'ignored' && this.#options.ignoredByTarget !== false);
      return this.#leave(node, row.reason, target === undefined && accounted);
    }
    const before = uncapturedState(row);
    if (target === undefined) return this.#remove(node, before);
    return this.#retype(node, before, target);
  }

  #visitAbsent(node: TreeNode): boolean {
    const { target } = node;
    if (target === undefined) {
      // The target has no bytes to compare with: the result is as exact as it can be.
      if (node.targetOmitted) this.lists.skip(node.key, node.path, 'unrestorable');
      return this.#visitChildren(node);
    }
    if (!this.#mayTouch(node)) return this.#leave(node, 'conflict', false);
    const after = targetState(target);
    const directory = target.kind === 'directory';
    this.lists.change(directory ? 'mkdir' : 'create', node.key, node.path, after);
    this.lists.operation(directory ? 'mkdir' : 'put', node.key, node.path, undefined, after);
    if (directory) this.#visitChildren(node);
    return true;
  }

  #visitExtra(node: TreeNode, live: LiveEntry): boolean {
    if (node.targetOmitted && !this.#force.has(node.key)) return this.#leave(node, 'target-omitted', true);
    const exactly = this.#options.prune === 'exact' || this.#isRestored(live);
    if (live.kind === 'directory') {
      const stays = this.#visitChildren(node);
      // A directory that keeps something is explained by the rows of what it keeps.
      if (stays) {
        this.exact = false;
        return true;
      }
      return exactly ? this.#remove(node, liveState(live)) : this.#leave(node, 'not-pruned', false);
    }
    if (live.kind === 'symlink' && !exactly) return this.#leave(node, 'not-pruned', false);
    return this.#remove(node, liveState(live));
  }

  /** Whether the restore that is taken back brought it: same kind, and for a link the same target. */
  #isRestored(live: LiveEntry): boolean {
    const held = findEntry(this.#options.restored?.entries ?? [], live.path);
    return (
      held !== undefined &&
      held.kind === live.kind &&
      (live.kind !== 'symlink' || isSameEntry({ live, target: held }))
    );
  }

  #visitBoth(node: TreeNode, live: LiveEntry, target: TreeEntry): boolean {
    if (live.kind !== target.kind) return this.#retype(node, liveState(live), target);
    if (isSameEntry(node)) this.keep += 1;
    else if (!this.#mayTouch(node)) this.#leave(node, 'conflict', false);
    else this.#bring(node, live, target);
    this.#visitChildren(node);
    return true;
  }

  /** Same kind, other content, target or mode. */
  #bring(node: TreeNode, live: LiveEntry, target: TreeEntry): void {
    const before = liveState(live);
    const sameBytes =
      live.kind === 'directory' ||
      (live.kind === 'file' && live.content === target.content && live.size === target.size);
    if (sameBytes) {
      const after = { ...targetState(target), mode: target.mode | (before.mode & 0o7000) };
      this.lists.change('chmod', node.key, node.path, after, octal(before.mode));
      // The other names of a shared inode may be anywhere: its mode is never changed, the name gets an inode of its own.
      const shared = live.kind === 'file' && live.signature.nlink > 1;
      this.lists.operation(shared ? 'put' : 'chmod', node.key, node.path, before, after);
    } else {
      const after = targetState(target);
      this.lists.change('replace', node.key, node.path, after);
      this.lists.operation('put', node.key, node.path, before, after);
    }
  }

  #retype(node: TreeNode, before: BeforeState, target: TreeEntry): boolean {
    const after = targetState(target);
    if (before.kind === 'directory' && !this.#canVacate(node)) return this.#leave(node, 'in-the-way', false);
    if (!this.#mayTouch(node)) return this.#leave(node, 'conflict', false);
    if (before.kind === 'directory') {
      for (const child of node.children) this.#vacate(child);
      this.lists.operation('rmdir', node.key, node.path, before, undefined);
    } else if (after.kind === 'directory') {
      this.lists.operation('unlink', node.key, node.path, before, undefined);
    }
    const replaced = before.kind === 'directory' || after.kind === 'directory' ? undefined : before;
    if (before.kind === after.kind) this.lists.change('replace', node.key, node.path, after);
    else this.lists.change('retype', node.key, node.path, after, before.kind);
    this.lists.operation(after.kind === 'directory' ? 'mkdir' : 'put', node.key, node.path, replaced, after);
    if (after.kind === 'directory') this.#visitChildren(node);
    return true;
  }

  #remove(node: TreeNode, before: BeforeState): boolean {
    if (!this.#mayTouch(node)) return this.#leave(node, 'conflict', false);
    this.lists.change('delete', node.key, node.path, before);
    this.lists.operation(
      before.kind === 'directory' ? 'rmdir' : 'unlink',
      node.key,
      node.path,
      before,
      undefined,
    );
    return false;
  }

  /** Whether everything below a directory that must give way may be deleted. Lists what may not. */
  #canVacate(node: TreeNode): boolean {
    let free = true;
    for (const child of node.children) {
      const reason = this.#reasonToStay(child);
      if (reason !== undefined) {
        this.lists.skip(child.key, child.path, reason);
        free = false;
      } else if (!this.#canVacate(child)) {
        free = false;
      }
    }
    return free;
  }

  #reasonToStay(node: TreeNode): SkipReason | undefined {
    const { live, uncaptured } = node;
    const forced = this.#force.has(node.key);
    if (uncaptured !== undefined) {
      const removable = forced && uncaptured.kind !== 'directory' && uncaptured.reason !== 'mount';
      return removable ? undefined : uncaptured.reason;
    }
    if (live === undefined) return undefined;
    if (!forced && node.targetOmitted) return 'target-omitted';
    const found = this.#conflicts.find(node, forced);
    if (found === 'uncaptured') return 'uncaptured';
    return found !== undefined && this.#options.onConflict === 'skip' ? 'conflict' : undefined;
  }

  #vacate(node: TreeNode): void {
    for (const child of node.children) this.#vacate(child);
    const before =
      node.live !== undefined
        ? liveState(node.live)
        : node.uncaptured !== undefined
          ? uncapturedState(node.uncaptured)
          : undefined;
    if (before !== undefined) this.#remove(node, before);
  }

  /** Records a conflict; tells whether the change goes ahead nevertheless. */
  #mayTouch(node: TreeNode): boolean {
    const found = this.#conflicts.find(node, this.#force.has(node.key));
    if (found === undefined) return true;
    if (found === 'uncaptured') return false;
    this.lists.conflict(node.key, node.path, found);
    return this.#options.onConflict !== 'skip';
  }

  #leave(node: TreeNode, reason: SkipReason, accounted: boolean): boolean {
    const uncaptured =
      reason === 'conflict' && this.#conflicts.find(node, this.#force.has(node.key)) === 'uncaptured';
    this.lists.skip(node.key, node.path, uncaptured ? 'uncaptured' : reason);
    if (!accounted) this.exact = false;
    return isPresent(node);
  }

  #visitChildren(node: TreeNode): boolean {
    let stays = false;
    for (const child of node.children) if (this.#visit(child)) stays = true;
    return stays;
  }
}

function targetState(entry: TreeEntry): NodeState {
  return {
    kind: entry.kind,
    mode: entry.mode,
    size: entry.size,
    ...(entry.content === undefined ? {} : { content: entry.content }),
    ...(entry.target === undefined ? {} : { target: entry.target }),
  };
}

function liveState(entry: LiveEntry): BeforeState {
  return { ...targetState(entry), mode: entry.signature.mode & 0o7777, signature: entry.signature };
}

function uncapturedState(row: LiveOmitted): BeforeState {
  return {
    kind: row.kind as ChangeKind,
    mode: (row.signature?.mode ?? 0) & 0o7777,
    size: row.signature?.size ?? 0,
    signature: row.signature,
  };
}

function isPresent(node: TreeNode): boolean {
  return node.live !== undefined || node.uncaptured !== undefined;
}

function isSameTree(node: TreeNode): boolean {
  return isSameEntry(node) && node.children.every(isSameTree);
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, '0');
}
