import { dirname } from 'node:path';

import { LeaseHeldError, type Leaser } from '@holdfast/lease';

import { WorkspaceRootNestedError } from '../errors.js';
import { isWithin } from './canonical-root.js';
import { hasScratch } from './has-scratch.js';
import { rootLeaseName } from './resolve-placement.js';

const rootsByLeaser = new WeakMap<Leaser, Set<string>>();

/**
 * Notes that a root is live, so that no root above or below it is opened on the same leaser in this process. Dispose the
 * result when it is not any more.
 * @throws WorkspaceRootNestedError.
 */
export function claimLiveRoot(leaser: Leaser, root: string): Disposable {
  const roots = rootsByLeaser.get(leaser) ?? new Set<string>();
  rootsByLeaser.set(leaser, roots);
  for (const other of roots) {
    if (other !== root && (isWithin(other, root) || isWithin(root, other))) {
      throw new WorkspaceRootNestedError(root, other);
    }
  }
  // The same root again is the lease's business.
  const mine = !roots.has(root);
  roots.add(root);
  return {
    [Symbol.dispose]: () => {
      if (mine) roots.delete(root);
    },
  };
}

/**
 * Looks whether a directory above the root is the live root of another process on the same leaser. Only directories that
 * have been roots are asked about: they have scratch beside or in them.
 * @throws WorkspaceRootNestedError.
 */
export async function refuseLiveAncestors(
  leaser: Leaser,
  root: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let above = dirname(root); above !== dirname(above); above = dirname(above)) {
    if (!hasScratch(above)) continue;
    try {
      await using _free = await leaser.acquire(rootLeaseName(above), { signal });
    } catch (error) {
      if (LeaseHeldError.is(error)) throw new WorkspaceRootNestedError(root, above);
      throw error;
    }
  }
}
