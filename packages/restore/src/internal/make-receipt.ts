import type { Skipped } from '../plan.js';
import type { RestoreReceipt } from '../receipt.js';
import { shownPath } from './plan-lists.js';
import type { RunState } from './run-state.js';

/** What was left out after the plan was made, because it had changed meanwhile. */
export function lateSkips(run: RunState): readonly Skipped[] {
  return run.detail.operations
    .filter(({ number }) => run.skipped.has(number))
    .map(({ path }) => ({ path: shownPath(path), reason: 'conflict' as const }));
}

/** Says what a finished restore did: its plan, less what was left out. */
export function makeReceipt(run: RunState): RestoreReceipt {
  const { plan, options } = run;
  const late = lateSkips(run);
  const gaps = run.undoGaps;
  if (gaps.length > 0) {
    run.note({
      kind: 'undo-incomplete',
      detail: `the safety checkpoint does not hold what stood at ${gaps.length === 1 ? 'one path' : `${gaps.length} paths`}; undoing this restore does not bring that back`,
      paths: gaps,
    });
  }
  const left = new Set(late.map(({ path }) => path));
  const count = (list: readonly { readonly path: string }[]): number =>
    list.filter(({ path }) => !left.has(path)).length;
  let bytesWritten = 0;
  for (const { action, after } of run.operations) {
    if (action === 'put' && after?.kind === 'file') bytesWritten += after.size;
  }
  return Object.freeze({
    ref: run.ref,
    restoreId: run.restoreId,
    strategy: run.strategy.name,
    created: count(plan.create) + count(plan.mkdir),
    replaced: count(plan.replace),
    chmodded: count(plan.chmod),
    retyped: count(plan.retype),
    deleted: count(plan.delete),
    kept: plan.keep,
    omitted: [...plan.omitted, ...late],
    conflicts: [...plan.conflicts, ...run.conflicts],
    bytesWritten,
    durationMs: Math.round(run.clock.monotonic() - run.startedAt),
    verified: run.verified,
    exact: plan.exact && late.length === 0,
    safetyRef: options.safetyRef,
    notes: run.notes.length === 0 ? undefined : Object.freeze([...run.notes]),
  });
}
