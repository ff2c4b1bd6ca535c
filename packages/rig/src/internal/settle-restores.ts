import type { SessionJournal } from '@holdfast/journal';
import { type RestoreOutcome, readOutcomes, sweepScratch, WorkspaceRestoreError } from '@holdfast/restore';
import { decodeRestoreRecord, recordsOfRestore } from '@holdfast/session';
import { parseRef, type Ref } from '@holdfast/workspacestore';

import type { AttachedWorkspace } from './attach-workspace.js';
import { compareEntries } from './drift.js';
import { hostName } from './process-owner.js';

/** How the open restore of a session ended, as far as the journal is concerned. */
export type Settlement = 'none' | 'recorded' | 'aborted' | 'elsewhere' | 'mixed';

/**
 * Brings the journal in line with what recovery found on the disk, then removes what restores had left. Afterwards no
 * restore of the session is open.
 *
 * 1. The disk knows the outcome: append what it says. 2. Scratch is lost: look at the files. 3. It happened on another
 * host: it is over. The caller brings `mixed` files back to what they were before the restore.
 * @throws WorkspaceRestoreError (`recovery-refused`) when the files are neither.
 */
export async function settleRestores(
  journal: SessionJournal,
  workspace: AttachedWorkspace,
  signal: AbortSignal | undefined,
): Promise<Settlement> {
  const open = journal.fold.openRestore;
  let settlement: Settlement = 'none';
  if (open !== undefined) {
    const outcomes = workspace.directory.look([]) === 'missing' ? [] : readOutcomes(workspace.root);
    const outcome = outcomes.find(({ restoreId }) => restoreId === open.restoreId);
    settlement =
      outcome === undefined
        ? await settleByFiles(journal, workspace, signal)
        : await settleByOutcome(journal, outcome);
  }
  await sweep(journal, workspace, signal);
  return settlement;
}

async function settleByOutcome(journal: SessionJournal, outcome: RestoreOutcome): Promise<Settlement> {
  if (outcome.phase === 'committed') {
    await journal.appendBatch(recordsOfRestore(decodeRestoreRecord(outcome.event)));
    return 'recorded';
  }
  await abort(journal, outcome.restoreId, 'taken back by recovery');
  return 'aborted';
}

async function settleByFiles(
  journal: SessionJournal,
  workspace: AttachedWorkspace,
  signal: AbortSignal | undefined,
): Promise<Settlement> {
  const open = journal.fold.openRestore;
  if (open === undefined) return 'none';
  const gone = workspace.directory.look([]) === 'missing';
  if (gone || (open.host !== undefined && open.host !== hostName())) {
    await abort(journal, open.restoreId, gone ? 'its root is gone' : 'it ran on another host');
    return 'elsewhere';
  }
  const found = await judgeFiles(workspace, parseRef(open.ref), open.previousRef, signal);
  if (found === 'new') {
    const time = open.time;
    const event = journal.prepare({
      type: 'WorkspaceRestored',
      id: open.restoreId,
      time,
      body: { ref: open.ref },
    });
    await journal.appendBatch(recordsOfRestore({ event, prepared: { restoreId: open.restoreId } }));
    return 'recorded';
  }
  if (found === 'old') {
    await abort(journal, open.restoreId, 'it had changed nothing');
    return 'aborted';
  }
  return 'mixed';
}

/** Whether what the restore was to change is new, old, or some of each. */
async function judgeFiles(
  workspace: AttachedWorkspace,
  ref: Ref,
  previousRef: string | null,
  signal: AbortSignal | undefined,
): Promise<'new' | 'old' | 'mixed'> {
  const target = await workspace.store.openTree(ref, { signal });
  const previous =
    previousRef === null ? undefined : await workspace.store.openTree(parseRef(previousRef), { signal });
  const live = await workspace.store.scan(workspace.root, { ...workspace.capture, target, signal });
  const newer = pathsOf(compareEntries(target.entries, live.entries));
  const older = pathsOf(compareEntries(previous?.entries ?? [], live.entries));
  const touched = pathsOf(compareEntries(previous?.entries ?? [], target.entries));
  const differsFromNew = touched.filter((path) => newer.includes(path));
  const differsFromOld = touched.filter((path) => older.includes(path));
  if (differsFromNew.length === 0) return 'new';
  if (differsFromOld.length === 0) return 'old';
  const neither = differsFromNew.filter((path) => differsFromOld.includes(path));
  if (neither.length === 0 && previous !== undefined) return 'mixed';
  throw new WorkspaceRestoreError(
    'recovery-refused',
    'what an interrupted restore left is lost, and these files are neither the old nor the new ones',
    { root: workspace.root, ref, paths: neither },
  );
}

function pathsOf(differences: readonly { readonly path: string }[]): readonly string[] {
  return differences.map(({ path }) => path);
}

async function abort(journal: SessionJournal, restoreId: string, reason: string): Promise<void> {
  await journal.appendPrivate({
    type: 'restore-aborted',
    id: `${restoreId}.aborted`,
    body: { restoreId, reason },
  });
}

async function sweep(
  journal: SessionJournal,
  workspace: AttachedWorkspace,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (workspace.recovery.action === 'none' && workspace.directory.look([]) === 'missing') return;
  await sweepScratch(workspace.root, {
    settled: (restoreId, session) =>
      session === journal.id && journal.fold.openRestore?.restoreId !== restoreId,
    hostLock: workspace.hostLock,
    scan: async (path) => await workspace.store.scan(path, { ...workspace.capture, signal }),
    signal,
  });
}
