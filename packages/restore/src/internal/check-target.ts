import type { Dir } from '@holdfast/durable';
import type { Tree } from '@holdfast/workspacestore';

import { RestoreTargetError } from '../errors.js';
import { insideScratchName } from '../scratch.js';
import { foldingCollisions } from '../validate-target.js';
import { pathKey } from './path-key.js';
import { shownPath } from './plan-lists.js';

/**
 * Refuses a target with siblings that this file system cannot tell apart. Probes with a file in scratch, and only when
 * the target has such siblings at all.
 * @throws RestoreTargetError `collision`.
 */
export function refuseCollisions(scratch: Dir, target: Tree, restoreId: string): void {
  const [pair] = foldingCollisions(target);
  if (pair === undefined || !folds(scratch, restoreId)) return;
  throw new RestoreTargetError(
    'collision',
    shownPath(pair[1]),
    `this file system cannot tell it from ${JSON.stringify(shownPath(pair[0]))}`,
  );
}

function folds(scratch: Dir, restoreId: string): boolean {
  // One name that differs from its twin by case, and by composition.
  const probe = `probe-${restoreId}-A\u00e9`;
  const twins = [probe.toLowerCase(), probe.normalize('NFD'), probe.toLowerCase().normalize('NFD')];
  scratch.createFile(probe).close();
  try {
    return twins.some((twin) => scratch.lstat(twin) !== undefined);
  } finally {
    scratch.unlink(probe);
  }
}

/**
 * Refuses a target that has something where scratch is, inside the root.
 * @throws RestoreTargetError `reserved`.
 */
export function refuseReserved(target: Tree): void {
  const taken = target.entries.some(({ path }) => pathKey(path) === insideScratchName);
  if (!taken) return;
  throw new RestoreTargetError('reserved', insideScratchName, 'scratch inside the root has this name');
}
