import { type Clock, sha256Hex } from '@holdfast/base';
import type { Stat } from '@holdfast/durable';

import type { Ref } from '../ref.js';
import type { CacheDirectory } from './cache-directory.js';
import type { ObjectTable } from './object-table.js';
import { decodeHead, decodeState, encodeState, type SavedHead, type SavedState } from './root-state-codec.js';
import type { StatTable } from './stat-table.js';

/** What the last snapshot of a root committed. */
export interface CommittedState {
  readonly ref: Ref;
  readonly hold: string;
  /** The archives of its closure, open. */
  readonly closure: ObjectTable;
}

/** What is known about one root directory between captures. */
export interface RootState {
  /** What the root was when this was learned; another directory at the same path is another tree. */
  readonly identity: RootIdentity;
  readonly table: StatTable;
  readonly committed: CommittedState | undefined;
  /** Awaited before the table is used. */
  readonly settled?: Promise<void> | undefined;
}

export type RootIdentity = Pick<Stat, 'ino' | 'birthtimeNs'>;

/** Milliseconds between two savings of one root's state. */
const savePause = 30_000;

interface Entry {
  state: RootState;
  /** `undefined`: never saved. */
  savedAt: number | undefined;
  unsaved: boolean;
}

/**
 * The states of the roots that this store has captured, by canonical path: in memory, and saved to the cache directory
 * after commits, at most twice a minute and at the end.
 */
export class RootStates {
  readonly #entries = new Map<string, Entry>();
  readonly #cache: CacheDirectory | undefined;
  readonly #clock: Clock;
  readonly #storeId: () => Promise<string | undefined>;
  readonly #openClosure: (saved: SavedState) => Promise<ObjectTable | undefined>;

  constructor(
    cache: CacheDirectory | undefined,
    clock: Clock,
    storeId: () => Promise<string | undefined>,
    openClosure: (saved: SavedState) => Promise<ObjectTable | undefined>,
  ) {
    this.#cache = cache;
    this.#clock = clock;
    this.#storeId = storeId;
    this.#openClosure = openClosure;
  }

  /** What is known about the directory at a path, if it is still the same directory. */
  async get(path: string, identity: RootIdentity): Promise<RootState | undefined> {
    let entry = this.#entries.get(path);
    if (entry === undefined) {
      const state = await this.#load(path, identity);
      // Another capture of the same root may have been faster, and knows more.
      entry =
        this.#entries.get(path) ?? (state && { state, savedAt: this.#clock.monotonic(), unsaved: false });
      if (entry !== undefined) this.#entries.set(path, entry);
    }
    await entry?.state.settled;
    return entry !== undefined && same(entry.state.identity, identity) ? entry.state : undefined;
  }

  /** Keeps what a capture learned. Saving waits for the next commit. */
  learn(path: string, state: RootState): void {
    const savedAt = this.#entries.get(path)?.savedAt;
    this.#entries.set(path, { state, savedAt, unsaved: state.committed !== undefined });
  }

  /** The paths of the roots that are known. */
  paths(): string[] {
    return [...this.#entries.keys()];
  }

  /** What is known about the directory at a path, whatever is there now. */
  peek(path: string): RootState | undefined {
    return this.#entries.get(path)?.state;
  }

  /** Replaces a state by one that was made of it; `false` when something else was learned meanwhile. */
  replace(path: string, old: RootState, next: RootState): boolean {
    const entry = this.#entries.get(path);
    if (entry?.state !== old) return false;
    entry.state = next;
    entry.unsaved = true;
    return true;
  }

  /** The paths of the roots whose states are saved, in no order. */
  async savedPaths(): Promise<string[]> {
    const store = await this.#storeId();
    const saved = (this.#cache?.names() ?? []).filter((name) => name.startsWith(namePrefix));
    return saved.flatMap((name) => {
      const head = store === undefined ? undefined : this.#readHead(name);
      // Where a state lies says whose it is; one that says something else is not believed.
      return head?.store === store && head !== undefined && fileName(head.path) === name ? [head.path] : [];
    });
  }

  /** Knows from now on what was saved about a path, whatever is there now; `false` when that is of no use. */
  async loadSaved(path: string): Promise<boolean> {
    const head = this.#readHead(fileName(path));
    const state = head === undefined ? undefined : await this.#load(path, head);
    if (state === undefined || this.#entries.has(path)) return false;
    this.#entries.set(path, { state, savedAt: this.#clock.monotonic(), unsaved: false });
    return true;
  }

  /** Saves what is known about a path, if that is new, and forgets it. */
  async unload(path: string): Promise<void> {
    const entry = this.#entries.get(path);
    if (entry?.unsaved === true) await this.#save(path, entry);
    if (this.#entries.get(path) === entry) this.#entries.delete(path);
  }

  #readHead(name: string): SavedHead | undefined {
    const bytes = this.#cache?.read(name);
    return bytes === undefined ? undefined : decodeHead(bytes);
  }

  /** Saves the state of a root after a commit, unless that was done a moment ago. */
  async committed(path: string): Promise<void> {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    const now = this.#clock.monotonic();
    if (entry.savedAt !== undefined && now - entry.savedAt < savePause) return;
    entry.savedAt = now;
    await this.#save(path, entry);
  }

  /** Saves what has not been saved yet. */
  async close(): Promise<void> {
    for (const [path, entry] of this.#entries) if (entry.unsaved) await this.#save(path, entry);
    this.#cache?.prune();
  }

  async #load(path: string, identity: RootIdentity): Promise<RootState | undefined> {
    if (this.#cache === undefined) return undefined;
    const bytes = this.#cache.read(fileName(path));
    const store = bytes === undefined ? undefined : await this.#storeId();
    if (bytes === undefined || store === undefined) return undefined;
    const { ino, birthtimeNs } = identity;
    const saved = decodeState(bytes, { store, path, ino, birthtimeNs });
    if (saved === undefined) return undefined;
    const closure = await this.#openClosure(saved);
    const committed = closure === undefined ? undefined : { ref: saved.ref, hold: saved.hold, closure };
    return { identity: { ino, birthtimeNs }, table: saved.table, committed };
  }

  async #save(path: string, entry: Entry): Promise<void> {
    const { table, identity, committed, settled } = entry.state;
    await settled;
    if (this.#cache === undefined || committed === undefined) return;
    const store = await this.#storeId();
    if (store === undefined) return;
    const { ino, birthtimeNs } = identity;
    const archives = committed.closure.archives.map(({ ref }) => ref);
    const { ref, hold } = committed;
    await this.#cache.write(
      fileName(path),
      encodeState({ store, path, ino, birthtimeNs, table, ref, hold, archives }),
    );
    entry.unsaved = false;
  }
}

const namePrefix = 'root-';

function fileName(path: string): string {
  return `${namePrefix}${sha256Hex(Buffer.from(path)).slice(0, 32)}`;
}

function same(a: RootIdentity, b: RootIdentity): boolean {
  return a.ino === b.ino && a.birthtimeNs === b.birthtimeNs;
}
