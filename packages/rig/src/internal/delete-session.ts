import { recover, sweepScratch, WorkspaceRestoreError } from '@holdfast/restore';

import { rootLock } from '../root-lock.js';
import { rootOf } from './attach-workspace.js';
import { hasScratch } from './has-scratch.js';
import { ownerLiveness, processOwner } from './process-owner.js';
import type { RigDefinition } from './rig-definition.js';
import { RootDirectory } from './root-directory.js';

export interface DeleteCall {
  readonly removeRoot: boolean;
  readonly signal: AbortSignal | undefined;
}

// 1. The journal. 2. What interrupted restores of it left in the root is settled, then removed. 3. The root itself, when
// it is the session's own and the caller wants it. All under the session's lease: somebody may begin one of the same id.
export async function deleteSession(definition: RigDefinition, id: string, call: DeleteCall): Promise<void> {
  const { placement, sessionStore } = definition;
  const { signal } = call;
  const also =
    placement === undefined
      ? undefined
      : async () => await clearRoot(definition, rootOf(placement, id), id, call);
  await sessionStore.delete(id, { also, signal });
}

async function clearRoot(
  definition: RigDefinition,
  root: string,
  id: string,
  { removeRoot, signal }: DeleteCall,
): Promise<void> {
  if (hasScratch(root)) await clearScratch(definition, root, id, signal);
  if (!removeRoot || definition.placement?.placement.mode !== 'per-session') return;
  const directory = new RootDirectory(root);
  if (directory.look([]) !== 'missing') await directory.remove();
  await directory.sweep();
}

/** What a live session of the same root is in the middle of stays, and so does everything beside it. */
async function clearScratch(
  definition: RigDefinition,
  root: string,
  id: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { clock } = definition;
  const hostLock = rootLock(root, { clock, signal });
  try {
    await recover(root, { isAlive: ownerLiveness, self: processOwner(), hostLock, clock, signal });
  } catch (error) {
    if (WorkspaceRestoreError.is(error) && error.kind === 'recovery-refused') return;
    throw error;
  }
  const settled = (_restoreId: string, session: string): boolean => session === id;
  await sweepScratch(root, { settled, deleted: id, hostLock, clock, signal });
}
