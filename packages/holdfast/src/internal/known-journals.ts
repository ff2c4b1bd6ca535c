import type { Clock } from '@holdfast/base';
import { type Dir, ensureChildDirectory, publishFile, readFile, removeDurably } from '@holdfast/durable';
import { type SessionLedgers, sessionLeaseName } from '@holdfast/journal';
import { LeaseHeldError, type Leaser } from '@holdfast/lease';

/** The two sorts of journals of a home. */
export type JournalKind = 'session' | 'root';

/** A journal that the home has had and that is not there any more, or is there again but without what it held. */
export interface LostJournal {
  readonly kind: JournalKind;
  readonly id: string;
}

const directories = { session: 'sessions', root: 'roots' } as const;
/** Longest wait for whoever begins or deletes a journal that seems lost, in milliseconds. */
const patience = 5_000;
const pause = 20;

const idGrammar = /^[a-z0-9-]{8,64}$/;
/** Of the note, beside that of the journal, that it was begun anew after it had been lost. */
const lostSuffix = '.lost';

/**
 * Remembers which journals a home has, apart from the journals: one empty file each, below `known/`. A directory of
 * journals that somebody removed is then missed, instead of looking like journals that need nothing; also after a command
 * that needed one of them has begun it anew.
 */
export class KnownJournals implements Disposable {
  readonly #dirs: Readonly<Record<JournalKind, Dir>>;
  readonly #leasers: Readonly<Record<JournalKind, Leaser>>;
  readonly #clock: Clock;

  private constructor(
    dirs: Readonly<Record<JournalKind, Dir>>,
    leasers: Readonly<Record<JournalKind, Leaser>>,
    clock: Clock,
  ) {
    this.#dirs = dirs;
    this.#leasers = leasers;
    this.#clock = clock;
  }

  /** Opens the memory below an open home, whose journals are owned under these leases. */
  static async open(
    home: Dir,
    leasers: Readonly<Record<JournalKind, Leaser>>,
    clock: Clock,
  ): Promise<KnownJournals> {
    using known = await ensureChildDirectory(home, 'known', { mode: 0o700 });
    const session = await ensureChildDirectory(known, directories.session, { mode: 0o700 });
    const root = await ensureChildDirectory(known, directories.root, { mode: 0o700 });
    return new KnownJournals({ session, root }, leasers, clock);
  }

  /** Durable when it resolves. */
  async note(kind: JournalKind, id: string): Promise<void> {
    if (this.#dirs[kind].lstat(id) === undefined) await publishFile(this.#dirs[kind], id, new Uint8Array(0));
  }

  async forget(kind: JournalKind, id: string): Promise<void> {
    if (idGrammar.test(id)) await removeDurably(this.#dirs[kind], id);
  }

  /** Gives up what a lost journal needed. One that was begun anew stays known. */
  async giveUp({ kind, id }: LostJournal, ledgers: SessionLedgers): Promise<void> {
    if (!(await ledgers.exists(id))) await this.forget(kind, id);
    await removeDurably(this.#dirs[kind], `${id}${lostSuffix}`);
  }

  /**
   * The journals that are known and not among `ledgers`, and those that were begun anew since. Notes those that are there
   * and were not known.
   */
  async lost(kind: JournalKind, ledgers: SessionLedgers): Promise<LostJournal[]> {
    const before = this.#list(kind);
    const there = new Set<string>();
    for await (const id of ledgers.list()) {
      there.add(id);
      if (!before.includes(id)) await this.#noteFound(kind, id, ledgers);
    }
    // One that was deleted meanwhile is not known any more.
    const still = new Set(this.#list(kind));
    const missed = before.filter((id) => still.has(id) && !there.has(id));
    const lost = new Set(this.#names(kind).flatMap((name) => idBefore(lostSuffix, name)));
    for (const id of missed) if (!lost.has(id) && (await this.#isLost(kind, id, ledgers))) lost.add(id);
    return [...lost].map((id) => ({ kind, id }));
  }

  /** Whoever begins or deletes the journal at this moment has its lease, and its end is waited for. */
  async #isLost(kind: JournalKind, id: string, ledgers: SessionLedgers): Promise<boolean> {
    const isMissed = async (): Promise<boolean> =>
      this.#dirs[kind].lstat(id) !== undefined && !(await ledgers.exists(id));
    const until = this.#clock.monotonic() + patience;
    for (;;) {
      try {
        await using _nobody = await this.#leasers[kind].acquire(sessionLeaseName(id));
        return await isMissed();
      } catch (error) {
        if (!LeaseHeldError.is(error)) throw error;
      }
      if (this.#clock.monotonic() >= until || !(await isMissed())) return await isMissed();
      await this.#clock.sleep(pause);
    }
  }

  /** Ledgers that note what is created, before anything can be recorded in it, and forget what is deleted. */
  remembering(kind: JournalKind, ledgers: SessionLedgers): SessionLedgers {
    return {
      notes: ledgers.notes,
      exists: (id, options) => ledgers.exists(id, options),
      open: async (id, options) => {
        if (options?.create === true) await this.#noteLost(kind, id, ledgers);
        const ledger = await ledgers.open(id, options);
        if (options?.create !== true) return ledger;
        try {
          await this.note(kind, id);
        } catch (error) {
          await ledger.close();
          throw error;
        }
        return ledger;
      },
      list: (options) => ledgers.list(options),
      delete: async (id, options) => {
        await this.forget(kind, id);
        await ledgers.delete(id, options);
        // Whoever found it in between has noted it again.
        await this.forget(kind, id);
      },
      storagePaths: () => ledgers.storagePaths(),
      close: () => ledgers.close(),
      [Symbol.asyncDispose]: () => ledgers[Symbol.asyncDispose](),
    };
  }

  [Symbol.dispose](): void {
    for (const dir of Object.values(this.#dirs)) dir.close();
  }

  // One that was deleted before the note would be missed for ever; one that was made again since has relied on the note.
  async #noteFound(kind: JournalKind, id: string, ledgers: SessionLedgers): Promise<void> {
    while (await ledgers.exists(id)) {
      await this.note(kind, id);
      if (await ledgers.exists(id)) return;
      await this.forget(kind, id);
    }
  }

  // Whoever creates a journal has its lease: nobody else creates or deletes it now.
  async #noteLost(kind: JournalKind, id: string, ledgers: SessionLedgers): Promise<void> {
    const dir = this.#dirs[kind];
    const mark = `${id}${lostSuffix}`;
    if (dir.lstat(id) === undefined || dir.lstat(mark) !== undefined || (await ledgers.exists(id))) return;
    await publishFile(dir, mark, new Uint8Array(0));
  }

  #list(kind: JournalKind): string[] {
    return this.#names(kind).filter((name) => idGrammar.test(name));
  }

  #names(kind: JournalKind): string[] {
    return this.#dirs[kind].list().map((name) => Buffer.from(name).toString());
  }
}

function idBefore(suffix: string, name: string): readonly string[] {
  const id = name.endsWith(suffix) ? name.slice(0, -suffix.length) : '';
  return idGrammar.test(id) ? [id] : [];
}

/**
 * The refs that collections were told to let go although journals name them: files of refs, one a line, below `let-go/`. Written
 * before a collection begins, so that what it deleted is never taken for lost.
 */
export class LetGoRefs implements Disposable {
  readonly #dir: Dir;

  private constructor(dir: Dir) {
    this.#dir = dir;
  }

  static async open(home: Dir): Promise<LetGoRefs> {
    return new LetGoRefs(await ensureChildDirectory(home, 'let-go', { mode: 0o700 }));
  }

  /** Adds refs under a fresh name. Durable when it resolves. */
  async add(name: string, refs: Iterable<string>): Promise<void> {
    const known = this.all();
    const lines = [...refs].filter((ref) => !known.has(ref)).map((ref) => `${ref}\n`);
    if (lines.length > 0) await publishFile(this.#dir, name, Buffer.from(lines.join('')));
  }

  all(): ReadonlySet<string> {
    const refs = new Set<string>();
    for (const name of this.#dir.list()) {
      if (!/^[0-9a-f]{32}$/.test(Buffer.from(name).toString())) continue;
      const bytes = readFile(this.#dir, name, { maxBytes: 2 ** 30 }) ?? new Uint8Array(0);
      for (const line of Buffer.from(bytes).toString().split('\n')) if (line !== '') refs.add(line);
    }
    return refs;
  }

  [Symbol.dispose](): void {
    this.#dir.close();
  }
}
