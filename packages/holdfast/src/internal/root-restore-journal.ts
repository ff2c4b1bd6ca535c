import type { SessionJournal } from '@holdfast/journal';
import type { RestoreDraft, RestoreJournal, RestoreStarted } from '@holdfast/restore';
import { decodeRestoreRecord, encodeRestoreRecord, recordsOfRestore } from '@holdfast/session';

/** Records the restores of a bare command in the root's local journal, as a session records its own. */
export function rootRestoreJournal(journal: SessionJournal): RestoreJournal {
  return {
    prepare: ({ restoreId, ref, exact, treeKey }: RestoreDraft) =>
      encodeRestoreRecord({
        event: journal.prepare({ type: 'WorkspaceRestored', id: restoreId, body: { ref } }),
        prepared: { restoreId, exact, ...(treeKey === undefined ? {} : { treeKey }) },
      }),
    started: async ({
      restoreId,
      ref,
      previousRef,
      safetyRef,
      strategy,
      planDigest,
      root,
    }: RestoreStarted) => {
      const { seq } = await journal.appendPrivate({
        type: 'restore-started',
        id: `${restoreId}.started`,
        body: {
          restoreId,
          ref,
          previousRef: previousRef ?? null,
          safetyRef: safetyRef ?? null,
          strategy,
          planDigest,
          root: { ...root },
        },
      });
      return seq;
    },
    restored: async (bytes) => {
      await appendRestored(journal, bytes);
    },
    aborted: async ({ restoreId, reason }) => {
      await appendAborted(journal, restoreId, reason);
    },
  };
}

/** Appends what `prepare` fixed. Repeating it is harmless: the records have fixed ids. */
export async function appendRestored(journal: SessionJournal, bytes: Uint8Array): Promise<void> {
  await journal.appendBatch(recordsOfRestore(decodeRestoreRecord(bytes)));
}

/** Ends an open restore that left the old tree. Repeating it is harmless. */
export async function appendAborted(
  journal: SessionJournal,
  restoreId: string,
  reason: string,
): Promise<void> {
  await journal.appendPrivate({
    type: 'restore-aborted',
    id: `${restoreId}.aborted`,
    body: { restoreId, reason },
  });
}
