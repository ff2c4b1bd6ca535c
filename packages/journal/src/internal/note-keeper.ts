import type { Clock } from '@holdfast/base';

import { JournalCorruptError } from '../errors.js';
import { decodeRefsNote, encodeRefsNote, type RefsNote } from '../refs-note.js';
import { JournalFencedError } from '../session-errors.js';
import type { SessionNotes } from '../session-ledgers.js';
import { encodeSummary, summaryOf } from '../session-summary.js';
import { refsOf } from './facts.js';
import type { JournalPosition } from './journal-position.js';
import type { RecordReader } from './record-reader.js';

/** The refs note lags behind the acknowledged tip by fewer than so many appends, and by at most so long. */
export const noteEveryAppends = 16;
export const noteEveryMilliseconds = 1_000;

/**
 * Keeps the notes of an open session. A ref is in the `refs` note before the event that adds it is written, so the note
 * names at least what the journal needs; its tip is at most what was acknowledged, so a shorter journal is damage.
 */
export class NoteKeeper {
  readonly #notes: SessionNotes;
  readonly #sessionId: string;
  readonly #epoch: number;
  readonly #clock: Clock;
  readonly #refs: Set<string>;
  readonly #position: () => JournalPosition;
  readonly #flushSoon: () => void;
  #behind = 0;
  #timer: Disposable | undefined;
  #summary = '';
  #replaceAnything: boolean;

  constructor(facts: {
    readonly notes: SessionNotes;
    readonly sessionId: string;
    readonly epoch: number;
    readonly clock: Clock;
    readonly refs: Iterable<string>;
    readonly position: () => JournalPosition;
    /** Called when a flush is due by time; must run `flush` between two commits. */
    readonly flushSoon: () => void;
    /** The first write does not look at what is there: it may be damaged. */
    readonly adopt: boolean;
  }) {
    this.#notes = facts.notes;
    this.#sessionId = facts.sessionId;
    this.#epoch = facts.epoch;
    this.#clock = facts.clock;
    this.#refs = new Set(facts.refs);
    this.#position = facts.position;
    this.#flushSoon = facts.flushSoon;
    this.#replaceAnything = facts.adopt;
  }

  /** Makes the refs that are about to be used part of the note. */
  async beforeAppend(refs: Iterable<string>): Promise<void> {
    const fresh = [...refs].filter((ref) => !this.#refs.has(ref));
    if (fresh.length === 0 && this.#behind < noteEveryAppends) return;
    for (const ref of fresh) this.#refs.add(ref);
    try {
      await this.#write();
    } catch (error) {
      for (const ref of fresh) this.#refs.delete(ref);
      throw error;
    }
  }

  /** Counts `count` durable records that are about to be acknowledged. */
  async appended(count: number): Promise<void> {
    this.#behind += count;
    if (this.#behind >= noteEveryAppends) {
      // The records are durable whatever happens here; the next append is refused while the note cannot be written.
      await this.flush().catch(() => undefined);
    }
    if (this.#behind > 0) this.#timer ??= this.#clock.schedule(noteEveryMilliseconds, this.#flushSoon);
  }

  /** Writes what is behind: the refs note, and the summary when it changed. */
  async flush(): Promise<void> {
    if (this.#behind > 0) await this.#write();
    await this.writeSummary();
  }

  /** Writes the refs note whatever it says. */
  async write(): Promise<void> {
    await this.#write();
  }

  /** Best effort: a summary that could not be written is rebuilt from the journal when somebody lists. */
  async writeSummary(): Promise<void> {
    const bytes = encodeSummary(summaryOf(this.#sessionId, this.#position().fold));
    const digest = new TextDecoder().decode(bytes.subarray(0, 64));
    if (digest === this.#summary) return;
    try {
      await this.#notes.write(this.#sessionId, 'summary', bytes);
      this.#summary = digest;
    } catch {
      this.#summary = '';
    }
  }

  stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  async #write(): Promise<void> {
    this.stop();
    const { tip, digest } = this.#position();
    const stored = this.#replaceAnything ? undefined : await readRefsNote(this.#notes, this.#sessionId);
    this.#replaceAnything = false;
    if (stored !== undefined && stored.epoch > this.#epoch) {
      throw new JournalFencedError(this.#sessionId, this.#epoch, stored.epoch);
    }
    const note: RefsNote = {
      sessionId: this.#sessionId,
      epoch: this.#epoch,
      tip,
      digest,
      refs: [...this.#refs],
    };
    await this.#notes.write(this.#sessionId, 'refs', encodeRefsNote(note));
    this.#behind = 0;
  }
}

/** Reads and checks the refs note; `undefined` when there is none. */
export async function readRefsNote(
  notes: SessionNotes,
  sessionId: string,
  signal?: AbortSignal,
): Promise<RefsNote | undefined> {
  const bytes = await notes.read(sessionId, 'refs', { signal });
  return bytes === undefined ? undefined : decodeRefsNote(sessionId, bytes);
}

/**
 * Compares the journal that was found with what its refs note says was acknowledged, and returns the noted refs. The note
 * must have been read before the journal was.
 * @throws JournalCorruptError when the journal is shorter, or has another record there, or has no note.
 */
export async function checkRefsNote(
  note: RefsNote | undefined,
  reader: RecordReader,
  position: JournalPosition,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { sessionId } = reader;
  if (note === undefined) {
    if (position.tip === 0) return new Set();
    throw new JournalCorruptError(sessionId, 'refs-unreadable', { detail: 'the refs note is missing' });
  }
  if (position.tip < note.tip) {
    const detail = `the journal ends at record ${String(position.tip)}, record ${String(note.tip)} was acknowledged`;
    throw new JournalCorruptError(sessionId, 'shorter-than-recorded', { seq: position.tip + 1, detail });
  }
  if (note.tip > 0 && (await reader.one(note.tip, signal)).digest !== note.digest) {
    throw new JournalCorruptError(sessionId, 'digest-mismatch', { seq: note.tip });
  }
  // Every ref of the tail was noted before it was written; taking them again costs nothing and forgives a lost note.
  return new Set([...note.refs, ...position.facts.flatMap((fact) => refsOf(fact))]);
}
