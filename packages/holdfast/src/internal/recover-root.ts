import { type Clock, type JsonValue, systemClock } from '@holdfast/base';
import type { SessionJournal } from '@holdfast/journal';
import { isAlive, parseProcessIdentity, processIdentity } from '@holdfast/lease/fs';
import { type Liveness, type RecoveryResult, readOutcomes, recover, sweepScratch } from '@holdfast/restore';

import { rootLock } from '@holdfast/rig';
import { appendAborted, appendRestored } from './root-restore-journal.js';

export interface RecoverRootParts {
  /** Absolute, canonical; its lease is held. */
  readonly root: string;
  /** The root's local journal, open for writing. */
  readonly journal: SessionJournal;
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Brings a root and its local journal to one truth after a crash.
 *
 * 1. Finish or take back what the disk says is open. 2. Append what the journal lacks: the stored event of a committed
 * restore, an abort for one that was taken back or that left nothing on the disk. 3. Remove what both sides have settled.
 * Restores of other journals (a session that works in this root) are recovered on the disk and left for their owners.
 */
export async function recoverRoot({
  root,
  journal,
  clock,
  signal,
}: RecoverRootParts): Promise<RecoveryResult> {
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
  const open = journal.fold.openRestore;
  // The journal is open and the disk knows nothing: the restore ended before its intent, so that nothing was touched.
  if (open !== undefined) await appendAborted(journal, open.restoreId, 'nothing on the disk: never begun');
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
