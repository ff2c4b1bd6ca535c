import { equalBytes } from '@holdfast/base';
import type { Tree } from '@holdfast/workspacestore';

import type { NodeState, Operation } from '../operation.js';
import { contentKeyOf } from './content-key.js';
import { pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';
import { isErrno } from './reconcile-names.js';
import { RootWalker } from './root-walker.js';
import type { RunState } from './run-state.js';
import { findEntry } from './tree-nodes.js';

type Doomed = Pick<NodeState, 'kind' | 'mode' | 'content' | 'target'>;

/**
 * Finds what a restore is about to take away that its safety checkpoint does not hold, as path text: what was forced,
 * special nodes that stand where the target has an entry, and what changed after the checkpoint and is overwritten. Nothing
 * when there is no safety checkpoint: then there is no undo that could lack anything.
 */
export async function findUndoGaps(run: RunState, pause: () => Promise<void>): Promise<readonly string[]> {
  const { captured } = run.detail.options;
  if (captured === undefined) return [];
  const gaps = new Set<string>();
  using walker = new RootWalker(run.place.presentRoot);
  for (const operation of run.operations) {
    const { number, path, before } = operation;
    const doomed = run.overwritten.has(number) ? await nodeAt(walker, operation, pause) : before;
    if (doomed !== undefined && !holds(captured, path, doomed)) gaps.add(shownPath(path));
  }
  return [...gaps];
}

/** What stands there now, after the plan was made. */
async function nodeAt(
  walker: RootWalker,
  { path }: Operation,
  pause: () => Promise<void>,
): Promise<Doomed | undefined> {
  const stat = walker.look(pathKey(path));
  if (stat === undefined) return undefined;
  const { kind, mode } = stat;
  const { dir, name } = walker.locate(pathKey(path));
  if (kind === 'symlink') return { kind, mode: 0, target: dir.readlink(name) };
  if (kind !== 'file') return { kind, mode };
  try {
    using file = dir.openFile(name);
    return { kind, mode, content: (await contentKeyOf(file, pause)).key };
  } catch (error) {
    // Nobody could read it into a checkpoint either.
    if (isErrno(error, 'EACCES')) return { kind, mode };
    throw error;
  }
}

function holds(captured: Tree, path: Uint8Array, node: Doomed): boolean {
  if (path.length === 0) return captured.rootMode === (node.mode & 0o777);
  const entry = findEntry(captured.entries, path);
  if (entry?.kind !== node.kind) return false;
  if (entry.kind === 'symlink') {
    return node.target !== undefined && equalBytes(entry.target ?? new Uint8Array(), node.target);
  }
  return entry.mode === (node.mode & 0o777) && (entry.kind === 'directory' || entry.content === node.content);
}
