import { encodePathText, equalBytes } from '@holdfast/base';
import type { LiveEntry, Tree, TreeEntry } from '@holdfast/workspacestore';

import type { ConflictReason } from '../plan.js';
import type { ForeignChanges } from '../plan-options.js';
import { pathKey } from './path-key.js';
import { PathSet } from './path-set.js';
import { findEntry, type TreeNode } from './tree-nodes.js';

/** Finds what somebody else changed: since the safety checkpoint, or outside the session's permits. */
export class ConflictFinder {
  readonly #captured: Tree | undefined;
  readonly #capturedOmitted: PathSet;
  readonly #foreign: ForeignChanges | undefined;

  constructor(captured: Tree | undefined, foreign: ForeignChanges | undefined) {
    this.#captured = captured;
    this.#capturedOmitted = new PathSet((captured?.omitted ?? []).map((row) => pathKey(row.path)));
    this.#foreign = foreign;
  }

  /** `uncaptured`: the safety checkpoint saw it and left it out, so it may not be touched at all. */
  find(node: TreeNode, forced: boolean): ConflictReason | 'uncaptured' | undefined {
    if (forced) return undefined;
    const { live, uncaptured } = node;
    if (this.#captured !== undefined) {
      const held = findEntry(this.#captured.entries, node.path);
      if (uncaptured !== undefined) {
        if (held !== undefined || !this.#capturedOmitted.has(node.key)) return 'concurrent-change';
      } else if (!isSame(live, held)) {
        return held === undefined && this.#capturedOmitted.has(node.key) ? 'uncaptured' : 'concurrent-change';
      }
    }
    if (this.#foreign !== undefined) {
      const last = findEntry(this.#foreign.last.entries, node.path);
      const differs = uncaptured !== undefined || !isSame(live, last);
      if (differs && !this.#foreign.wrote(encodePathText(node.path))) return 'foreign';
    }
    return undefined;
  }
}

function isSame(live: LiveEntry | undefined, held: TreeEntry | undefined): boolean {
  if (live === undefined || held === undefined) return live === held;
  if (live.kind !== held.kind) return false;
  if (live.kind === 'symlink')
    return equalBytes(live.target ?? new Uint8Array(), held.target ?? new Uint8Array());
  return live.mode === held.mode && (live.kind === 'directory' || live.content === held.content);
}
