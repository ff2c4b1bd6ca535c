import { concatBytes, type Hints, type Random, randomHex, throwIfAborted } from '@holdfast/base';
import {
  JournalCorruptError,
  LedgerAmbiguousError,
  LedgerBackendError,
  LedgerConflictError,
  LedgerDeletedError,
  type LedgerDriver,
  type LedgerDriverOptions,
  type LedgerRange,
  type LedgerRecord,
  type LedgerSupports,
} from '@holdfast/journal';

import { NatsRequestError } from './errors.js';
import {
  type AppendFrame,
  decodeFrame,
  encodeFrame,
  frameOverhead,
  lastOf,
  recordOf,
} from './internal/append-frame.js';
import type { StoredMessage, Streams } from './internal/streams.js';
import { nameOf, tokenOf } from './internal/subjects.js';

/** The largest record, in bytes. */
export const maxNatsRecordBytes: number = 4 * 1_048_576;

/** Content up to this size is in the message itself, so that a look at the tip stays small. */
const inlineBytes = 128 * 1024;
const rememberedTips = 1_000;
/** How often an append whose place was another one than remembered is tried again. */
const mostTries = 5;

export interface LedgerDriverFacts {
  readonly streams: Streams;
  readonly hints: Hints;
  readonly random: Random;
  readonly prefix: string;
  readonly stream: string;
  readonly durable: boolean;
  /** The most bytes that the server takes in one message. */
  readonly maxMessageBytes: number;
  readonly pollMilliseconds: number;
}

/** The end of a ledger: its last append, as stored. */
interface Tip {
  /** `undefined` when there is no ledger. */
  readonly generation: string | undefined;
  /** Sequence of its last record; 0 when there is none. */
  readonly tip: number;
  /** Sequence of its last message in the stream; 0 when there is none. */
  readonly seq: number;
}

/**
 * One message for each append, on a subject for each ledger. The server stores it only behind the message that the writer
 * saw last; that is the compare-and-set, and the records of an append stand together because they are one message. Content
 * that is too large for it is stored before, under a subject of its own that nothing else refers to.
 */
export class NatsLedgerDriver implements LedgerDriver {
  readonly contract = 'ledger/1' as const;
  readonly supports: LedgerSupports;
  readonly maxRecordBytes: number = maxNatsRecordBytes;
  readonly #facts: LedgerDriverFacts;
  readonly #tips = new Map<string, Tip>();

  constructor(facts: LedgerDriverFacts) {
    this.#facts = facts;
    this.supports = Object.freeze({ follow: true, shared: true, durable: facts.durable });
  }

  storagePaths(): readonly string[] {
    return [];
  }

  async append(
    name: string,
    expectedTip: number,
    records: readonly Uint8Array[],
    options: LedgerDriverOptions,
  ): Promise<void> {
    const { random } = this.#facts;
    let end = this.#tips.get(name);
    if (end?.tip !== expectedTip) end = await this.#tip(name);
    for (let tries = 1; tries <= mostTries && end.tip === expectedTip; tries += 1) {
      throwIfAborted(options.signal);
      const generation = end.generation ?? randomHex(random, 8);
      const parts = await this.#storeParts(name, generation, records, options.signal);
      const frame = { generation, first: expectedTip + 1, previous: end.seq, parts };
      const seq = await this.#publish(name, encodeFrame(frame, records), expectedTip, frame);
      if (seq !== undefined) {
        this.#remember(name, { generation, tip: expectedTip + records.length, seq });
        return;
      }
      await this.#dropParts(name, generation, parts);
      // Another message is the last one. The tip says whether that is a conflict: a ledger that was made anew may be as
      // long as the one that was remembered.
      end = await this.#tip(name);
    }
    throw new LedgerConflictError(name, expectedTip, end.tip === expectedTip ? undefined : end.tip);
  }

  async *read(
    name: string,
    range: LedgerRange,
    options: LedgerDriverOptions,
  ): AsyncGenerator<LedgerRecord, void, undefined> {
    let left = range.limit;
    let wanted = range.reverse ? range.to : range.from;
    const { last, generation } = await this.#end(name, range.to, wanted);
    let message = await this.#find(name, wanted, last);
    for (;;) {
      throwIfAborted(options.signal);
      const frame = message === undefined ? undefined : this.#frame(name, message, wanted);
      if (frame?.generation !== generation || message === undefined || frame === undefined) {
        await this.#end(name, range.to, wanted, generation);
        throw new JournalCorruptError(name, 'missing', { seq: wanted });
      }
      if (wanted < frame.first || wanted > lastOf(frame)) {
        throw new JournalCorruptError(name, 'gap', { seq: wanted });
      }
      const content = frame.content ?? (await this.#content(name, frame, wanted));
      const end = range.reverse ? Math.max(frame.first, range.from) : Math.min(lastOf(frame), range.to);
      for (const step = range.reverse ? -1 : 1; (end - wanted) * step >= 0; wanted += step) {
        if (left === 0) return;
        const data = recordOf(frame, content, wanted);
        if (data === undefined) throw new JournalCorruptError(name, 'digest-mismatch', { seq: wanted });
        left -= 1;
        yield { seq: wanted, data };
      }
      if (left === 0 || wanted < range.from || wanted > range.to) return;
      message = await this.#neighbour(name, message, frame, range.reverse);
    }
  }

  async changed(name: string, tip: number, options: { readonly signal: AbortSignal }): Promise<void> {
    const { streams, hints, pollMilliseconds } = this.#facts;
    const subject = this.#subject(name);
    using _heard = await streams.hear(subject, () => {
      hints.tell(name);
    });
    // What is heard may not be stored yet: then it is looked for again, sooner than without news.
    for (let pause = 1; ; pause = Math.min(pause * 4, pollMilliseconds)) {
      using wait = hints.listen(name);
      if ((await this.tip(name)) !== tip) return;
      await wait.until(pause > 1 ? pause : pollMilliseconds, options.signal);
    }
  }

  async tip(name: string): Promise<number> {
    return (await this.#tip(name)).tip;
  }

  async *list(prefix: string, options: LedgerDriverOptions): AsyncGenerator<string, void, undefined> {
    const { streams, stream } = this.#facts;
    const begin = this.#subject('');
    // The server gives subjects in no order, and cannot be asked for a part of a token.
    const subjects = await streams.subjects(stream, this.#subject('*'));
    const names = subjects.map((subject) => nameOf(subject.slice(begin.length)));
    for (const name of names.filter((one) => one.startsWith(prefix)).sort()) {
      throwIfAborted(options.signal);
      yield name;
    }
  }

  async delete(name: string, options: LedgerDriverOptions): Promise<void> {
    throwIfAborted(options.signal);
    const { streams, stream } = this.#facts;
    this.#tips.delete(name);
    try {
      const last = await streams.last(stream, this.#subject(name));
      if (last === undefined) return;
      await streams.purge(stream, this.#subject(name));
      const generation = decodeFrame(last.data)?.generation;
      if (generation === undefined) return;
      await streams.purge(stream, `${this.#partSubject(name, generation)}.*.*`);
    } catch (error) {
      if (NatsRequestError.is(error) && error.definite) throw error;
      // Without the claim that nothing was written: calling again settles it.
      throw new LedgerBackendError('delete', name, { cause: error, retryable: true });
    }
  }

  async close(): Promise<void> {
    // The connection belongs to whoever opened it.
  }

  #subject(name: string): string {
    return `${this.#facts.prefix}.journal.${tokenOf(name)}`;
  }

  /** Of one generation, so that a deletion takes nothing from whoever makes the ledger anew at the same time. */
  #partSubject(name: string, generation: string): string {
    return `${this.#facts.prefix}.part.${tokenOf(name)}.${generation}`;
  }

  async #tip(name: string): Promise<Tip> {
    const message = await this.#facts.streams.last(this.#facts.stream, this.#subject(name));
    const frame = message === undefined ? undefined : this.#frame(name, message);
    const tip: Tip = {
      generation: frame?.generation,
      tip: frame === undefined ? 0 : lastOf(frame),
      seq: message?.seq ?? 0,
    };
    this.#remember(name, tip);
    return tip;
  }

  /** The most recent ones: what was not remembered is asked for. */
  #remember(name: string, tip: Tip): void {
    this.#tips.delete(name);
    this.#tips.set(name, tip);
    if (this.#tips.size <= rememberedTips) return;
    for (const oldest of this.#tips.keys()) {
      this.#tips.delete(oldest);
      break;
    }
  }

  #frame(name: string, message: StoredMessage, seq?: number): AppendFrame {
    const frame = decodeFrame(message.data);
    if (frame === undefined) throw new JournalCorruptError(name, 'undecodable', { seq });
    return frame;
  }

  /** `undefined` when another message is the last one of the ledger. */
  async #publish(
    name: string,
    bytes: Uint8Array,
    expectedTip: number,
    frame: Pick<AppendFrame, 'previous' | 'generation' | 'parts'>,
  ): Promise<number | undefined> {
    try {
      return await this.#facts.streams.publish(this.#subject(name), bytes, frame.previous);
    } catch (error) {
      this.#tips.delete(name);
      if (!NatsRequestError.is(error) || !error.definite) {
        throw new LedgerAmbiguousError(name, expectedTip, { cause: error });
      }
      await this.#dropParts(name, frame.generation, frame.parts);
      throw error;
    }
  }

  /** Stores what is too large for one message. Nothing refers to it before the append is there. */
  async #storeParts(
    name: string,
    generation: string,
    records: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<AppendFrame['parts']> {
    const { streams, random, maxMessageBytes } = this.#facts;
    // Some is left for what the client adds to a message.
    const room = Math.min(maxMessageBytes, 1_048_576) - 4_096;
    const size = records.reduce((sum, record) => sum + record.length, 0);
    const left = room - frameOverhead(records.length);
    if (left < 0) throw new RangeError(`${records.length} records are too many for one append`);
    if (size <= Math.min(inlineBytes, left)) return undefined;
    const content = concatBytes(records);
    const parts = { id: randomHex(random, 8), count: Math.ceil(content.length / room) };
    for (let at = 0; at < parts.count; at += 1) {
      throwIfAborted(signal);
      const piece = content.subarray(at * room, (at + 1) * room);
      const subject = `${this.#partSubject(name, generation)}.${parts.id}.${at}`;
      try {
        await streams.publish(subject, piece, 0);
      } catch (error) {
        // Whatever became of it, nothing was appended.
        await this.#dropParts(name, generation, parts);
        const { retryable } = error as { retryable?: boolean };
        throw new LedgerBackendError('append', name, {
          cause: error,
          mutation: true,
          retryable: retryable === true,
        });
      }
    }
    return parts;
  }

  /** What stays behind when this fails is removed with the ledger. */
  async #dropParts(name: string, generation: string, parts: AppendFrame['parts']): Promise<void> {
    if (parts === undefined) return;
    const { streams, stream } = this.#facts;
    await streams
      .purge(stream, `${this.#partSubject(name, generation)}.${parts.id}.*`)
      .catch(() => undefined);
  }

  async #content(name: string, frame: AppendFrame, seq: number): Promise<Uint8Array> {
    const { streams, stream } = this.#facts;
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < (frame.parts?.count ?? 0); at += 1) {
      const piece = await streams.last(
        stream,
        `${this.#partSubject(name, frame.generation)}.${frame.parts?.id}.${at}`,
      );
      if (piece === undefined) {
        const now = await this.#tip(name);
        if (now.generation !== frame.generation) throw new LedgerDeletedError(name, seq);
        throw new JournalCorruptError(name, 'body-missing', { seq });
      }
      pieces.push(piece.data);
    }
    return concatBytes(pieces);
  }

  /**
   * The last append. The range of a read was bounded by the tip, so a ledger that is shorter now, or of another generation,
   * was deleted, and perhaps made anew.
   * @throws LedgerDeletedError when it was.
   */
  async #end(
    name: string,
    to: number,
    wanted: number,
    generation?: string,
  ): Promise<{ readonly last: StoredMessage; readonly generation: string }> {
    const last = await this.#facts.streams.last(this.#facts.stream, this.#subject(name));
    if (last === undefined) throw new LedgerDeletedError(name, wanted);
    const frame = this.#frame(name, last, wanted);
    if (lastOf(frame) < to || (generation !== undefined && frame.generation !== generation)) {
      throw new LedgerDeletedError(name, wanted);
    }
    return { last, generation: frame.generation };
  }

  /** The append that holds the record `seq`, which is not behind `last`; `undefined` when there is none. */
  async #find(name: string, seq: number, last: StoredMessage): Promise<StoredMessage | undefined> {
    const { streams, stream } = this.#facts;
    const subject = this.#subject(name);
    if (this.#frame(name, last, seq).first <= seq) return last;
    // Records rise with the sequences of the stream, whoever else writes there. `low` begins at or before the record, and
    // everything from `high` on begins after it.
    let low = await streams.next(stream, subject, 1);
    let high = last.seq;
    while (low !== undefined && lastOf(this.#frame(name, low, seq)) < seq) {
      const middle = Math.floor((low.seq + 1 + high) / 2);
      const found: StoredMessage | undefined = await streams.next(stream, subject, middle);
      if (found !== undefined && found.seq < high && this.#frame(name, found, seq).first <= seq) low = found;
      else if (middle > low.seq + 1) high = middle;
      else return undefined;
    }
    return low;
  }

  async #neighbour(
    name: string,
    message: StoredMessage,
    frame: AppendFrame,
    reverse: boolean,
  ): Promise<StoredMessage | undefined> {
    const { streams, stream } = this.#facts;
    if (!reverse) return await streams.next(stream, this.#subject(name), message.seq + 1);
    return frame.previous === 0 ? undefined : await streams.at(stream, frame.previous);
  }
}
