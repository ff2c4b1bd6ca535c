import type { Ref } from '@holdfast/workspacestore';

import type { ApplyOptions } from './apply-options.js';
import { resolvePlan } from './internal/resolve-plan.js';
import { runRestore } from './internal/restore-run.js';
import { RunState } from './internal/run-state.js';
import { checkSession } from './internal/session-scratch.js';
import type { RestoreReceipt } from './receipt.js';
import { RootPlace, scratchPath } from './scratch.js';
import type { RestoreSource } from './source.js';

/**
 * Brings a root to a target tree. A crash at any instruction leaves, after `recover`, exactly the old tree or exactly the
 * new one. An abort rejects with the signal's own reason and leaves the old tree; from the first change on it is no
 * longer observed.
 *
 * @param root Absolute canonical path.
 * @throws WorkspaceRestoreError saying by its `kind` what happened; the old tree is in place unless that is
 * `rollback-failed` or `append-failed`.
 * @throws ScratchUnavailableError when there is no place to prepare in.
 */
export async function applyRestore(
  source: RestoreSource,
  ref: Ref,
  root: string,
  options: ApplyOptions,
): Promise<RestoreReceipt> {
  checkSession(options.session);
  if (options.restoreId !== undefined && !/^[0-9a-f]{32}$/.test(options.restoreId)) {
    throw new TypeError(`restoreId ${JSON.stringify(options.restoreId)}: expected 32 hex digits`);
  }
  options.signal?.throwIfAborted();
  await using lock = await options.hostLock(scratchPath(root, options.scratch));
  void lock;
  using place = RootPlace.open(root, options.fileSystem);
  place.refuseReplaced(options.rootIdentity);
  options.onStep?.('scan');
  const resolved = await resolvePlan(source, ref, place, options);
  return await runRestore(new RunState(source, ref, place, options, resolved));
}
