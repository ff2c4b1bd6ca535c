import { findCause, isHoldfastError } from '@holdfast/base';
import type { Ref } from '@holdfast/workspacestore';

import type { ApplyOptions } from '../apply-options.js';
import { RestoreTargetError, WorkspaceRestoreError } from '../errors.js';
import type { Conflict, RestorePlan } from '../plan.js';
import { type PlanDetail, planDetail, planDigest } from '../plan-restore.js';
import { isSelective, openCaptured, planFor, scannedRoot } from '../preview-restore.js';
import type { RootPlace } from '../scratch.js';
import type { RestoreSource } from '../source.js';

/**
 * Makes the plan that will be committed: the given one, if it still holds, or a fresh one. Writes nothing.
 * @throws WorkspaceRestoreError `concurrent-change` when the given plan no longer holds or conflicts were found.
 */
export async function resolvePlan(
  source: RestoreSource,
  ref: Ref,
  place: RootPlace,
  options: ApplyOptions,
): Promise<{ readonly plan: RestorePlan; readonly detail: PlanDetail }> {
  const shown = options.plan;
  if (shown !== undefined && shown.ref !== ref) {
    throw new TypeError(`plan: it is for ${shown.ref}, not for ${ref}`);
  }
  const plan =
    shown === undefined
      ? await freshPlan(source, ref, place, options)
      : await heldPlan(source, shown, place, options);
  refuseConflicts(plan, options, place);
  return { plan, detail: planDetail(plan) as PlanDetail };
}

/** What a source that compares says about a target which it cannot read. */
const aboutTarget: ReadonlySet<string> = new Set([
  'WORKSPACE_INTEGRITY',
  'WORKSPACE_COLLECTED',
  'WORKSPACE_REF_NOT_FOUND',
  'WORKSPACE_UNSUPPORTED_FORMAT',
]);

async function freshPlan(
  source: RestoreSource,
  ref: Ref,
  place: RootPlace,
  options: ApplyOptions,
): Promise<RestorePlan> {
  const { signal } = options;
  const unreadable = (error: unknown): unknown =>
    wrapFailure(error, signal, 'materialize-failed', 'the target tree could not be read', {
      root: place.path,
      ref,
    });
  try {
    return await planFor(source, ref, place, options, async (open) => {
      try {
        return await open();
      } catch (error) {
        throw unreadable(error);
      }
    });
  } catch (error) {
    if (isHoldfastError(error) && aboutTarget.has(error.code)) throw unreadable(error);
    if (RestoreTargetError.is(error)) {
      throw new WorkspaceRestoreError('invalid-ref', 'its tree cannot be restored here', {
        root: place.path,
        ref,
        cause: error,
      });
    }
    throw wrapFailure(error, signal, 'reconcile-failed', 'the live tree could not be read', {
      root: place.path,
      ref,
    });
  }
}

/** A plan that was shown: unchanged with the safety checkpoint in view, or it is not committed. */
async function heldPlan(
  source: RestoreSource,
  shown: RestorePlan,
  place: RootPlace,
  options: ApplyOptions,
): Promise<RestorePlan> {
  const detail = planDetail(shown);
  const identity = scannedRoot(shown);
  // A strategy that goes by whole trees cannot use a plan that was made without them.
  const partial = detail?.listed !== undefined && !isSelective(options);
  if (detail === undefined || identity === undefined || partial) {
    const again = await freshPlan(source, shown.ref, place, options);
    if (planDigest(again) === planDigest(shown)) return again;
    throw outdated(place, shown, again);
  }
  place.refuseReplaced(identity);
  const captured = await openCaptured(source, options, detail.listed);
  if (captured === undefined || captured === detail.options.captured) return shown;
  // The same trees: all that can differ is what the safety checkpoint found changed, and what is done about that was said.
  const { onConflict = detail.options.onConflict ?? 'fail' } = options;
  const again = detail.replan({ ...detail.options, captured, onConflict });
  if (onConflict === 'fail' && planDigest(again) !== planDigest(shown)) throw outdated(place, shown, again);
  return again;
}

function outdated(place: RootPlace, shown: RestorePlan, again: RestorePlan): WorkspaceRestoreError {
  const known = new Set(shown.conflicts.map(({ path }) => path));
  const paths = again.conflicts.map(({ path }: Conflict) => path).filter((path) => !known.has(path));
  return new WorkspaceRestoreError(
    'concurrent-change',
    'the plan that was shown no longer holds; plan again',
    {
      root: place.path,
      ref: shown.ref,
      paths,
    },
  );
}

function refuseConflicts(plan: RestorePlan, options: ApplyOptions, place: RootPlace): void {
  if (plan.conflicts.length === 0 || (options.onConflict ?? 'fail') !== 'fail') return;
  const paths = plan.conflicts.map(({ path }) => path);
  throw new WorkspaceRestoreError(
    'concurrent-change',
    `${paths.length} paths were changed by others; look at the plan and choose onConflict`,
    { root: place.path, ref: plan.ref, paths },
  );
}

/** Wraps a failure once: aborts and failures that already say their kind pass. */
export function wrapFailure(
  error: unknown,
  signal: AbortSignal | undefined,
  kind: ConstructorParameters<typeof WorkspaceRestoreError>[0],
  detail: string,
  facts: ConstructorParameters<typeof WorkspaceRestoreError>[2] = {},
): unknown {
  if (signal?.aborted === true && error === signal.reason) return error;
  if (error instanceof TypeError || error instanceof RangeError) return error;
  const known = findCause(error, WorkspaceRestoreError);
  if (known !== undefined && known === error) return error;
  return new WorkspaceRestoreError(known?.kind ?? kind, known?.message ?? detail, { ...facts, cause: error });
}
