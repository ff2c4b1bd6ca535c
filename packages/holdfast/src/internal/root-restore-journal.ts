import { type BatchInput, parsePreparedEvent, type SessionJournal } from '@holdfast/journal';
import type { RestoreDraft, RestoreJournal, RestoreStarted } from '@holdfast/restore';

/*
 * What is fixed before a restore touches anything and kept in its intent: the event, and beside it the private facts
 * that later openings measure the tree against. As JSON, so that another process can append the same records.
 */
interface PreparedRestore {
  readonly v: 1;
  /** The prepared event in its own encoding. */
  readonly event: string;
  readonly exact: boolean;
  readonly treeKey?: string | undefined;
}

/** Records the restores of a bare command in the root's local journal. */
export function rootRestoreJournal(journal: SessionJournal): RestoreJournal {
  return {
    prepare: ({ restoreId, ref, exact, treeKey }: RestoreDraft) => {
      const event = journal.prepare({ type: 'WorkspaceRestored', id: restoreId, body: { ref } });
      const prepared: PreparedRestore = {
        v: 1,
        event: new TextDecoder().decode(event.bytes),
        exact,
        treeKey,
      };
      return new TextEncoder().encode(JSON.stringify(prepared));
    },
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
  const prepared = JSON.parse(new TextDecoder().decode(bytes)) as PreparedRestore;
  const { id, time, body } = parsePreparedEvent(new TextEncoder().encode(prepared.event));
  const records: readonly BatchInput[] = [
    {
      kind: 'private',
      type: 'restore-prepared',
      id: `${id}.prepared`,
      time,
      body: {
        restoreId: id,
        exact: prepared.exact,
        ...(prepared.treeKey === undefined ? {} : { treeKey: prepared.treeKey }),
      },
    },
    { kind: 'event', type: 'WorkspaceRestored', id, time, body },
  ];
  await journal.appendBatch(records);
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
