import { type Clock, type JsonValue, systemClock } from '@holdfast/base';
import type { SessionJournal } from '@holdfast/journal';
import { isAlive, parseProcessIdentity, processIdentity } from '@holdfast/lease/fs';
import {
  type Liveness,
  type RecoveryResult,
  readOutcomes,
  recover,
  sweepScratch,
  WorkspaceRestoreError,
} from '@holdfast/restore';

import { rootLock } from '@holdfast/rig';
import { recordsOfRestore } from '@holdfast/session';
import { parseRef, type WorkspaceStore } from '@holdfast/workspacestore';

import { appendAborted, appendRestored } from './root-restore-journal.js';

export interface RecoverRootParts {
  /** Absolute, canonical; its lease is held. */
  readonly root: string;
  /** The root's local journal, open for writing. */
  readonly journal: SessionJournal;
  readonly store: WorkspaceStore;
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Brings a root and its local journal to one truth after a crash.
 *
 * 1. Finish or take back what the disk says is open. 2. Append what the journal lacks: the stored event of a committed
 * restore, an abort for one that was taken back; where the disk knows nothing, the files decide. 3. Remove what both sides have settled.
 * Restores of other journals (a session that works in this root) are recovered on the disk and left for their owners.
 */
export async function recoverRoot(parts: RecoverRootParts): Promise<RecoveryResult> {
  const { root, journal, clock, signal } = parts;
  const hostLock = rootLock(root, { clock: clock ?? systemClock, signal });
  const recovered = await recover(root, {
    isAlive: ownerLiveness,
    hostLock,
    self: processIdentity(),
    clock,
    signal,
  });
  for (const outcome of readOutcomes(root)) {
    if (outcome.session !== journal.id) continue;
    if (journal.fold.openRestore?.restoreId !== outcome.restoreId) continue;
    if (outcome.phase === 'committed') await appendRestored(journal, outcome.event);
    else await appendAborted(journal, outcome.restoreId, 'undone by recovery');
  }
  await settleWithoutScratch(parts);
  await sweepScratch(root, {
    settled: (restoreId, session) =>
      session === journal.id && journal.fold.openRestore?.restoreId !== restoreId,
    hostLock,
    clock,
    signal,
  });
  return recovered;
}

function ownerLiveness(owner: JsonValue): Liveness {
  const identity = parseProcessIdentity(owner);
  return identity === undefined ? 'unknown' : isAlive(identity);
}

/**
 * The journal has an open restore and the disk knows nothing of it: it ended before its first change, or somebody removed
 * its scratch. The files decide.
 * @throws WorkspaceRestoreError (`recovery-refused`) once when they are neither the old nor the new tree; nothing is
 * changed, the journal is closed, and the safety checkpoint is named.
 */
async function settleWithoutScratch({ root, journal, store, signal }: RecoverRootParts): Promise<void> {
  const open = journal.fold.openRestore;
  if (open === undefined) return;
  const { restoreId } = open;
  const before = open.safetyRef ?? open.previousRef;
  const { treeKey } = await store.scan(root, { signal });
  const treeKeyOf = async (ref: string): Promise<string> =>
    (await store.openTree(parseRef(ref), { signal })).treeKey;
  if (before !== null && treeKey === (await treeKeyOf(before))) {
    await appendAborted(journal, restoreId, 'it had changed nothing');
    return;
  }
  if (treeKey === (await treeKeyOf(open.ref))) {
    const event = journal.prepare({ type: 'WorkspaceRestored', id: restoreId, body: { ref: open.ref } });
    await journal.appendBatch(recordsOfRestore({ event, prepared: { restoreId, treeKey } }));
    return;
  }
  await appendAborted(
    journal,
    restoreId,
    'its scratch is gone; the files are neither the old nor the new tree',
  );
  const undo = before === null ? '' : `; restore ${before} to get back what was there before it`;
  throw new WorkspaceRestoreError(
    'recovery-refused',
    `what an interrupted restore had prepared is gone, and the files are neither the old nor the new tree${undo}`,
    { root, restoreId },
  );
}
