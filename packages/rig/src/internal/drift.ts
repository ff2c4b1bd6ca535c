import { encodePathText, equalBytes } from '@holdfast/base';
import type { SessionFold } from '@holdfast/journal';
import { parseRef, type Ref, type Tree, type TreeEntry, type WorkspaceStore } from '@holdfast/workspacestore';

import type { DriftDifference } from '../errors.js';
import type { AttachedWorkspace } from './attach-workspace.js';

/** Files that are not what the journal says. */
export interface Drift {
  readonly expected: Ref;
  readonly differences: readonly DriftDifference[];
}

/**
 * Compares the files with what the journal's last result says of them; `undefined` when they agree. A restore may
 * leave something else than its ref on purpose: then the key of the verified result counts.
 */
export async function findDrift(
  workspace: AttachedWorkspace,
  fold: SessionFold,
  signal: AbortSignal | undefined,
): Promise<Drift | undefined> {
  const current = fold.currentWorkspace;
  if (current === undefined) return undefined;
  const expected = parseRef(current.ref);
  const target = await workspace.store.openTree(expected, { signal });
  const live = await workspace.store.scan(workspace.root, { ...workspace.capture, signal });
  const restored = fold.lastRestore?.seq === current.seq ? fold.lastRestore.prepared : undefined;
  if (live.treeKey === target.treeKey || live.treeKey === restored?.treeKey) return undefined;
  return { expected, differences: compareEntries(target.entries, live.entries) };
}

/** Tells whether the files equal a ref, names, bytes and modes. */
export async function equalsTree(
  store: WorkspaceStore,
  workspace: AttachedWorkspace,
  tree: Tree,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const live = await store.scan(workspace.root, { ...workspace.capture, target: tree, signal });
  return live.treeKey === tree.treeKey;
}

/** The differences between two lists of entries, by path. */
export function compareEntries(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
): readonly DriftDifference[] {
  const old = new Map(before.map((entry) => [encodePathText(entry.path), entry]));
  const differences: DriftDifference[] = [];
  for (const entry of after) {
    const path = encodePathText(entry.path);
    const was = old.get(path);
    old.delete(path);
    const what = was === undefined ? 'added' : difference(was, entry);
    if (what !== undefined) differences.push({ path, what });
  }
  for (const path of old.keys()) differences.push({ path, what: 'removed' });
  return differences.sort((one, other) => (one.path < other.path ? -1 : 1));
}

function difference(was: TreeEntry, is: TreeEntry): DriftDifference['what'] | undefined {
  if (was.kind !== is.kind) return 'type';
  if (was.content !== is.content) return 'modified';
  const none = new Uint8Array();
  if (!equalBytes(was.target ?? none, is.target ?? none)) return 'modified';
  return was.mode === is.mode ? undefined : 'mode';
}
