import { IntegrityError } from '../errors.js';
import type { Ref } from '../ref.js';
import type { TreeEntry } from '../tree.js';
import { contentOf, type WantedFile } from './content-fetch.js';
import { keyBytes } from './object-key.js';
import { ObjectTable } from './object-table.js';
import { openSnapshot, type StoreContext } from './store-context.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

const kept = 8;

/** The snapshots that were opened last: looking again costs nothing, and content can be found by its key alone. */
export class OpenSnapshots {
  readonly #context: StoreContext;
  readonly #tables = new Map<Ref, ObjectTable>();

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async get(ref: Ref, options: Options): Promise<ObjectTable> {
    return this.#tables.get(ref) ?? (await this.reopen(ref, options));
  }

  /** Opens a snapshot as it is stored now. */
  async reopen(ref: Ref, options: Options): Promise<ObjectTable> {
    const { table } = await openSnapshot(this.#context, ref, options);
    this.#tables.delete(ref);
    this.#tables.set(ref, table);
    for (const oldest of this.#tables.keys()) {
      if (this.#tables.size <= kept) break;
      this.#tables.delete(oldest);
    }
    return table;
  }

  /** Runs `use` with a snapshot; when its archives have moved since it was opened, it is opened again. */
  async look<T>(ref: Ref, options: Options, use: (table: ObjectTable) => Promise<T>): Promise<T> {
    const known = this.#tables.get(ref);
    if (known !== undefined) {
      try {
        return await use(known);
      } catch (error) {
        if (!IntegrityError.is(error)) throw error;
      }
    }
    return await use(await this.reopen(ref, options));
  }

  /**
   * Finds the snapshot, opened last, that has a file's content.
   * @throws IntegrityError when none has.
   */
  wanted(entry: TreeEntry): WantedFile {
    const content = contentOf(entry);
    const key = keyBytes(content);
    for (const [ref, table] of [...this.#tables].reverse()) {
      if (table.has('file', key)) return { entry, ref, table };
    }
    if (entry.size === 0) return { entry, ref: '', table: new ObjectTable() };
    throw new IntegrityError({
      path: content,
      expected: 'content of a tree that was opened',
      got: 'nothing',
    });
  }
}
