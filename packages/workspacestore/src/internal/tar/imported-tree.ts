import { encodePathText, Pacer } from '@holdfast/base';

import { ArchiveEntryError, type ArchiveEntryReason, ArchiveLimitError } from '../../errors.js';
import type { LimitName, Limits } from '../../limits.js';
import { ByteWriter } from '../byte-writer.js';
import type { ObjectSink } from '../capture-types.js';
import { byteText, textBytes } from '../entry-path.js';
import { addObject } from '../object-adding.js';
import { emptyTreeKey } from '../object-key.js';
import { type TreeRow, writeTreeRow } from '../tree-object.js';
import type { TarEntry } from './strict-tar.js';

interface Directory {
  readonly kind: 'directory';
  mode: number;
  /** `false` while only something below it was named. */
  named: boolean;
  readonly children: Map<string, Node>;
}

interface Leaf {
  readonly kind: 'file' | 'symlink';
  readonly mode: number;
  readonly size: number;
  readonly value: Uint8Array;
}

type Node = Directory | Leaf;

const defaultMode = 0o755;

/** The tree that a tar file describes, as it comes together. Refuses what does not fit. */
export class ImportedTree {
  readonly root: Directory = { kind: 'directory', mode: defaultMode, named: false, children: new Map() };
  readonly totals = { entries: 0, files: 0, bytes: 0 };
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Refuses an entry that breaks a limit, before its content is read. */
  check(entry: TarEntry): void {
    const shown = encodePathText(entry.path);
    const names = byteText(entry.path).split('/');
    this.#limit('pathBytes', entry.path.length, shown);
    this.#limit('depth', entry.path.length === 0 ? 0 : names.length, shown);
    for (const name of names) this.#limit('nameBytes', name.length, shown);
    this.#limit('fileBytes', entry.size, shown);
    this.#limit('bytes', this.totals.bytes + entry.size, shown);
  }

  /** Adds a directory; one that was only implied gets its mode. */
  addDirectory(entry: TarEntry): void {
    const shown = encodePathText(entry.path);
    const directory = entry.path.length === 0 ? this.root : this.#directory(byteText(entry.path), shown);
    if (directory.named) refuse(shown, 'collision', 'the same path twice');
    directory.named = true;
    directory.mode = entry.mode & 0o777;
  }

  addLeaf(entry: TarEntry, leaf: Leaf): void {
    const shown = encodePathText(entry.path);
    const text = byteText(entry.path);
    const slash = text.lastIndexOf('/');
    const parent = slash === -1 ? this.root : this.#directory(text.slice(0, slash), shown);
    const name = text.slice(slash + 1);
    if (parent.children.has(name)) refuse(shown, 'collision', 'the same path twice');
    this.#count(shown);
    parent.children.set(name, leaf);
    if (leaf.kind !== 'file') return;
    this.totals.files += 1;
    this.totals.bytes += leaf.size;
  }

  /** The file that a hard link means: an earlier regular entry. */
  linked(entry: TarEntry): Leaf {
    const shown = encodePathText(entry.path);
    let node: Node | undefined = this.root;
    for (const name of byteText(entry.target as Uint8Array).split('/')) {
      node = node?.kind === 'directory' ? node.children.get(name) : undefined;
    }
    if (node?.kind !== 'file') return refuse(shown, 'link-forbidden', 'a hard link to no earlier file');
    return node;
  }

  /** Hands the tree objects to a sink and returns the tree key. */
  async store(sink: ObjectSink, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const pacer = new Pacer();
    return await storeDirectory(sink, this.root, async () => {
      if (pacer.due) await pacer.rest(signal);
    });
  }

  #directory(text: string, shown: string): Directory {
    let current = this.root;
    for (const name of text.split('/')) {
      let next = current.children.get(name);
      if (next === undefined) {
        this.#count(shown);
        next = { kind: 'directory', mode: defaultMode, named: false, children: new Map() };
        current.children.set(name, next);
      }
      if (next.kind === 'symlink') return refuse(shown, 'link-forbidden', 'a path through a symlink');
      if (next.kind !== 'directory') return refuse(shown, 'collision', 'a path through a file');
      current = next;
    }
    return current;
  }

  #count(shown: string): void {
    this.totals.entries += 1;
    this.#limit('entries', this.totals.entries, shown);
  }

  #limit(limit: LimitName, observed: number, shown: string): void {
    const cap = this.#limits[limit];
    if (observed > cap) throw new ArchiveLimitError(limit, cap, observed, shown.slice(0, 4096));
  }
}

/** Depth is limited before anything gets here. */
async function storeDirectory(
  sink: ObjectSink,
  directory: Directory,
  rest: () => Promise<void>,
): Promise<Uint8Array> {
  await rest();
  if (directory.children.size === 0) return emptyTreeKey;
  const rows: TreeRow[] = [];
  for (const [text, node] of directory.children) {
    const name = textBytes(text);
    if (node.kind === 'directory') {
      const value = await storeDirectory(sink, node, rest);
      rows.push({ name, kind: 'directory', mode: node.mode, size: 0, value });
    } else {
      rows.push({ name, ...node });
    }
  }
  rows.sort((a, b) => Buffer.compare(a.name, b.name));
  const writer = new ByteWriter();
  for (const row of rows) writeTreeRow(writer, row);
  return addObject(sink, 'tree', writer.view());
}

function refuse(entry: string, reason: ArchiveEntryReason, detail: string): never {
  throw new ArchiveEntryError(entry, reason, detail);
}
