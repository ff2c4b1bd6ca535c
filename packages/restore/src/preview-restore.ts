import type { ComparedTrees, LiveTree, Ref, Tree } from '@holdfast/workspacestore';

import type { PreviewOptions } from './apply-options.js';
import { identityOf } from './internal/signature.js';
import type { RestorePlan } from './plan.js';
import type { PlanOptions } from './plan-options.js';
import { planCompared, planRestore } from './plan-restore.js';
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
  return await planFor(source, ref, place, options);
}

/**
 * Scans and plans; remembers which directory was scanned.
 * @param opening Runs what only reads the target, so that its failures can be told from those of the scan.
 */
export async function planFor(
  source: RestoreSource,
  ref: Ref,
  place: RootPlace,
  options: PreviewOptions,
  opening: <T>(open: () => Promise<T>) => Promise<T> = (open) => open(),
): Promise<RestorePlan> {
  const identity = identityOf(place.presentRoot);
  const selective = isSelective(options) && options.paths === undefined;
  const compared = selective ? await compareTrees(source, ref, place.path, options) : undefined;
  let plan: RestorePlan;
  if (compared === undefined) {
    const target = await opening(() => source.openTree(ref, { signal: options.signal }));
    const captured = await openCaptured(source, options, undefined);
    const live = await scanLive(source, target, place.path, options);
    plan = planRestore(live, target, { ...planOptions(options), captured });
  } else {
    const captured = await openCaptured(source, options, compared.listed);
    plan = planCompared(compared, { ...planOptions(options), captured });
  }
  place.refuseReplaced(identity);
  scannedRoots.set(plan, identity);
  return plan;
}

/** Both trees without what is equal; `undefined` where the source cannot tell. */
export async function compareTrees(
  source: RestoreSource,
  ref: Ref,
  root: string,
  options: PreviewOptions,
): Promise<ComparedTrees | undefined> {
  const { scan = {}, signal } = options;
  const reserved = [...(scan.reserved ?? []), insideScratchName];
  return await source.compare?.(root, ref, { ...scan, reserved, signal });
}

/** Whether the strategy goes by the operations alone. */
export function isSelective(options: PreviewOptions): boolean {
  return (options.strategy ?? reconcile()).selective === true;
}

/** Which directory a plan was made from; `undefined` for a plan that came from elsewhere. */
export function scannedRoot(plan: RestorePlan): RootIdentity | undefined {
  return scannedRoots.get(plan);
}

/** The safety checkpoint's tree, if there is one: as much of it as is listed. */
export async function openCaptured(
  source: RestoreSource,
  options: PreviewOptions,
  listed: readonly Uint8Array[] | undefined,
): Promise<Tree | undefined> {
  if (options.captured !== undefined || options.safetyRef === undefined) return options.captured;
  return await source.openTree(options.safetyRef, { directories: listed, signal: options.signal });
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
    restored: options.restored,
    ignoredByTarget: (options.scan?.ignore ?? []).length === 0,
  };
}
