import type { JsonValue } from '@holdfast/base';
import type { SessionJournal } from '@holdfast/journal';
import type { RestoreAborted, RestoreDraft, RestoreJournal, RestoreStarted } from '@holdfast/restore';

import type { FaultLatch } from '../fault.js';
import type { EventLog } from './event-log.js';
import {
  decodeRestoreRecord,
  encodeRestoreRecord,
  type RestoreRecord,
  type RewindRecord,
  recordsOfRestore,
} from './restore-record.js';

export interface SessionRestoreJournalOptions {
  readonly journal: SessionJournal;
  readonly log: EventLog;
  readonly faults: FaultLatch;
  /** The process, in the journal's words. */
  readonly host?: string | undefined;
  /** Identity of the tree as it is now, for a restore that leaves something else than its ref. */
  readonly treeKey: () => Promise<string | undefined>;
  /** The rewind of the conversation that goes with the restore. */
  readonly rewind?: RewindRecord | undefined;
}

/** Records a restore in the session's journal; what cannot be recorded after the tree changed faults the session. */
export function sessionRestoreJournal(options: SessionRestoreJournalOptions): RestoreJournal {
  const { faults, host, journal, log, rewind, treeKey } = options;
  return {
    prepare: (draft: RestoreDraft) =>
      encodeRestoreRecord({
        event: journal.prepare({ type: 'WorkspaceRestored', id: draft.restoreId, body: { ref: draft.ref } }),
        prepared: {
          restoreId: draft.restoreId,
          exact: draft.exact,
          ...(draft.treeKey === undefined ? {} : { treeKey: draft.treeKey }),
        },
        rewind,
      }),
    started: async (record: RestoreStarted) => {
      const { restoreId, ref, strategy, planDigest } = record;
      const { seq } = await log.appendPrivate({
        type: 'restore-started',
        id: `${restoreId}.started`,
        body: {
          restoreId,
          ref,
          previousRef: record.previousRef ?? null,
          safetyRef: record.safetyRef ?? null,
          strategy,
          planDigest,
          ...(host === undefined ? {} : { host }),
          root: { ...record.root } satisfies JsonValue,
        },
      });
      return seq;
    },
    restored: async (event: Uint8Array) => {
      // Whoever lost a lease writes nothing more. The scratch says what happened; the next opening records it.
      const refusal = faults.refusal('terminal');
      if (refusal !== undefined) throw refusal;
      try {
        await journal.appendBatch(recordsOfRestore(await withResult(decodeRestoreRecord(event), treeKey)));
      } catch (error) {
        faults.terminal('restore-append-failed', error);
        throw error;
      }
    },
    aborted: async (record: RestoreAborted) => {
      const { restoreId, reason } = record;
      await log.appendPrivate({
        type: 'restore-aborted',
        id: `${restoreId}.aborted`,
        body: { restoreId, reason },
      });
    },
  };
}

/** What drift is measured against when the result is not exactly the ref. Without it the next opening looks closer. */
async function withResult(
  record: RestoreRecord,
  treeKey: () => Promise<string | undefined>,
): Promise<RestoreRecord> {
  if (record.prepared.treeKey !== undefined) return record;
  const found = await treeKey();
  return found === undefined ? record : { ...record, prepared: { ...record.prepared, treeKey: found } };
}

/**
 * Records a restore that takes back what an interrupted one had begun: the journal knows only of that one, which is open
 * until the files are back and ends with this.
 */
export function settlingRestoreJournal(
  log: EventLog,
  open: { readonly restoreId: string; readonly seq: number },
): RestoreJournal {
  return {
    prepare: () => new TextEncoder().encode(JSON.stringify({ v: 1, settles: open.restoreId })),
    started: async () => await Promise.resolve(open.seq),
    restored: async () => {
      await log.appendPrivate({
        type: 'restore-aborted',
        id: `${open.restoreId}.aborted`,
        body: {
          restoreId: open.restoreId,
          reason: 'its scratch was lost; the files were brought back from the store',
        },
      });
    },
    aborted: async () => {
      await Promise.resolve();
    },
  };
}
