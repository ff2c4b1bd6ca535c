import {
  type Clock,
  type JsonValue,
  type Random,
  systemClock,
  systemRandom,
  throwIfAborted,
} from '@holdfast/base';
import type { Blobs } from '@holdfast/blobs';
import type { Lease, LeaseOwner, Leaser } from '@holdfast/lease';
import { afterReaders } from './internal/after-readers.js';
import { deleteBodies } from './internal/delete-bodies.js';
import { guardLedgers } from './internal/guarded-ledgers.js';
import { parseJsonText } from './internal/json-text.js';
import { readRefsNote } from './internal/note-keeper.js';
import { openJournal } from './internal/open-journal.js';

import { isObject } from './internal/schema.js';
import { isJournalError } from './journal-error.js';
import type { JournalCallOptions } from './journal-reading.js';
import {
  AmbiguousSessionIdError,
  JournalClosedError,
  JournalEpochError,
  SessionExistsError,
  SessionNotFoundError,
} from './session-errors.js';
import { newSessionId, parseSessionId } from './session-id.js';
import type { SessionJournal } from './session-journal.js';
import type { SessionLedgers } from './session-ledgers.js';
import { decodeSummary, encodeSummary, type SessionSummary, summaryOf } from './session-summary.js';
import { SessionView } from './session-view.js';

export interface SessionStoreParts {
  readonly ledgers: SessionLedgers;
  readonly leaser: Leaser;
  /** Where large bodies go. */
  readonly blobs: Blobs;
  /** Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Default: the platform's randomness. */
  readonly random?: Random | undefined;
}

export interface CreateSessionOptions extends JournalCallOptions {
  /** 8 to 64 of `a-z 0-9 -`. Default: fresh, sorting by creation time. */
  readonly id?: string | undefined;
  readonly title?: string | undefined;
  /** Shown to whoever finds the session held. */
  readonly owner?: LeaseOwner | undefined;
  /** `true`: waits for whoever holds the id, who may be creating it. Default `false`: `LeaseHeldError`. */
  readonly wait?: boolean | undefined;
}

export interface OpenSessionOptions extends JournalCallOptions {
  readonly owner?: LeaseOwner | undefined;
  /** `true`: waits for the present holder. Default `false`: `LeaseHeldError`. */
  readonly wait?: boolean | undefined;
  /**
   * `true`: takes the journal as it is, although its `refs` note is missing, damaged, or says that more was acknowledged.
   * The whole journal is read and checked first, and the note is made anew from it. What was lost stays lost.
   * Also takes an epoch above the journal's highest fence when the leases were reset (`JournalEpochError` otherwise, where a
   * ledger is open to several processes): say so only when no other owner lives.
   */
  readonly adopt?: boolean | undefined;
}

/** As many as an error about an ambiguous id names. */
const maxMatches = 5;

export interface DeleteSessionOptions extends JournalCallOptions {
  /**
   * Removes what belongs to the session elsewhere. Runs when its journal is gone, or was not there, and before anybody else
   * can have a session of this id.
   */
  readonly also?: (() => Promise<void>) | undefined;
}

/** Creates, opens, lists and deletes sessions. Ledgers, leaser and blobs belong to the caller, who closes them. */
export class SessionStore implements AsyncDisposable {
  readonly #ledgers: SessionLedgers;
  readonly #leaser: Leaser;
  readonly #blobs: Blobs;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #open = new Set<SessionJournal>();
  #closing: Promise<void> | undefined;

  private constructor(parts: SessionStoreParts) {
    this.#ledgers = guardLedgers(parts.ledgers);
    this.#leaser = parts.leaser;
    this.#blobs = parts.blobs;
    this.#clock = parts.clock ?? systemClock;
    this.#random = parts.random ?? systemRandom;
  }

  /** Opens a store over its three parts. */
  static async open(parts: SessionStoreParts): Promise<SessionStore> {
    for (const part of ['ledgers', 'leaser', 'blobs'] as const) {
      if (typeof (parts as Partial<SessionStoreParts>)[part] !== 'object') {
        throw new TypeError(`SessionStore.open needs ${part}`);
      }
    }
    return new SessionStore(parts);
  }

  /**
   * Creates a session and opens its journal.
   * @throws SessionExistsError when the id is taken; InvalidSessionIdError when it is not one.
   */
  async create(options: CreateSessionOptions = {}): Promise<SessionJournal> {
    this.#check(options.signal);
    const id = parseSessionId(options.id ?? newSessionId(this.#clock.now(), this.#random));
    if (options.title !== undefined && typeof options.title !== 'string') {
      throw new TypeError('a title is text');
    }
    if (await this.#hasRecords(id, options.signal)) throw new SessionExistsError(id);
    return await this.#enter(id, 'create', options, options.wait ?? false);
  }

  /**
   * Opens a session's journal for writing: takes its lease, shuts out a predecessor, replays what is new.
   * @throws SessionNotFoundError when there is none; LeaseHeldError while another owner lives and `wait` is not set.
   * @throws JournalCorruptError when the journal contradicts itself or what was acknowledged.
   * @throws JournalFencedError when somebody took the session over while it was being opened.
   * @throws JournalEpochError when the leases do not know the journal, and another owner could live under other leases.
   * @throws LedgerInUseError when another process has the ledger and it can be open only once.
   */
  async open(id: string, options: OpenSessionOptions = {}): Promise<SessionJournal> {
    this.#check(options.signal);
    parseSessionId(id);
    if (!(await this.#ledgers.exists(id, { signal: options.signal }))) throw new SessionNotFoundError(id);
    return await this.#enter(id, 'open', options, options.wait ?? false);
  }

  /**
   * Opens a read-only view without a lease.
   * @throws SessionNotFoundError when there is none.
   * @throws LedgerInUseError when another process has the ledger and it can be open only once.
   */
  async read(id: string, options: JournalCallOptions = {}): Promise<SessionView> {
    this.#check(options.signal);
    parseSessionId(id);
    const ledger = await this.#ledgers.open(id, { signal: options.signal });
    return await SessionView.open(id, ledger, this.#blobs, this.#ledgers.notes, options.signal);
  }

  /** Yields a summary of every session, sorted by id. A missing summary is rebuilt from the journal. */
  async *list(options: JournalCallOptions = {}): AsyncGenerator<SessionSummary, void, undefined> {
    this.#check(options.signal);
    for await (const id of this.#ledgers.list(options)) {
      this.#check(options.signal);
      const summary = await this.#summary(id, options.signal);
      if (summary !== undefined) yield summary;
    }
  }

  /**
   * Finds the session that a text stands for: a whole id, or the beginning of exactly one, 8 characters or more. A whole id
   * wins over longer ones that begin with it.
   * @throws InvalidSessionIdError, SessionNotFoundError or AmbiguousSessionIdError.
   */
  async resolve(text: string, options: JournalCallOptions = {}): Promise<string> {
    this.#check(options.signal);
    parseSessionId(text);
    if (await this.#ledgers.exists(text, { signal: options.signal })) return text;
    const matches: string[] = [];
    for await (const id of this.#ledgers.list(options)) {
      // What is there may be a creation that left no session.
      if (!id.startsWith(text) || (await this.#summary(id, options.signal)) === undefined) continue;
      if (matches.push(id) === maxMatches) break;
    }
    const [first, ...rest] = matches;
    if (first === undefined) throw new SessionNotFoundError(text);
    if (rest.length > 0) throw new AmbiguousSessionIdError(text, matches);
    return first;
  }

  /**
   * Yields every ref that the session needs, without opening a ledger that another process has. It may yield more.
   * @throws JournalCorruptError when what names them is damaged: never yields too few.
   */
  async *refs(id: string, options: JournalCallOptions = {}): AsyncGenerator<string, void, undefined> {
    this.#check(options.signal);
    parseSessionId(id);
    // Whoever creates the session has its ledger a moment before there is a note.
    yield* await afterReaders(this.#clock, options.signal, () => this.#refs(id, options));
  }

  async #refs(id: string, options: JournalCallOptions): Promise<Iterable<string>> {
    const { notes } = this.#ledgers;
    const note = notes === undefined ? undefined : await readRefsNote(notes, id, options.signal);
    if (note !== undefined) return note.refs;
    const view = await this.read(id, options);
    try {
      return (await view.neededRefs(options)).map(({ ref }) => ref);
    } finally {
      await view.close();
    }
  }

  /** Returns what the session's owner wrote about itself; it may be a dead one. */
  async owner(
    id: string,
    options: JournalCallOptions = {},
  ): Promise<Readonly<Record<string, JsonValue>> | undefined> {
    this.#check(options.signal);
    parseSessionId(id);
    const bytes = await this.#ledgers.notes?.read(id, 'owner', options);
    if (bytes === undefined) return undefined;
    try {
      const value = parseJsonText(new TextDecoder().decode(bytes));
      return isObject(value) ? (value as Readonly<Record<string, JsonValue>>) : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Deletes a session's journal, notes and large bodies; deleting an absent one succeeds.
   * @throws LeaseHeldError while an owner lives; LeaseLostError when somebody took the session over meanwhile: what is
   * left is his.
   */
  async delete(id: string, options: DeleteSessionOptions = {}): Promise<void> {
    const { also, signal } = options;
    this.#check(signal);
    parseSessionId(id);
    if (also === undefined && !(await this.#ledgers.exists(id, { signal }))) return;
    const lease = await this.#leaser.acquire(sessionLeaseName(id), { signal });
    try {
      const ours = async (): Promise<void> => await lease.check({ signal });
      await afterReaders(this.#clock, signal, async () => {
        await ours();
        await this.#ledgers.delete(id, { signal });
      });
      await deleteBodies(this.#blobs, id, ours);
      if (also === undefined) return;
      await ours();
      await also();
    } finally {
      await lease.release();
    }
  }

  /** Canonical local directories that ledgers, leaser and blobs write to. */
  storagePaths(): readonly string[] {
    const parts = [this.#ledgers, this.#leaser, this.#blobs];
    return [...new Set(parts.flatMap((part) => part.storagePaths()))];
  }

  /** Closes the journals that are still open. Idempotent; the parts stay open. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const outcomes = await Promise.allSettled([...this.#open].map((journal) => journal.close()));
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
    if (failures.length > 0) {
      throw new AggregateError(
        failures.map((failure) => failure.reason as unknown),
        'closing sessions failed',
      );
    }
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#closing !== undefined) throw new JournalClosedError('session-store');
    throwIfAborted(signal);
  }

  /**
   * 1. Lease. 2. Ledger. 3. Fence and replay. What was taken is given back when a later step fails. Leases that lost their
   * counter are taken once more, above what the journal has seen: the journal is the authority on epochs. Not so where a
   * living owner under other leases could be overlooked, unless somebody says that there is none.
   */
  async #enter(
    id: string,
    mode: 'create' | 'open',
    options: CreateSessionOptions & OpenSessionOptions,
    wait: boolean,
  ): Promise<SessionJournal> {
    try {
      return await this.#enterAbove(id, mode, options, { wait });
    } catch (error) {
      if (!JournalEpochError.is(error) || !(error.alone || options.adopt === true)) throw error;
      return await this.#enterAbove(id, mode, options, { wait, above: error.fenceEpoch });
    }
  }

  async #enterAbove(
    id: string,
    mode: 'create' | 'open',
    options: CreateSessionOptions & OpenSessionOptions,
    call: { readonly wait: boolean; readonly above?: number | undefined },
  ): Promise<SessionJournal> {
    const { owner, signal, title, adopt } = options;
    const lease = await this.#leaser.acquire(sessionLeaseName(id), { ...call, signal, owner });
    try {
      return await this.#openUnder(lease, id, mode, { owner, signal, title, adopt });
    } catch (error) {
      await lease.release().catch(() => undefined);
      throw error;
    }
  }

  async #openUnder(
    lease: Lease,
    sessionId: string,
    mode: 'create' | 'open',
    options: CreateSessionOptions & OpenSessionOptions,
  ): Promise<SessionJournal> {
    const { owner, signal, title } = options;
    const create = mode === 'create';
    const ledger = await afterReaders(this.#clock, signal, () =>
      this.#ledgers.open(sessionId, { create, signal }),
    );
    try {
      const journal: SessionJournal = await openJournal({
        sessionId,
        mode,
        adopt: options.adopt ?? false,
        title,
        owner,
        ledger,
        lease,
        blobs: this.#blobs,
        notes: this.#ledgers.notes,
        clock: this.#clock,
        random: this.#random,
        signal,
        onClosed: () => {
          this.#open.delete(journal);
        },
      });
      this.#open.add(journal);
      return journal;
    } catch (error) {
      await ledger.close().catch(() => undefined);
      throw error;
    }
  }

  /** Whether the session has records, as far as can be told before its lease is held. */
  async #hasRecords(id: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (!(await this.#ledgers.exists(id, { signal }))) return false;
    const { notes } = this.#ledgers;
    if (notes === undefined) return true;
    const note = await readRefsNote(notes, id, signal);
    return note !== undefined && note.tip > 0;
  }

  async #summary(id: string, signal: AbortSignal | undefined): Promise<SessionSummary | undefined> {
    const { notes } = this.#ledgers;
    const bytes = await notes?.read(id, 'summary', { signal });
    const noted = bytes === undefined ? undefined : decodeSummary(id, bytes);
    if (noted !== undefined) return noted;
    try {
      const view = await this.read(id, { signal });
      try {
        const summary = summaryOf(id, view.fold);
        await notes?.write(id, 'summary', encodeSummary(summary)).catch(() => undefined);
        return summary;
      } finally {
        await view.close();
      }
    } catch (error) {
      throwIfAborted(signal);
      // A creation that did not get as far as the first record left no session.
      if (SessionNotFoundError.is(error)) return undefined;
      if (!isJournalError(error)) throw error;
      return unreadable(id, error.code);
    }
  }
}

/** The lease that the owner of a session holds. */
export function sessionLeaseName(sessionId: string): string {
  return `sessions/${sessionId}`;
}

function unreadable(id: string, problem: string): SessionSummary {
  return {
    id,
    title: undefined,
    createdAt: 0,
    lastActive: 0,
    state: 'unknown',
    lastCheckpoint: undefined,
    currentWorkspace: undefined,
    problem,
  };
}
