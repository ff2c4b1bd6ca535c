import type { Leaser } from '@holdfast/lease';

import { WorkspaceRootNestedError } from '../errors.js';
import { isWithin } from './canonical-root.js';

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
