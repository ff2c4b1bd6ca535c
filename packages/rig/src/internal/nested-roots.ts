import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';

import { type Clock, throwIfAborted } from '@holdfast/base';
import { LeaseHeldError, type Leaser } from '@holdfast/lease';
import { insideScratchName } from '@holdfast/restore';

import { WorkspaceRootNestedError } from '../errors.js';
import { isWithin } from './canonical-root.js';
import { hasScratch } from './has-scratch.js';
import { acquireRootLease, lookingFrom } from './root-lease.js';

export interface NestedRootsOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

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
 * Looks whether a directory above or below the root is the live root of another process on the same leaser. Only
 * directories that have been roots are asked about: they have scratch beside or in them. Reads every directory of the
 * root; links are not followed.
 * @throws WorkspaceRootNestedError.
 */
export async function refuseNestedRoots(
  leaser: Leaser,
  root: string,
  options: NestedRootsOptions,
): Promise<void> {
  for (let above = dirname(root); above !== dirname(above); above = dirname(above)) {
    await refuseLive(leaser, root, above, options);
  }
  const directories = [root];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    throwIfAborted(options.signal);
    for (const entry of await entriesOf(directory)) {
      if (!entry.isDirectory()) continue;
      const below = rootOfScratch(directory, entry.name);
      if (below === undefined) directories.push(`${directory}/${entry.name}`);
      else if (below !== root) await refuseLive(leaser, root, below, options);
    }
  }
}

async function refuseLive(
  leaser: Leaser,
  root: string,
  other: string,
  options: NestedRootsOptions,
): Promise<void> {
  if (!hasScratch(other)) return;
  try {
    await using _free = await acquireRootLease(leaser, other, { ...options, owner: lookingFrom(root) });
  } catch (error) {
    if (LeaseHeldError.is(error)) throw new WorkspaceRootNestedError(root, other);
    throw error;
  }
}

/** The root that a directory of this name is the scratch of. */
function rootOfScratch(directory: string, name: string): string | undefined {
  if (name === insideScratchName) return directory;
  const beside = /^\.(.+)\.holdfast$/.exec(name)?.[1];
  return beside === undefined ? undefined : `${directory}/${beside}`;
}

/** What cannot be read holds no root of somebody who could. */
async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
