import { quote, sha256Hex } from '@holdfast/base';
import type { ComparedTrees, LiveEntry, LiveTree, Tree } from '@holdfast/workspacestore';

import { canonicalJson } from './internal/canonical-json.js';
import { keyPath } from './internal/path-key.js';
import { PlanBuilder } from './internal/plan-builder.js';
import { shownPath } from './internal/plan-lists.js';
import type { Operation } from './operation.js';
import type { RestorePlan } from './plan.js';
import type { PlanOptions } from './plan-options.js';
import { validateTarget } from './validate-target.js';

/** What a plan object remembers besides what it shows. */
export interface PlanDetail {
  readonly live: LiveTree;
  readonly target: Tree;
  readonly options: PlanOptions;
  readonly operations: readonly Operation[];
  /** The directories that are listed in both trees; `undefined`: all of them. */
  readonly listed: readonly Uint8Array[] | undefined;
  /** Plans again from the same trees. */
  replan(options: PlanOptions): RestorePlan;
  changedSince(sinceNs: bigint, most?: number): readonly LiveEntry[];
}

// What is shown stays plain JSON; the exact bytes and signatures travel with the object, not in it.
const details = new WeakMap<RestorePlan, PlanDetail>();

/**
 * Compares a live tree with a target tree and says what a restore would do. Pure: nothing is read or written.
 * @throws RestoreTargetError when the target is hostile or broken.
 * @throws WorkspaceRestoreError `path-escape` for a chosen or forced path that leaves the root.
 * @throws RangeError when a chosen path is in neither tree.
 */
export function planRestore(live: LiveTree, target: Tree, options: PlanOptions = {}): RestorePlan {
  return planTrees({ live, target, listed: undefined, unlisted: 0, changedSince: changesOf(live) }, options);
}

/** {@link planRestore} from trees that leave out what is equal; for plans about the whole tree. */
export function planCompared(compared: ComparedTrees, options: PlanOptions): RestorePlan {
  return planTrees(compared, options);
}

type Compared = Omit<ComparedTrees, 'listed'> & { readonly listed: ComparedTrees['listed'] | undefined };

function planTrees(compared: Compared, options: PlanOptions): RestorePlan {
  const { live, target, listed, unlisted, changedSince } = compared;
  validateTarget(target);
  const builder = new PlanBuilder(live, target, options);
  refuseUnknownPaths(builder);
  builder.build();
  const { lists } = builder;
  const plan: RestorePlan = Object.freeze({
    ref: target.ref,
    base: live.treeKey,
    strategy: options.strategy ?? 'reconcile',
    create: Object.freeze(lists.changes('create')),
    replace: Object.freeze(lists.changes('replace')),
    chmod: Object.freeze(lists.changes('chmod')),
    retype: Object.freeze(lists.changes('retype')),
    delete: Object.freeze(lists.changes('delete')),
    mkdir: Object.freeze(lists.changes('mkdir')),
    keep: builder.keep + unlisted,
    omitted: Object.freeze(lists.skipped),
    conflicts: Object.freeze(lists.conflicts),
    bytes: lists.bytes,
    exact: builder.exact,
  });
  const { operations } = lists;
  const replan = (again: PlanOptions): RestorePlan => planTrees(compared, again);
  details.set(plan, Object.freeze({ live, target, options, operations, listed, replan, changedSince }));
  return plan;
}

function changesOf(live: LiveTree): PlanDetail['changedSince'] {
  return (sinceNs, most) =>
    live.entries
      .filter(({ signature }) => signature.ctimeNs >= sinceNs || signature.mtimeNs >= sinceNs)
      .slice(0, most);
}

/** The bytes and signatures behind a plan; `undefined` for an object that did not come from `planRestore`. */
export function planDetail(plan: RestorePlan): PlanDetail | undefined {
  return details.get(plan);
}

/** Identity of what a plan shows: equal digests, equal plans. Survives a round trip through JSON. */
export function planDigest(plan: RestorePlan): string {
  return sha256Hex(new TextEncoder().encode(canonicalJson(plan)));
}

/** Whether a plan changes nothing. */
export function isEmptyPlan(plan: RestorePlan): boolean {
  const { create, replace, chmod, retype, mkdir } = plan;
  return [create, replace, chmod, retype, plan.delete, mkdir].every((list) => list.length === 0);
}

function refuseUnknownPaths(builder: PlanBuilder): void {
  for (const key of builder.selection.keys) {
    if (key === '' || builder.knows(key)) continue;
    throw new RangeError(
      `paths: ${quote(shownPath(keyPath(key)))} is neither in the target nor in the live tree`,
    );
  }
}
