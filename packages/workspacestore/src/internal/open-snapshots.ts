import type { Ref } from '../ref.js';
import { keyBytes } from './object-key.js';
import type { ObjectTable } from './object-table.js';

const kept = 8;

/** The tables of the snapshots that were opened last, so that content can be found by its key alone. */
export class OpenSnapshots {
  readonly #tables = new Map<Ref, ObjectTable>();

  get(ref: Ref): ObjectTable | undefined {
    const table = this.#tables.get(ref);
    if (table !== undefined) this.set(ref, table);
    return table;
  }

  set(ref: Ref, table: ObjectTable): void {
    this.#tables.delete(ref);
    this.#tables.set(ref, table);
    for (const oldest of this.#tables.keys()) {
      if (this.#tables.size <= kept) break;
      this.#tables.delete(oldest);
    }
  }

  delete(ref: Ref): void {
    this.#tables.delete(ref);
  }

  /** The table of the snapshot opened last that has a file's content. */
  find(content: string): { readonly ref: Ref; readonly table: ObjectTable } | undefined {
    const key = keyBytes(content);
    for (const [ref, table] of [...this.#tables].reverse()) if (table.has('file', key)) return { ref, table };
    return undefined;
  }
}
