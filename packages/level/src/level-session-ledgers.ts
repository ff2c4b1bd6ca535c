import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

import { type Clock, type JsonValue, Pacer, systemClock, throwIfAborted } from '@holdfast/base';
import { ensureDirectory, type FileSystem, nodeFileSystem } from '@holdfast/durable';
import {
  decodeRefsNote,
  JournalCorruptError,
  Ledger,
  LedgerBackendError,
  type LedgerCallOptions,
  LedgerClosedError,
  LedgerInUseError,
  type OpenSessionLedgerOptions,
  parseSessionId,
  type SessionLedgers,
  type SessionNoteKind,
  type SessionNotes,
  SessionNotFoundError,
} from '@holdfast/journal';
import { Level } from 'level';

import { LevelCore } from './internal/level-core.js';
import { levelFailure } from './internal/level-failure.js';
import { ledgerDirectory, SessionDirectories } from './internal/session-directory.js';
import type { LevelDatabase } from './level-database.js';
import { LevelLedgerDriver } from './level-ledger.js';

export interface LevelLedgersOptions {
  /** Default: the disk. */
  readonly fileSystem?: FileSystem | undefined;
  /** Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Added to the `owner` note of every session that is opened here. JSON-safe, no secrets. */
  readonly owner?: Readonly<Record<string, JsonValue>> | undefined;
}

/**
 * Opens the sessions below `directory`, which is made when it is missing: one level database per session, opened by one
 * process at a time, with its notes beside it.
 */
export async function openLevelLedgers(
  directory: string,
  options: LevelLedgersOptions = {},
): Promise<SessionLedgers> {
  const fileSystem = options.fileSystem ?? nodeFileSystem();
  const path = resolve(directory);
  const root = await ensureDirectory(fileSystem, path);
  const canonical = new TextDecoder('utf-8', { fatal: true }).decode(fileSystem.canonicalPath(path));
  return new LevelSessionLedgers(canonical, new SessionDirectories(root), options);
}

interface OpenSession {
  readonly core: LevelCore;
  views: number;
}

class LevelSessionLedgers implements SessionLedgers {
  readonly notes: SessionNotes;
  readonly #path: string;
  readonly #directories: SessionDirectories;
  readonly #clock: Clock;
  readonly #owner: Readonly<Record<string, JsonValue>>;
  readonly #open = new Map<string, OpenSession>();
  /** One opening or closing of a session at a time. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(path: string, directories: SessionDirectories, options: LevelLedgersOptions) {
    this.#path = path;
    this.#directories = directories;
    this.#clock = options.clock ?? systemClock;
    this.#owner = { ...options.owner };
    this.notes = {
      read: async (sessionId: string, kind: SessionNoteKind, call: LedgerCallOptions = {}) => {
        this.#check(call.signal);
        const id = parseSessionId(sessionId);
        return wrapped('note', () => this.#directories.readNote(id, kind));
      },
      write: async (
        sessionId: string,
        kind: SessionNoteKind,
        bytes: Uint8Array,
        call: LedgerCallOptions = {},
      ) => {
        this.#check(call.signal);
        const id = parseSessionId(sessionId);
        await wrapped('note', () => this.#directories.writeNote(id, kind, bytes, call.signal), call.signal);
      },
    };
  }

  async exists(sessionId: string, options: LedgerCallOptions = {}): Promise<boolean> {
    this.#check(options.signal);
    parseSessionId(sessionId);
    return await wrapped('exists', () => this.#directories.exists(sessionId));
  }

  async open(sessionId: string, options: OpenSessionLedgerOptions = {}): Promise<Ledger> {
    this.#check(options.signal);
    parseSessionId(sessionId);
    return await this.#inTurn(sessionId, async () => {
      this.#check(options.signal);
      const session = this.#open.get(sessionId) ?? (await this.#start(sessionId, options.create ?? false));
      session.views += 1;
      const release = async (): Promise<void> => {
        await this.#inTurn(sessionId, () => this.#leave(sessionId, session));
      };
      return new Ledger(
        new LevelLedgerDriver(session.core, { durable: true, paths: [this.#path], release }),
        { clock: this.#clock },
      );
    });
  }

  async *list(options: LedgerCallOptions = {}): AsyncGenerator<string, void, undefined> {
    this.#check(options.signal);
    const pacer = new Pacer();
    for (const id of await wrapped('list', () => this.#directories.names())) {
      this.#check(options.signal);
      if (await wrapped('list', () => this.#directories.exists(id))) yield id;
      if (pacer.due) await pacer.rest(options.signal);
    }
  }

  async delete(sessionId: string, options: LedgerCallOptions = {}): Promise<void> {
    this.#check(options.signal);
    parseSessionId(sessionId);
    await this.#inTurn(sessionId, async () => {
      this.#check(options.signal);
      if (this.#open.has(sessionId)) throw new LedgerInUseError(sessionId, this.#readOwner(sessionId));
      const database = this.#database(sessionId);
      const close = async (): Promise<void> => {
        await database.close().catch(() => undefined);
      };
      try {
        // Whoever opens it from here on finds the lock taken, or the mark.
        if (this.#directories.exists(sessionId)) await this.#lock(sessionId, database);
        await wrapped('delete', () => this.#directories.delete(sessionId, close));
      } finally {
        await close();
      }
    });
  }

  storagePaths(): readonly string[] {
    return [this.#path];
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#turns.values());
    const failures: unknown[] = [];
    for (const [sessionId, session] of this.#open) {
      session.views = 1;
      await this.#leave(sessionId, session).catch((error: unknown) => failures.push(error));
    }
    this.#directories[Symbol.dispose]();
    if (failures.length > 0) throw new AggregateError(failures, 'closing session ledgers failed');
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#closing !== undefined) throw new LedgerClosedError();
    throwIfAborted(signal);
  }

  /** What fails because somebody deletes the session meanwhile is not damage. */
  async #start(sessionId: string, create: boolean): Promise<OpenSession> {
    try {
      return await this.#startThere(sessionId, create);
    } catch (error) {
      if (create || LedgerInUseError.is(error) || this.#directories.exists(sessionId)) throw error;
      throw SessionNotFoundError.is(error) ? error : new SessionNotFoundError(sessionId);
    }
  }

  /**
   * 1. Directories. 2. Checksums of the tables, which the engine takes on trust. 3. The database, which takes the
   * engine's lock. 4. The owner note, for whom the lock keeps out.
   * A database is made only where none has been: the engine would clear away what is left of a damaged one. And only by
   * whoever creates the session: anybody else would hold the lock that its creator is about to take.
   */
  async #startThere(sessionId: string, create: boolean): Promise<OpenSession> {
    const directories = this.#directories;
    if (!create && !directories.exists(sessionId)) throw new SessionNotFoundError(sessionId);
    if (create) await wrapped('open', () => directories.make(sessionId));
    else await wrapped('open', () => directories.tidy(sessionId));
    const note = await wrapped('open', () => directories.readNote(sessionId, 'refs'));
    const empty = saysEmpty(sessionId, note) && !directories.hasData(sessionId);
    if (empty && !create) throw new SessionNotFoundError(sessionId);
    await this.#checkTables(sessionId);
    const database = this.#database(sessionId);
    await this.#openDatabase(sessionId, database, empty);
    if (!create && !directories.exists(sessionId)) {
      await database.close().catch(() => undefined);
      throw new SessionNotFoundError(sessionId);
    }
    const session: OpenSession = { core: new LevelCore(database), views: 0 };
    try {
      const owner = {
        pid: process.pid,
        host: hostname(),
        since: this.#clock.now(),
        ...this.#owner,
      };
      const bytes = new TextEncoder().encode(JSON.stringify(owner));
      await wrapped('open', () => directories.writeNote(sessionId, 'owner', bytes));
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
    this.#open.set(sessionId, session);
    return session;
  }

  async #leave(sessionId: string, session: OpenSession): Promise<void> {
    session.views -= 1;
    if (session.views > 0) return;
    this.#open.delete(sessionId);
    try {
      // While the lock is still ours: afterwards it may be the next owner's note.
      await this.#directories.removeNote(sessionId, 'owner');
    } finally {
      await session.core.close();
    }
  }

  #database(sessionId: string): Level<Uint8Array, Uint8Array> & LevelDatabase {
    const location = join(this.#path, sessionId, ledgerDirectory);
    // Made only where `open` says so: a reopening after a failure must not make an empty one.
    return new Level<Uint8Array, Uint8Array>(location, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      createIfMissing: false,
    });
  }

  async #openDatabase(
    sessionId: string,
    database: Level<Uint8Array, Uint8Array>,
    createIfMissing: boolean,
  ): Promise<void> {
    try {
      await database.open({ createIfMissing });
    } catch (error) {
      await database.close().catch(() => undefined);
      switch (levelFailure(error)) {
        case 'locked':
          throw new LedgerInUseError(sessionId, this.#readOwner(sessionId), { cause: error });
        case 'damaged':
          throw new JournalCorruptError(sessionId, 'storage', { cause: error });
        case 'refused':
          // A session that has records has a database.
          if (!createIfMissing) throw new JournalCorruptError(sessionId, 'storage', { cause: error });
          throw new LedgerBackendError('open', sessionId, { cause: error });
        case 'system':
          throw new LedgerBackendError('open', sessionId, { cause: error });
      }
    }
  }

  async #checkTables(sessionId: string): Promise<void> {
    const detail = await wrapped('open', () => this.#directories.tableProblem(sessionId));
    if (detail === undefined) return;
    // A table that a living owner has half written looks the same.
    const owner = this.#readOwner(sessionId);
    if (ownerLives(owner)) throw new LedgerInUseError(sessionId, owner);
    throw new JournalCorruptError(sessionId, 'storage', { detail });
  }

  /** Another process that has it open keeps the engine's lock; damage is no reason to keep a session. */
  async #lock(sessionId: string, database: Level<Uint8Array, Uint8Array>): Promise<void> {
    try {
      await database.open({ createIfMissing: false });
    } catch (error) {
      if (levelFailure(error) !== 'locked') return;
      throw new LedgerInUseError(sessionId, this.#readOwner(sessionId), { cause: error });
    }
  }

  #readOwner(sessionId: string): Readonly<Record<string, JsonValue>> | undefined {
    try {
      const bytes = this.#directories.readNote(sessionId, 'owner');
      if (bytes === undefined) return undefined;
      const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
      return typeof value === 'object' && value !== null
        ? (value as Readonly<Record<string, JsonValue>>)
        : undefined;
    } catch {
      return undefined;
    }
  }

  async #inTurn<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(sessionId) ?? Promise.resolve();
    const run = before.then(work);
    const settled = run.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(sessionId, settled);
    try {
      return await run;
    } finally {
      if (this.#turns.get(sessionId) === settled) this.#turns.delete(sessionId);
    }
  }
}

/** Whether no record was ever acknowledged. A note that cannot be read does not say so; who opens the journal reports it. */
function saysEmpty(sessionId: string, note: Uint8Array | undefined): boolean {
  if (note === undefined) return true;
  try {
    return decodeRefsNote(sessionId, note).tip === 0;
  } catch {
    return false;
  }
}

/** Whether another process of this host, by number, may still have the session open. */
function ownerLives(owner: Readonly<Record<string, JsonValue>> | undefined): boolean {
  const pid = owner?.['pid'];
  if (typeof pid !== 'number' || pid === process.pid || owner?.['host'] !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM';
  }
}

async function wrapped<T>(operation: string, work: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throwIfAborted(signal);
    throw new LedgerBackendError(operation, undefined, { cause: error });
  }
}
