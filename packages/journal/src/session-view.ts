import type { Blobs } from '@holdfast/blobs';

import { IdWindow } from './internal/id-window.js';
import { loadPosition, replay } from './internal/load-position.js';
import { checkRefsNote, readRefsNote } from './internal/note-keeper.js';
import { RecordReader } from './internal/record-reader.js';
import { type JournalCallOptions, JournalReading, type ReadingSource } from './journal-reading.js';
import type { Ledger } from './ledger.js';
import { JournalClosedError, SessionNotFoundError } from './session-errors.js';
import type { SessionNotes } from './session-ledgers.js';

/** Reads a session's journal without owning it. It shows the journal as of its opening; `refresh` moves it on. */
export class SessionView extends JournalReading implements AsyncDisposable {
  readonly #source: ReadingSource;
  readonly #ledger: Ledger;
  readonly #state: { closed: Promise<void> | undefined };
  readonly #refresh: (signal: AbortSignal | undefined) => Promise<void>;

  private constructor(
    source: ReadingSource,
    ledger: Ledger,
    state: { closed: Promise<void> | undefined },
    refresh: (signal: AbortSignal | undefined) => Promise<void>,
  ) {
    super(source);
    this.#source = source;
    this.#ledger = ledger;
    this.#state = state;
    this.#refresh = refresh;
  }

  /** @internal Takes over `ledger`, also when it fails. */
  static async open(
    sessionId: string,
    ledger: Ledger,
    blobs: Blobs,
    notes: SessionNotes | undefined,
    signal: AbortSignal | undefined,
  ): Promise<SessionView> {
    try {
      const reader = new RecordReader(sessionId, ledger, blobs);
      const ids = new IdWindow(0);
      const note = notes === undefined ? undefined : await readRefsNote(notes, sessionId, signal);
      const position = await loadPosition(reader, ids, signal);
      if (notes !== undefined) await checkRefsNote(note, reader, position, signal);
      if (position.tip === 0) throw new SessionNotFoundError(sessionId);
      const state: { closed: Promise<void> | undefined } = { closed: undefined };
      let current = position;
      const source: ReadingSource = {
        sessionId,
        reader,
        position: () => current,
        checkOpen: () => {
          if (state.closed !== undefined) throw new JournalClosedError('session-view');
        },
      };
      return new SessionView(source, ledger, state, async (stop) => {
        const next = current.clone();
        await replay(reader, next, ids, await reader.tip(stop), stop);
        if (next.tip > current.tip) current = next;
      });
    } catch (error) {
      await ledger.close().catch(() => undefined);
      throw error;
    }
  }

  /** Takes in what was appended since. */
  async refresh(options: JournalCallOptions = {}): Promise<void> {
    this.#source.checkOpen();
    await this.#refresh(options.signal);
  }

  /** Idempotent; afterwards everything rejects. */
  close(): Promise<void> {
    this.#state.closed ??= this.#ledger.close();
    return this.#state.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
