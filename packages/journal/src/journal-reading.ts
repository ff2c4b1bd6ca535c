import { textOf, throwIfAborted } from '@holdfast/base';

import { JournalCorruptError, LedgerClosedError } from './errors.js';
import type { SessionEvent } from './event-input.js';
import type { SessionFold } from './fold.js';
import { type Fact, factOf } from './internal/facts.js';
import { JournalPosition } from './internal/journal-position.js';
import { equalJson } from './internal/json-text.js';
import { indexesBack } from './internal/load-position.js';
import type { RecordReader } from './internal/record-reader.js';
import { stickyIterator } from './internal/sticky-iterator.js';
import {
  type CheckpointInfo,
  checkpointOf,
  findCheckpointForTurn,
  type NeededRef,
  neededRefsOf,
} from './journal-queries.js';
import type { ResolvedRecord } from './record.js';

export interface JournalCallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface RecordsOptions extends JournalCallOptions {
  /** First sequence, inclusive. Default 1. */
  readonly from?: number | undefined;
  /** Last sequence, inclusive; bounded by the tip. Default: the tip. */
  readonly to?: number | undefined;
}

export interface EventsOptions extends RecordsOptions {
  /** Only events of this loop. */
  readonly loop?: string | undefined;
}

export interface FollowEventsOptions {
  /** First sequence to look at. Default 1. */
  readonly from?: number | undefined;
  /** Only events of this loop. */
  readonly loop?: string | undefined;
  /** Ends the following; the iteration then rejects with this signal's reason. */
  readonly signal: AbortSignal;
}

/** What a check of the whole journal found to be in order. */
export interface JournalVerification {
  readonly records: number;
  readonly events: number;
  readonly offloaded: number;
}

/** @internal */
export interface ReadingSource {
  readonly sessionId: string;
  readonly reader: RecordReader;
  position(): JournalPosition;
  /** Throws when the journal is closed. */
  checkOpen(): void;
}

/** Everything that reads a session's journal: the same for its owner and for a reader without a lease. */
export abstract class JournalReading {
  readonly #source: ReadingSource;

  /** @internal */
  protected constructor(source: ReadingSource) {
    this.#source = source;
  }

  /** The session's id. */
  get id(): string {
    return this.#source.sessionId;
  }

  /** Sequence of the last record that this object knows of. */
  get tip(): number {
    return this.#source.position().tip;
  }

  /** What the journal says about the session's present, as of `tip`. */
  get fold(): SessionFold {
    return this.#source.position().fold;
  }

  /**
   * Yields the public events in order, bounded by the tip at call time. A failure carries the sequence and is sticky.
   * @throws JournalCorruptError when a record contradicts itself, its place, its body or its schema.
   * @throws JournalVersionError when a newer version wrote a record that this one cannot read.
   */
  events(options: EventsOptions = {}): AsyncIterableIterator<SessionEvent> {
    return stickyIterator(this.#events(this.#records(options), options.loop));
  }

  /** Yields every record in order, private ones too, with large bodies fetched and verified. Failures as `events`. */
  records(options: RecordsOptions = {}): AsyncIterableIterator<ResolvedRecord> {
    return stickyIterator(this.#records(options));
  }

  /** Yields the public events from `from` on, then waits for new ones. Failures as `events`. */
  follow(options: FollowEventsOptions): AsyncIterableIterator<SessionEvent> {
    return stickyIterator(this.#events(this.#follow(checkFrom(options.from), options.signal), options.loop));
  }

  /** Returns the session's checkpoints in order, with trigger, cause, time and size. */
  async checkpoints(options: JournalCallOptions = {}): Promise<readonly CheckpointInfo[]> {
    const facts = await this.#facts(options.signal);
    return facts.map(checkpointOf).filter((checkpoint) => checkpoint !== undefined);
  }

  /**
   * Returns the checkpoint that shows the tree as the turn left it: the last one that names the turn as its cause, else
   * the first one after the turn's end before another turn began; `undefined` when there is none.
   */
  async checkpointForTurn(
    turn: string,
    options: JournalCallOptions = {},
  ): Promise<CheckpointInfo | undefined> {
    return findCheckpointForTurn(await this.#facts(options.signal), turn);
  }

  /** Returns every ref that the journal names, each once: what garbage collection must keep for this session. */
  async neededRefs(options: JournalCallOptions = {}): Promise<readonly NeededRef[]> {
    return neededRefsOf(await this.#facts(options.signal));
  }

  /**
   * Reads the whole journal and checks everything: digests, chain, epochs, bodies, schemas, and that the fold of the
   * index records is the fold of the records.
   * @throws JournalCorruptError at the first thing that does not hold.
   */
  async verify(options: JournalCallOptions = {}): Promise<JournalVerification> {
    const { sessionId } = this.#source;
    const replayed = JournalPosition.beginningOf(sessionId);
    let offloaded = 0;
    for await (const record of this.#records(options)) {
      if (record.kind === 'index' && !equalJson(record.body, replayed.indexBody())) {
        throw new JournalCorruptError(sessionId, 'index-invalid', { seq: record.seq });
      }
      if (record.offloaded) offloaded += 1;
      replayed.add(record);
    }
    return { records: replayed.tip, events: replayed.fold.events, offloaded };
  }

  async *#records(options: RecordsOptions): AsyncGenerator<ResolvedRecord, void, undefined> {
    const { reader } = this.#source;
    this.#source.checkOpen();
    throwIfAborted(options.signal);
    const from = checkFrom(options.from);
    const to = Math.min(options.to ?? Number.MAX_SAFE_INTEGER, this.tip);
    yield* this.#resolved(reader.read({ from, to, signal: options.signal }), options.signal);
  }

  async *#follow(from: number, signal: AbortSignal): AsyncGenerator<ResolvedRecord, void, undefined> {
    this.#source.checkOpen();
    yield* this.#resolved(this.#source.reader.follow(from, signal), signal);
  }

  async *#resolved(
    records: AsyncIterable<Parameters<RecordReader['resolve']>[0]>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ResolvedRecord, void, undefined> {
    try {
      for await (const record of records) {
        this.#source.checkOpen();
        yield await this.#source.reader.resolve(record, signal);
      }
    } catch (error) {
      // The ledger below is closed with the journal; callers know the journal.
      if (LedgerClosedError.is(error)) this.#source.checkOpen();
      throw error;
    }
  }

  async *#events(
    records: AsyncIterable<ResolvedRecord>,
    loop: string | undefined,
  ): AsyncGenerator<SessionEvent, void, undefined> {
    for await (const record of records) {
      if (record.kind !== 'event') continue;
      if (loop !== undefined && record.loop !== loop) continue;
      yield eventOf(record);
    }
  }

  /** Facts of the whole journal: from index records where there are any, else from the records. */
  async #facts(signal: AbortSignal | undefined): Promise<readonly Fact[]> {
    this.#source.checkOpen();
    throwIfAborted(signal);
    const { reader } = this.#source;
    const { lastIndex, lastIndexDigest, facts: tail } = this.#source.position();
    if (lastIndex === 0) return tail;
    const newest = { previousIndex: lastIndex, previousDigest: lastIndexDigest };
    const { indexes, unread } = await indexesBack(reader, newest, 0, signal);
    const facts: Fact[] = [];
    for await (const record of reader.read({ from: 1, to: unread, signal })) {
      const fact = factOf(await reader.resolve(record, signal));
      if (fact !== undefined) facts.push(fact);
    }
    for (const index of indexes) facts.push(...index.body.facts);
    facts.push(...tail);
    return facts;
  }
}

function eventOf(record: ResolvedRecord): SessionEvent {
  const { seq, id, type, time, epoch, loop, body, extra } = record;
  return { seq, id, type, time, epoch, loop, body, extra } as SessionEvent;
}

function checkFrom(from: number | undefined): number {
  if (from === undefined) return 1;
  if (!Number.isSafeInteger(from) || from < 1) {
    throw new RangeError(`from must be a whole number of at least 1, found ${textOf(from)}`);
  }
  return from;
}
