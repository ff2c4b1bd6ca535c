import type { JsonValue } from '@holdfast/base';
import { type Clock, type Random } from '@holdfast/base';
import type { Lease } from '@holdfast/lease';

import type {
  Appended,
  BatchInput,
  EventInput,
  PreparedEvent,
  PrivateInput,
  SessionEvent,
} from './event-input.js';
import { AppendQueue } from './internal/append-queue.js';
import type { Committer, WriterContext } from './internal/committer.js';
import type { RecordGroup } from './internal/place-records.js';
import {
  type CheckedRecord,
  checkRecord,
  offload,
  preparedOf,
  type RecordInput,
} from './internal/prepare-record.js';
import { type JournalCallOptions, JournalReading } from './journal-reading.js';
import { JournalClosedError } from './session-errors.js';
import type { SessionNotes } from './session-ledgers.js';

/** @internal */
export interface JournalParts {
  readonly context: WriterContext;
  readonly committer: Committer;
  readonly faults: AbortController;
  readonly notes: SessionNotes | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once, after everything was closed. */
  readonly onClosed: () => void;
}

/**
 * The journal of a session that this process owns: reading, and appending under a lease. A predecessor was shut out when
 * it was opened, and it shuts itself out when its lease is lost.
 */
export class SessionJournal extends JournalReading implements AsyncDisposable {
  readonly #parts: JournalParts;
  readonly #queue: AppendQueue<RecordGroup, readonly Appended[]>;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: JournalParts) {
    const { context, committer } = parts;
    super({
      sessionId: context.sessionId,
      reader: context.reader,
      position: () => committer.position,
      checkOpen: () => {
        if (this.#closing !== undefined) throw new JournalClosedError('session-journal');
      },
    });
    this.#parts = parts;
    this.#queue = new AppendQueue(
      (groups) => committer.commit(groups),
      (group) => group.reduce((bytes, record) => bytes + record.draft.bodyText.length, 0),
    );
  }

  /** Epoch of the lease; every record of this owner carries it. */
  get epoch(): number {
    return this.#parts.context.lease.epoch;
  }

  get lease(): Lease {
    return this.#parts.context.lease;
  }

  /**
   * Aborted once, when nothing can be appended any more: the lease was lost, another owner fenced this one, damage was
   * found, or the journal was closed. Its reason is the error that appends then reject with.
   */
  get signal(): AbortSignal {
    return this.#parts.faults.signal;
  }

  /**
   * Appends an event; resolves when it is durable. Repeating an id with equal content returns the first record, within
   * the last 4,096 records. Point of no return: the write to the ledger; an abort while it waits for its turn has no
   * effect.
   * @throws EventInvalidError before anything is written.
   * @throws IdempotencyCollisionError when the id was used for other content.
   * @throws JournalFencedError when another owner opened the session; LeaseLostError when the lease is gone.
   * @throws AppendVerifyError when it is unknown whether the event was written; appending it again with the same id, or
   * anything else, continues correctly.
   */
  async append<const T extends string>(
    event: EventInput<T> | PreparedEvent,
    options: JournalCallOptions = {},
  ): Promise<Appended> {
    const [appended] = await this.#submit([{ kind: 'event', ...eventFields(event) }], options.signal);
    return appended as Appended;
  }

  /** Appends a private record: replayed and folded, never part of the event stream. Otherwise as `append`. */
  async appendPrivate<const T extends string>(
    record: PrivateInput<T>,
    options: JournalCallOptions = {},
  ): Promise<Appended> {
    const { type, body, id, time } = record;
    const [appended] = await this.#submit([{ kind: 'private', type, body, id, time }], options.signal);
    return appended as Appended;
  }

  /** Appends several records together or not at all. Otherwise as `append`. */
  async appendBatch(
    records: readonly BatchInput[],
    options: JournalCallOptions = {},
  ): Promise<readonly Appended[]> {
    if (records.length === 0 || records.length > maxBatchRecords) {
      throw new RangeError(`a batch has 1 to ${String(maxBatchRecords)} records`);
    }
    const inputs = records.map((record): RecordInput => {
      const { type, body, id, time } = record;
      return record.kind === 'event'
        ? { kind: 'event', ...eventFields(record) }
        : { kind: 'private', type, body, id, time };
    });
    return await this.#submit(inputs, options.signal);
  }

  /**
   * Appends an event of another session's journal as it is: id, time, loop and unknown members included, and types that
   * only a newer version knows. Otherwise as `append`.
   */
  async appendCopy(event: SessionEvent, options: JournalCallOptions = {}): Promise<Appended> {
    const { type, body, id, time, loop, extra } = event;
    const input: RecordInput = { kind: 'event', type, body, id, time, loop, extra, copied: true };
    const [appended] = await this.#submit([input], options.signal);
    return appended as Appended;
  }

  /**
   * Checks and stamps an event now, so that nothing but its append can fail later.
   * @throws EventInvalidError naming what is wrong.
   */
  prepare<const T extends string>(event: EventInput<T>): PreparedEvent {
    return preparedOf(this.#check({ kind: 'event', ...eventFields(event) }));
  }

  /** Gives the session a title; the last one counts. */
  async setTitle(title: string, options: JournalCallOptions = {}): Promise<Appended> {
    return await this.appendPrivate({ type: 'title', body: { title } }, options);
  }

  /**
   * Adds facts to the session's `owner` note, such as the socket at which this owner can be reached. Nothing happens
   * where the ledgers keep no notes.
   */
  async announce(
    facts: Readonly<Record<string, JsonValue>>,
    options: JournalCallOptions = {},
  ): Promise<void> {
    this.#assertWritable();
    const { notes, context } = this.#parts;
    if (notes === undefined) return;
    await this.#queue.run(async () => {
      const before = decodeOwner(await notes.read(context.sessionId, 'owner', options));
      const bytes = new TextEncoder().encode(JSON.stringify({ ...before, ...facts }));
      await notes.write(context.sessionId, 'owner', bytes, options);
    });
  }

  /**
   * Ends the journal: waits for appends under way, writes the notes, closes the ledger, releases the lease. Idempotent;
   * afterwards everything rejects. After a loss of the lease nothing is written.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { committer, context, faults, onClosed } = this.#parts;
    await this.#queue.idle();
    const failures: unknown[] = [];
    const attempt = async (step: () => Promise<void>): Promise<void> => {
      await step().catch((error: unknown) => failures.push(error));
    };
    committer.notes?.stop();
    if (!this.signal.aborted) await attempt(async () => await committer.notes?.flush());
    if (!this.signal.aborted) faults.abort(new JournalClosedError('session-journal'));
    await attempt(() => context.ledger.close());
    await attempt(() => context.lease.release());
    onClosed();
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'closing a session journal failed');
  }

  async #submit(
    inputs: readonly RecordInput[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Appended[]> {
    this.#assertWritable();
    const { context } = this.#parts;
    const checked = inputs.map((input) => this.#check(input));
    return await this.#queue.submit(async () => {
      const group: CheckedRecord[] = [];
      for (const record of checked) {
        group.push({ ...record, draft: await offload(context.blobs, context.sessionId, record.draft) });
      }
      return group;
    }, signal);
  }

  #check(input: RecordInput): CheckedRecord {
    const { clock, random } = this.#parts;
    return checkRecord(input, { epoch: this.epoch, now: clock.now(), random });
  }

  #assertWritable(): void {
    if (this.#closing !== undefined) throw new JournalClosedError('session-journal');
    if (this.signal.aborted) throw this.signal.reason;
  }

  /** @internal Runs between two commits. */
  between(task: () => Promise<void>): Promise<void> {
    return this.#queue.run(task);
  }
}

const maxBatchRecords = 64;

function eventFields(event: {
  readonly type: string;
  readonly body: unknown;
  readonly id?: string | undefined;
  readonly loop?: string | undefined;
  readonly time?: number | undefined;
}): Omit<RecordInput, 'kind'> {
  const { type, body, id, loop, time } = event;
  return { type, body, id, loop, time };
}

function decodeOwner(bytes: Uint8Array | undefined): Readonly<Record<string, JsonValue>> {
  if (bytes === undefined) return {};
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Readonly<Record<string, JsonValue>>;
  } catch {
    return {};
  }
}
