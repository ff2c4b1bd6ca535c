import type { SessionJournal } from '@holdfast/journal';
import { readOwner, ScratchUnavailableError, writeOwner } from '@holdfast/restore';

import type { AttachedWorkspace } from './attach-workspace.js';
import { hostName } from './process-owner.js';

/**
 * Notes beside the root that this session has it now, then looks for nested roots once more: of two that are opened at
 * the same time at least one sees the other's note. Where there is no place for the note nothing is noted: such a root
 * cannot be told from a stale one, and is taken for a current one.
 */
export async function noteOwnership(
  workspace: AttachedWorkspace,
  journal: SessionJournal,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (workspace.mode === 'shared') return;
  const { hostLock, root, scratch } = workspace;
  const record = { session: journal.id, epoch: journal.epoch, hostId: hostName(), tip: journal.tip };
  try {
    await writeOwner(root, record, { hostLock, scratch });
  } catch (error) {
    if (!ScratchUnavailableError.is(error)) throw error;
  }
  await workspace.refuseNested(signal);
}

/**
 * Tells whether the session has recorded files elsewhere since it last had this root: then the root is older than the
 * journal, and not the other way round.
 */
export async function isStaleRoot(
  workspace: AttachedWorkspace,
  journal: SessionJournal,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const current = journal.fold.currentWorkspace;
  if (current === undefined || workspace.mode === 'shared') return false;
  const owner = readOwner(workspace.root, journal.id, { scratch: workspace.scratch });
  if (owner === undefined) return false;
  for await (const record of journal.records({ from: current.seq, to: current.seq, signal })) {
    return record.epoch > owner.epoch;
  }
  return false;
}
