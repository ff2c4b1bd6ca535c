import { isHoldfastError } from '@holdfast/base';
import { LedgerInUseError, type SessionPlacement } from '@holdfast/journal';
import { LeaseHeldError } from '@holdfast/lease';
import { defineRig, type Rig, WorkspacePlacementError } from '@holdfast/rig';

import { journalPlacement, liveError, workspaceFor } from './session-access.js';
import type { LocalStack } from './stack.js';

/**
 * Deletes a session: its journal, and what interrupted restores of it left beside its root. Its files stay, its snapshots
 * until they are collected. `confirm` is told where its files are, where that is known, before anything is done.
 * @throws SessionLiveError (`open`) while a process has it.
 */
export async function deleteSession(
  stack: LocalStack,
  id: string,
  confirm: (placement: SessionPlacement | undefined) => Promise<void>,
  signal: AbortSignal,
): Promise<SessionPlacement | undefined> {
  const placement = await knownPlacement(stack, id, signal);
  await confirm(placement);
  try {
    await rigOver(stack, placement).deleteSession(id, { signal });
  } catch (error) {
    if (LeaseHeldError.is(error)) throw await liveError(stack, id, signal, error);
    throw error;
  }
  return placement;
}

/** A journal that cannot be read can be deleted all the same. */
async function knownPlacement(
  stack: LocalStack,
  id: string,
  signal: AbortSignal,
): Promise<SessionPlacement | undefined> {
  try {
    return await journalPlacement(stack, id, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (LedgerInUseError.is(error)) throw await liveError(stack, id, signal, error);
    if (!isHoldfastError(error)) throw error;
    return undefined;
  }
}

function rigOver(stack: LocalStack, placement: SessionPlacement | undefined): Rig {
  if (placement !== undefined) {
    try {
      const workspace = workspaceFor(stack, placement, { create: true });
      return defineRig(stack.fragment, { workspace, snapshots: { trigger: 'manual' } });
    } catch (error) {
      // Something else stands where the root was: nothing of the session is left there.
      if (!WorkspacePlacementError.is(error)) throw error;
    }
  }
  return defineRig(stack.fragment);
}
