import type { Blobs } from '@holdfast/blobs';
import { type Lease, LeaseLostError } from '@holdfast/lease';

import { AppendVerifyError, JournalCorruptError, LedgerConflictError } from '../errors.js';
import type { Appended } from '../event-input.js';
import type { Ledger } from '../ledger.js';
import { JournalFencedError } from '../session-errors.js';
import { journalLedgerName } from '../shared-session-ledgers.js';
import type { Outcome } from './append-queue.js';
import { factOf, refsOf } from './facts.js';
import type { IdWindow } from './id-window.js';
import type { JournalPosition } from './journal-position.js';
import type { NoteKeeper } from './note-keeper.js';
import {
  type PlacedRecord,
  type Placement,
  placeGroups,
  placeIndex,
  type RecordGroup,
} from './place-records.js';
import type { RecordReader } from './record-reader.js';

const maxAttempts = 8;

/** Everything that the writer of one open session works on. */
export interface WriterContext {
  readonly sessionId: string;
  readonly ledger: Ledger;
  readonly blobs: Blobs;
  readonly lease: Lease;
  readonly reader: RecordReader;
  readonly ids: IdWindow;
}

/** Appends groups of records at the end of the journal; called by one caller at a time. */
export class Committer {
  position: JournalPosition;
  notes: NoteKeeper | undefined;
  readonly #context: WriterContext;
  readonly #onFault: (fault: unknown) => void;
  /** Records of appends whose outcome is unknown, by digest: they may turn up at the end of the journal. */
  readonly #unsettled = new Map<string, PlacedRecord>();
  #fault: { readonly error: unknown } | undefined;

  constructor(context: WriterContext, position: JournalPosition, onFault: (fault: unknown) => void) {
    this.#context = context;
    this.position = position;
    this.#onFault = onFault;
  }

  /**
   * 1. Refuse when the lease is lost or a fault was found.
   * 2. Recognise repeats, refuse what does not fit, give places.
   * 3. Note new refs, durably, before the records that name them.
   * 4. Append. A conflict: read what is there (our own records whose reply was lost, or a fence) and begin again.
   */
  async commit(groups: readonly RecordGroup[]): Promise<readonly Outcome<readonly Appended[]>[]> {
    const { sessionId, ledger, blobs, lease } = this.#context;
    let conflict: unknown;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      this.assertUsable();
      if (conflict !== undefined) await this.#resync();
      const placement = await placeGroups(groups, { ...this.#context, position: this.position });
      if (placement.records.length === 0) return placement.outcomes;
      const index = await placeIndex(placement.next, blobs, sessionId, lease.epoch);
      const records = index === undefined ? placement.records : [...placement.records, index];
      await this.#note(records.flatMap(refsOfRecord));
      this.assertUsable();
      try {
        await ledger.appendDefinite(
          journalLedgerName,
          this.position.tip,
          records.map((record) => record.data),
        );
      } catch (error) {
        if (LedgerConflictError.is(error)) {
          conflict = error;
          continue;
        }
        if (AppendVerifyError.is(error)) {
          for (const record of records) this.#unsettled.set(record.digest, record);
        }
        return failed(placement, error);
      }
      this.position = placement.next;
      this.#forgetSettled();
      for (const record of placement.records) this.#context.ids.add(record.id, record.seq);
      await this.notes?.appended(records.length);
      return placement.outcomes;
    }
    throw conflict;
  }

  /** @throws the reason for which nothing may be written any more. */
  assertUsable(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
    const { lease } = this.#context;
    if (lease.signal.aborted) throw lease.signal.reason;
    if (lease.expiresIn() <= 0) throw new LeaseLostError(lease.name, lease.epoch, 'expired');
  }

  async #resync(): Promise<void> {
    try {
      await this.#adopt();
    } catch (error) {
      const final = JournalFencedError.is(error) || JournalCorruptError.is(error);
      throw final ? this.#faulted(error) : error;
    }
  }

  /** Reads what is after our end: our own records whose append was ambiguous are adopted, a fence ends this journal. */
  async #adopt(): Promise<void> {
    const { sessionId, reader, lease, ids } = this.#context;
    const tip = await reader.tip();
    if (tip < this.position.tip) {
      const seq = tip + 1;
      throw new JournalCorruptError(sessionId, 'shorter-than-recorded', { seq });
    }
    const { tip: from, digest: after, fold } = this.position;
    const next = this.position.clone();
    for await (const record of reader.read({ from: from + 1, to: tip, after, epoch: fold.fenceEpoch })) {
      const ours = this.#unsettled.get(record.digest);
      if (ours === undefined && record.epoch > lease.epoch) {
        throw new JournalFencedError(sessionId, lease.epoch, record.epoch);
      }
      if (ours === undefined) {
        throw new JournalCorruptError(sessionId, 'foreign-record', { seq: record.seq });
      }
      next.add(ours);
      if (ours.kind !== 'index') ids.add(ours.id, ours.seq);
    }
    if (next.tip === this.position.tip) return;
    this.position = next;
    this.#forgetSettled();
    await this.notes?.appended(next.tip - from);
  }

  /**
   * What was under way for places that are taken can never land any more. What stands behind our end may be there: the
   * rest of a longer append that began with the same records, and whose reply was lost.
   */
  #forgetSettled(): void {
    for (const [digest, { seq }] of this.#unsettled) {
      if (seq <= this.position.tip) this.#unsettled.delete(digest);
    }
  }

  async #note(refs: readonly string[]): Promise<void> {
    try {
      await this.notes?.beforeAppend(refs);
    } catch (error) {
      throw JournalFencedError.is(error) ? this.#faulted(error) : error;
    }
  }

  #faulted<E>(error: E): E {
    this.#fault ??= { error };
    this.#onFault(error);
    return error;
  }
}

function failed(placement: Placement, error: unknown): readonly Outcome<readonly Appended[]>[] {
  const firstNew = placement.records[0]?.seq ?? 0;
  // Groups that only repeated what is there keep their outcome.
  return placement.outcomes.map((outcome) =>
    'value' in outcome && outcome.value.some(({ seq }) => seq >= firstNew) ? { error } : outcome,
  );
}

function refsOfRecord(record: PlacedRecord): readonly string[] {
  const fact = factOf(record);
  return fact === undefined ? [] : refsOf(fact);
}
