import type { JsonValue } from '@holdfast/base';

import { WorkspaceRestoreError } from './errors.js';
import { commitOperations } from './internal/commit-operations.js';
import { stageName, undoName } from './internal/reconcile-names.js';
import { secureUndo } from './internal/secure-undo.js';
import { identityOf, isSameIdentity } from './internal/signature.js';
import { stageFiles } from './internal/stage-files.js';
import { undoOperations } from './internal/undo-operations.js';
import { decodeReconcileState, encodeReconcileState } from './internal/undo-record.js';
import type { Prune } from './plan.js';
import type { PreparationContext, RestoreStrategy, StrategyContext } from './strategy.js';

export interface ReconcileOptions {
  /** Default `files`. */
  readonly prune?: Prune | undefined;
}

/**
 * Restores in place: the root keeps its inode, unchanged entries are not touched, and what stands in the root keeps its
 * directory. For exclusive and shared roots, and for any root that cannot be renamed.
 */
export function reconcile(options: ReconcileOptions = {}): RestoreStrategy {
  return Object.freeze({
    contract: 'restore-strategy/1',
    name: 'reconcile',
    prune: options.prune ?? 'files',
    selective: true,
    fallback: undefined,
    unavailable: () => Promise.resolve(undefined),
    stage,
    secure: async (context: PreparationContext) => encodeReconcileState(await secureUndo(context)),
    commit: async (context: StrategyContext, state: JsonValue) => {
      await commitOperations(context, openRootOf(context), decodeReconcileState(state));
    },
    undo: async (context: StrategyContext, state: JsonValue) => {
      await undoOperations(context, openRootOf(context), decodeReconcileState(state));
    },
    discard: () => Promise.resolve(),
  });
}

// 1. Make the directories of staged content and of undo copies.
// 2. Fetch and verify what the plan writes. `secure` makes it durable together with the undo copies.
async function stage(context: PreparationContext): Promise<void> {
  context.work.mkdir(stageName);
  context.work.mkdir(undoName);
  using staged = context.work.openDir(stageName);
  await stageFiles(context.operations, ({ number }) => ({ dir: staged, name: String(number) }), {
    source: context.source,
    signal: context.signal,
    sync: 'later',
    pause: () => context.pause(),
    modesUnsupported: () => {
      context.note({
        kind: 'modes-unsupported',
        detail: 'the file system does not keep the modes it is given',
      });
    },
  });
}

function openRootOf(context: StrategyContext): NonNullable<StrategyContext['root']> {
  if (context.root === undefined) {
    throw new WorkspaceRestoreError('root-replaced', 'the root is gone; nothing can be put back into it');
  }
  if (!isSameIdentity(identityOf(context.root), context.rootIdentity)) {
    throw new WorkspaceRestoreError(
      'root-replaced',
      'the root is not the directory that the restore began with',
    );
  }
  return context.root;
}
