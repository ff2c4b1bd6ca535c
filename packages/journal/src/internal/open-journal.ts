import { type Clock, type Random, randomHex, throwIfAborted } from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import { type Lease, LeaseLostError, type LeaseOwner } from '@holdfast/lease';

import { AppendVerifyError, LedgerConflictError } from '../errors.js';
import type { Ledger } from '../ledger.js';
import {
  JournalEpochError,
  JournalFencedError,
  SessionExistsError,
  SessionNotFoundError,
} from '../session-errors.js';
import { SessionJournal } from '../session-journal.js';
import type { SessionNotes } from '../session-ledgers.js';
import { journalLedgerName } from '../shared-session-ledgers.js';
import { Committer, type WriterContext } from './committer.js';
import { factOf, refsOf } from './facts.js';
import { IdWindow } from './id-window.js';
import type { JournalPosition } from './journal-position.js';
import { loadPosition, replay } from './load-position.js';
import { checkRefsNote, NoteKeeper, readRefsNote } from './note-keeper.js';
import { place, placeIndex } from './place-records.js';
import { checkRecord } from './prepare-record.js';
import { RecordReader } from './record-reader.js';

const maxFenceAttempts = 64;

export interface OpenJournalFacts {
  readonly sessionId: string;
  readonly mode: 'create' | 'open';
  readonly adopt: boolean;
  readonly title: string | undefined;
  readonly owner: LeaseOwner | undefined;
  readonly ledger: Ledger;
  readonly lease: Lease;
  readonly blobs: Blobs;
  readonly notes: SessionNotes | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal | undefined;
  readonly onClosed: () => void;
}

/**
 * Opens a journal for writing, under a lease that the caller holds.
 *
 * 1. Find where the journal stands, and compare with the highest acknowledged tip; or read all of it, to adopt it.
 * 2. Refuse a lease whose epoch is not above the highest fence: it was taken over, or leases were reset.
 * 3. Append a fence record at the present tip: from then on a predecessor conflicts for ever. A conflict means that the
 *    predecessor appended once more: read that and try again while the lease holds.
 */
export async function openJournal(facts: OpenJournalFacts): Promise<SessionJournal> {
  const { sessionId, ledger, blobs, lease, notes, clock, signal } = facts;
  const reader = new RecordReader(sessionId, ledger, blobs);
  const ids = new IdWindow();
  const context: WriterContext = { sessionId, ledger, blobs, lease, reader, ids };
  const note = notes === undefined || facts.adopt ? undefined : await readRefsNote(notes, sessionId, signal);
  const position = await loadPosition(reader, ids, signal);
  let refs: Iterable<string> = [];
  if (facts.adopt) refs = await refsOfWholeJournal(reader, position.tip, signal);
  else if (notes !== undefined) refs = await checkRefsNote(note, reader, position, signal);
  if (facts.mode === 'create' && position.tip > 0) throw new SessionExistsError(sessionId);
  if (facts.mode === 'open' && position.tip === 0) throw new SessionNotFoundError(sessionId);
  if (lease.epoch <= position.fold.fenceEpoch) throw await outranked(facts, position.fold.fenceEpoch);

  const faults = new AbortController();
  const committer = new Committer(context, position, (fault) => {
    faults.abort(fault);
  });
  const opened: { journal?: SessionJournal } = {};
  if (notes !== undefined) {
    committer.notes = new NoteKeeper({
      notes,
      sessionId,
      epoch: lease.epoch,
      clock,
      refs,
      adopt: facts.adopt,
      position: () => committer.position,
      flushSoon: () => {
        // Best effort by time; the next append repeats it where it matters. Never after the lease is lost.
        const flush = async (): Promise<void> => {
          if (!faults.signal.aborted) await committer.notes?.flush();
        };
        opened.journal?.between(flush).catch(() => undefined);
      },
    });
    // Before the first record: a journal without its note would look damaged.
    await committer.notes.write();
  }
  committer.position = await fence(facts, context, position);
  await committer.notes?.appended(1);
  // Others must see at once that the session exists.
  if (facts.mode === 'create') await committer.notes?.flush();
  forwardLoss(lease, faults);
  opened.journal = new SessionJournal({
    context,
    committer,
    faults,
    notes,
    clock,
    random: facts.random,
    onClosed: facts.onClosed,
  });
  return opened.journal;
}

/** Reads everything, which checks everything, and returns every ref that is named. */
async function refsOfWholeJournal(
  reader: RecordReader,
  tip: number,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> {
  const refs = new Set<string>();
  for await (const record of reader.read({ from: 1, to: tip, signal })) {
    const fact = factOf(await reader.resolve(record, signal));
    for (const ref of fact === undefined ? [] : refsOf(fact)) refs.add(ref);
  }
  return refs;
}

/**
 * Why a lease does not outrank the journal's highest fence: somebody took it over between the grant and this look, which
 * is the same fact as a conflict while fencing; or it still stands, and then its leaser does not know this journal.
 */
async function outranked(
  { sessionId, ledger, lease, signal }: OpenJournalFacts,
  fenceEpoch: number,
): Promise<JournalFencedError | JournalEpochError> {
  try {
    await lease.check({ signal });
  } catch (error) {
    if (!LeaseLostError.is(error)) throw error;
    return new JournalFencedError(sessionId, lease.epoch, fenceEpoch, { cause: error });
  }
  return new JournalEpochError(sessionId, lease.epoch, fenceEpoch, !ledger.supports.shared);
}

function forwardLoss(lease: Lease, faults: AbortController): void {
  const lose = (): void => {
    faults.abort(lease.signal.reason);
  };
  if (lease.signal.aborted) lose();
  else lease.signal.addEventListener('abort', lose, { once: true });
}

async function fence(
  facts: OpenJournalFacts,
  context: WriterContext,
  found: JournalPosition,
): Promise<JournalPosition> {
  const { sessionId, lease, ledger, blobs, reader, ids } = context;
  const { epoch } = lease;
  const time = Math.floor(facts.clock.now());
  const bodyText = JSON.stringify(facts.owner === undefined ? {} : { owner: facts.owner });
  const fenceDraft = { kind: 'fence', id: randomHex(facts.random, 16), epoch, time, bodyText } as const;
  let position = found;
  let failure: unknown;
  for (let attempt = 0; attempt < maxFenceAttempts; attempt += 1) {
    throwIfAborted(facts.signal);
    throwIfAborted(lease.signal);
    const next = position.clone();
    const records = [place(next, fenceDraft, { kind: 'fence', type: undefined, body: null })];
    if (facts.mode === 'create' && facts.title !== undefined) {
      const input = { kind: 'private', type: 'title', body: { title: facts.title }, time } as const;
      const title = checkRecord(input, { epoch, now: time, random: facts.random });
      records.push(place(next, title.draft, title));
    }
    const index = await placeIndex(next, blobs, sessionId, epoch);
    if (index !== undefined) records.push(index);
    try {
      const data = records.map((record) => record.data);
      await ledger.appendDefinite(journalLedgerName, position.tip, data, { signal: facts.signal });
      for (const record of records) if (record.kind !== 'index') ids.add(record.id, record.seq);
      return next;
    } catch (error) {
      if (!LedgerConflictError.is(error) && !AppendVerifyError.is(error)) throw error;
      failure = error;
    }
    position = position.clone();
    await replay(reader, position, ids, await reader.tip(facts.signal), facts.signal);
    // An append of unknown outcome may have landed after all.
    if (ids.seqOf(fenceDraft.id) !== undefined) return position;
    if (facts.mode === 'create' && position.tip > 0) throw new SessionExistsError(sessionId);
    if (position.fold.fenceEpoch >= epoch) {
      throw new JournalFencedError(sessionId, epoch, position.fold.fenceEpoch);
    }
  }
  throw failure;
}
