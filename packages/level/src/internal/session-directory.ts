import { Pacer } from '@holdfast/base';
import {
  type Dir,
  ensureChildDirectory,
  FileSystemError,
  readFile,
  removeDurably,
  removeTree,
  replaceFile,
  sweepTemporaries,
} from '@holdfast/durable';
import { isSessionId, type SessionNoteKind } from '@holdfast/journal';

import { tableProblem } from './table-check.js';

/** The database's directory inside a session's. Nothing of ours opens its lock file: that would drop the lock. */
export const ledgerDirectory = 'ledger';

const tableName = /\.(?:ldb|sst)$/;
const dataName = /\.(?:ldb|sst|log)$/;

// Present from the moment a deletion was decided until its end, so that a half-deleted session is never taken for a
// damaged one.
const deletionMark = 'deleting';
const noteNames: Readonly<Record<SessionNoteKind, string>> = {
  refs: 'refs',
  summary: 'summary',
  owner: 'owner',
};
const maxNoteBytes = 256 * 1_048_576;
const fileMode = 0o600;

/** The directories of all sessions, and what lies in them beside the databases. */
export class SessionDirectories implements Disposable {
  readonly #root: Dir;

  constructor(root: Dir) {
    this.#root = root;
  }

  /** Tells whether the session has a database or had one that was not deleted. */
  exists(sessionId: string): boolean {
    using dir = this.#openDir(sessionId);
    if (dir === undefined || dir.lstat(deletionMark) !== undefined) return false;
    return dir.lstat(ledgerDirectory) !== undefined || dir.lstat(noteNames.refs) !== undefined;
  }

  /** Names that may be sessions, sorted; `exists` tells which are. */
  names(): string[] {
    const decoder = new TextDecoder();
    const names = this.#root.list().map((name) => decoder.decode(name));
    return names.filter((name) => isSessionId(name)).sort();
  }

  /** Tells whether the engine has ever kept records here: it has tables or a log. */
  hasData(sessionId: string): boolean {
    using dir = this.#openDir(sessionId);
    using database = dir === undefined ? undefined : openIfThere(dir, ledgerDirectory);
    return database?.list().some((name) => dataName.test(new TextDecoder().decode(name))) === true;
  }

  /** Sweeps what replaced notes may have left behind. */
  async tidy(sessionId: string): Promise<void> {
    using dir = this.#openDir(sessionId);
    if (dir !== undefined) await sweepTemporaries(dir);
  }

  /** Makes the directories of a session, finishing a deletion that a crash interrupted. */
  async make(sessionId: string): Promise<void> {
    using dir = await ensureChildDirectory(this.#root, sessionId);
    if (dir.lstat(deletionMark) !== undefined) await this.#clear(dir);
    await sweepTemporaries(dir);
    const ledger = await ensureChildDirectory(dir, ledgerDirectory);
    ledger.close();
  }

  /**
   * Checks the tables of a database that is not open, and tells what is wrong with one; `undefined` when nothing is.
   * Tables only: opening the engine's lock file would drop the lock of whoever in this process holds it.
   */
  async tableProblem(sessionId: string): Promise<string | undefined> {
    using dir = this.#openDir(sessionId);
    using tables = dir === undefined ? undefined : openIfThere(dir, ledgerDirectory);
    if (tables === undefined) return undefined;
    const pacer = new Pacer();
    for (const name of tables.list()) {
      const text = new TextDecoder().decode(name);
      if (!tableName.test(text)) continue;
      let problem: string | undefined;
      try {
        using file = tables.openFile(name);
        problem = await tableProblem(file, pacer);
      } catch (error) {
        // Another process that has the database open deletes what it has merged; the engine's lock will say so.
        if (!FileSystemError.is(error) || error.errno !== 'ENOENT') throw error;
      }
      if (problem !== undefined) return `table ${text}: ${problem}`;
    }
    return undefined;
  }

  readNote(sessionId: string, kind: SessionNoteKind): Uint8Array | undefined {
    using dir = this.#openDir(sessionId);
    return dir === undefined ? undefined : readFile(dir, noteNames[kind], { maxBytes: maxNoteBytes });
  }

  async writeNote(
    sessionId: string,
    kind: SessionNoteKind,
    bytes: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    using dir = this.#root.openDir(sessionId);
    await replaceFile(dir, noteNames[kind], bytes, { mode: fileMode, signal });
  }

  async removeNote(sessionId: string, kind: SessionNoteKind): Promise<void> {
    using dir = this.#openDir(sessionId);
    if (dir !== undefined) await removeDurably(dir, noteNames[kind]);
  }

  /**
   * Deletes what is ours in a session's directory, and the directory when nothing else is in it (a lease may be).
   *
   * 1. Leave the mark: from here on there is no such session.
   * 2. `marked`: whoever kept the database from others lets go of it. 3. Database, notes. 4. The mark.
   */
  async delete(sessionId: string, marked: () => Promise<void>): Promise<void> {
    using dir = this.#openDir(sessionId);
    if (dir === undefined) return;
    await replaceFile(dir, deletionMark, new Uint8Array(0), { mode: fileMode });
    await marked();
    await this.#clear(dir);
    if (dir.list().length > 0) return;
    try {
      this.#root.rmdir(sessionId);
    } catch {
      // Somebody put something there meanwhile: then it is not ours to remove.
      return;
    }
    await this.#root.syncLater();
  }

  [Symbol.dispose](): void {
    this.#root.close();
  }

  async #clear(dir: Dir): Promise<void> {
    await removeTree(dir, ledgerDirectory);
    for (const name of Object.values(noteNames)) await removeDurably(dir, name);
    await removeDurably(dir, deletionMark);
    await sweepTemporaries(dir, { olderThan: 0 });
  }

  #openDir(sessionId: string): Dir | undefined {
    return openIfThere(this.#root, sessionId);
  }
}

/** `undefined` when no directory has the name, or somebody who deletes the session has just removed it. */
function openIfThere(parent: Dir, name: string): Dir | undefined {
  if (parent.lstat(name)?.kind !== 'directory') return undefined;
  try {
    return parent.openDir(name);
  } catch (error) {
    if (FileSystemError.is(error) && error.errno === 'ENOENT') return undefined;
    throw error;
  }
}
