import { decodePathText, encodePathText, equalBytes, Pacer } from '@holdfast/base';

import { EntryNotFoundError } from '../errors.js';
import type { Ref } from '../ref.js';
import type { EntryKind, TreeEntry } from '../tree.js';
import { joinPath } from './entry-path.js';
import { keyText } from './object-key.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import type { TreeRow } from './tree-object.js';
import { readDirectory, readRoot } from './tree-reading.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** A row of a listing, as people and JSON see it. */
export interface ListRow {
  /** Path text. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly mode: number;
  /** Bytes; files only. */
  readonly size?: number | undefined;
  /** Target as path text; symlinks only. */
  readonly target?: string | undefined;
}

export function toListRow(entry: TreeEntry): ListRow {
  const { kind, mode } = entry;
  const path = encodePathText(entry.path);
  if (kind === 'file') return { path, kind, mode, size: entry.size };
  if (kind === 'symlink') return { path, kind, mode, target: encodePathText(entry.target as Uint8Array) };
  return { path, kind, mode };
}

/** Splits path text into components; an empty path, or `.`, is the root. */
export function parseEntryPath(text: string): readonly Uint8Array[] {
  const trimmed = text.replace(/^\.\/+/, '').replace(/\/+$/, '');
  if (trimmed === '' || trimmed === '.') return [];
  return trimmed.split('/').map(decodePathText);
}

/**
 * Reads a snapshot lazily: only the directories on the way to what is asked for.
 */
export class TreeRows {
  readonly #reader: ObjectReader;
  readonly #table: ObjectTable;
  readonly #ref: Ref;
  readonly #options: Options;

  constructor(reader: ObjectReader, table: ObjectTable, ref: Ref, options: Options) {
    this.#reader = reader;
    this.#table = table;
    this.#ref = ref;
    this.#options = options;
  }

  /** The entry at a path; `undefined` stands for the root itself. */
  async find(text: string, wanted: 'entry' | 'file' | 'directory'): Promise<TreeEntry | undefined> {
    const found = await this.#find(text, wanted);
    return found.entry;
  }

  /** Everything below a path in canonical order; a file or symlink is its own only row. */
  async *below(text: string): AsyncGenerator<TreeEntry> {
    const { entry, treeKey } = await this.#find(text, 'entry');
    if (treeKey !== undefined) yield* this.#walk(entry?.path ?? new Uint8Array(0), treeKey);
    else if (entry !== undefined) yield entry;
  }

  async *#walk(path: Uint8Array, key: Uint8Array): AsyncGenerator<TreeEntry> {
    const stack = [{ path, rows: await this.#rows(path, key), next: 0 }];
    const pacer = new Pacer();
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      if (pacer.due) await pacer.rest(this.#options.signal);
      const row = top.rows[top.next];
      if (row === undefined) {
        stack.pop();
        continue;
      }
      top.next += 1;
      const entry = toEntry(top.path, row);
      yield entry;
      if (row.kind !== 'directory') continue;
      stack.push({ path: entry.path, rows: await this.#rows(entry.path, row.value), next: 0 });
    }
  }

  async #find(
    text: string,
    wanted: 'entry' | 'file' | 'directory',
  ): Promise<{ entry: TreeEntry | undefined; treeKey: Uint8Array | undefined }> {
    const root = await readRoot(this.#reader, this.#table, this.#ref, this.#options);
    let treeKey: Uint8Array | undefined = root.treeKey;
    let entry: TreeEntry | undefined;
    for (const name of parseEntryPath(text)) {
      const path: Uint8Array = entry?.path ?? new Uint8Array(0);
      const rows: readonly TreeRow[] = treeKey === undefined ? [] : await this.#rows(path, treeKey);
      const row = rows.find((candidate) => equalBytes(candidate.name, name));
      if (row === undefined) throw new EntryNotFoundError(this.#ref, text, wanted);
      entry = toEntry(path, row);
      treeKey = row.kind === 'directory' ? row.value : undefined;
    }
    const kind = entry?.kind ?? 'directory';
    if (wanted !== 'entry' && wanted !== kind) throw new EntryNotFoundError(this.#ref, text, wanted, kind);
    return { entry, treeKey };
  }

  #rows(path: Uint8Array, key: Uint8Array): Promise<TreeRow[]> {
    return readDirectory(this.#reader, this.#table, this.#ref, path, key, this.#options);
  }
}

/** The entry that a row of a directory stands for. */
export function toEntry(directory: Uint8Array, row: TreeRow): TreeEntry {
  const path = joinPath(directory, row.name).slice();
  const { kind, mode, size } = row;
  if (kind === 'file') return { path, kind, mode, size, content: keyText(row.value) };
  if (kind === 'symlink') return { path, kind, mode, size, target: row.value.slice() };
  return { path, kind, mode, size };
}
