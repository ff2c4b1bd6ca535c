import type { LiveTree, Ref, Tree } from '@holdfast/workspacestore';

import type { PreviewOptions } from './apply-options.js';
import { identityOf } from './internal/signature.js';
import type { RestorePlan } from './plan.js';
import type { PlanOptions } from './plan-options.js';
import { planRestore } from './plan-restore.js';
import { reconcile } from './reconcile.js';
import type { RootIdentity } from './restore-journal.js';
import { insideScratchName, RootPlace } from './scratch.js';
import type { RestoreSource } from './source.js';

const scannedRoots = new WeakMap<RestorePlan, RootIdentity>();

/**
 * Scans a root and plans its restore; writes nothing, takes no lock. The plan can be shown, sent as JSON, and given to
 * `applyRestore`.
 *
 * @param root Absolute canonical path.
 * @throws WorkspaceRestoreError `symlink-root`, `root-replaced`, `path-escape`.
 * @throws RestoreTargetError when the target cannot be restored.
 */
export async function previewRestore(
  source: RestoreSource,
  ref: Ref,
  root: string,
  options: PreviewOptions = {},
): Promise<RestorePlan> {
  using place = RootPlace.open(root, options.fileSystem);
  const target = await source.openTree(ref, { signal: options.signal });
  return await planFor(source, target, place, options);
}

/** Scans and plans; remembers which directory was scanned. */
export async function planFor(
  source: RestoreSource,
  target: Tree,
  place: RootPlace,
  options: PreviewOptions,
): Promise<RestorePlan> {
  const identity = identityOf(place.presentRoot);
  const captured = await openCaptured(source, options);
  const live = await scanLive(source, target, place.path, options);
  place.refuseReplaced(identity);
  const plan = planRestore(live, target, { ...planOptions(options), captured });
  scannedRoots.set(plan, identity);
  return plan;
}

/** Which directory a plan was made from; `undefined` for a plan that came from elsewhere. */
export function scannedRoot(plan: RestorePlan): RootIdentity | undefined {
  return scannedRoots.get(plan);
}

/** The safety checkpoint's tree, if there is one. */
export async function openCaptured(
  source: RestoreSource,
  options: PreviewOptions,
): Promise<Tree | undefined> {
  if (options.captured !== undefined || options.safetyRef === undefined) return options.captured;
  return await source.openTree(options.safetyRef, { signal: options.signal });
}

/** Scans with the target's ignore rules and the caller's, so that what either leaves out is never touched. */
export async function scanLive(
  source: RestoreSource,
  target: Tree,
  root: string,
  options: PreviewOptions,
): Promise<LiveTree> {
  const { scan = {}, signal } = options;
  return await source.scan(root, {
    ...scan,
    ignore: [...(scan.ignore ?? []), ...target.ignore],
    reserved: [...(scan.reserved ?? []), insideScratchName],
    target,
    signal,
  });
}

function planOptions(options: PreviewOptions): PlanOptions {
  const strategy = options.strategy ?? reconcile();
  return {
    strategy: strategy.name,
    paths: options.paths,
    prune: options.prune ?? strategy.prune,
    onConflict: options.onConflict,
    force: options.force,
    foreign: options.foreign,
    ignoredByTarget: (options.scan?.ignore ?? []).length === 0,
  };
}
