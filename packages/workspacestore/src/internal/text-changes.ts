import { encodePathText, equalBytes, Pacer } from '@holdfast/base';
import { type Dir, type File, FileSystemError } from '@holdfast/durable';

import type { Ref } from '../ref.js';
import type { TreeEntry } from '../tree.js';
import type { DiffOptions, TextChange, TextDiffOptions, TreeChange, TreeDiff } from '../tree-diff.js';
import { contentOf } from './content-fetch.js';
import { emptyFileKey, keyBytes, keyOf } from './object-key.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable } from './object-table.js';
import { split } from './staged-tree.js';

/** Where the content of one side's files comes from; `undefined` when a file is not what its entry says any more. */
export type ContentSource = (entry: TreeEntry) => Promise<Uint8Array | undefined> | Uint8Array | undefined;

/** The entries that a change is about. */
export interface ChangedEntries {
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

type Limits = Required<{ [Key in keyof TextDiffOptions]: NonNullable<TextDiffOptions[Key]> }>;

/** @throws RangeError for numbers that are none. */
export function checkTextOptions({ text }: DiffOptions): Limits | undefined {
  if (text === undefined || text === false) return undefined;
  const {
    contextLines = 3,
    maxFileBytes = 2 ** 20,
    maxTotalBytes = 64 * 2 ** 20,
  } = text === true ? {} : text;
  for (const [name, value] of Object.entries({ contextLines, maxFileBytes, maxTotalBytes })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new RangeError(`text.${name}: expected a whole number`);
  }
  return { contextLines, maxFileBytes, maxTotalBytes };
}

/** Adds to each change of a file what differs inside it. Reads at most what the limits allow, one file at a time. */
export async function addTexts(
  diff: TreeDiff,
  entriesOf: (change: TreeChange) => ChangedEntries,
  sources: { readonly before: ContentSource; readonly after: ContentSource },
  limits: Limits,
  options: DiffOptions,
): Promise<TreeDiff> {
  const pacer = new Pacer();
  const changes: TreeChange[] = [];
  let left = limits.maxTotalBytes;
  for (const change of diff.changes) {
    const before = fileOf(entriesOf(change).before);
    const after = fileOf(entriesOf(change).after);
    if (before?.content === after?.content) {
      changes.push(change);
      continue;
    }
    const bytes = (before?.size ?? 0) + (after?.size ?? 0);
    const tooLarge = Math.max(before?.size ?? 0, after?.size ?? 0) > limits.maxFileBytes || bytes > left;
    if (!tooLarge) left -= bytes;
    const text: TextChange = tooLarge ? { kind: 'too-large' } : await compare(before, after);
    changes.push({ ...change, text });
    if (pacer.due) await pacer.rest(options.signal);
  }
  return { ...diff, changes };

  async function compare(before: TreeEntry | undefined, after: TreeEntry | undefined): Promise<TextChange> {
    const nothing = new Uint8Array(0);
    const a = before === undefined ? nothing : await sources.before(before);
    const b = after === undefined ? nothing : await sources.after(after);
    if (a === undefined || b === undefined) return { kind: 'raced' };
    const { compareText } = await import('./text-hunks.js');
    return compareText(a, b, limits.contextLines);
  }
}

/** The files of a stored tree. */
export function storedContents(
  reader: ObjectReader,
  { ref, table }: { readonly ref: Ref; readonly table: ObjectTable },
  signal: AbortSignal | undefined,
): ContentSource {
  return async (entry) => {
    const key = keyBytes(contentOf(entry));
    if (equalBytes(key, emptyFileKey)) return new Uint8Array(0);
    return await reader.readWhole(table, 'file', key, { ref, path: encodePathText(entry.path), signal });
  };
}

/** The files of a live tree, each proved to be what was scanned. */
export function liveContents(root: Dir): ContentSource {
  return (entry) => {
    try {
      using file = openBelow(root, entry.path);
      if (file.stat().kind !== 'file' || file.stat().size !== entry.size) return undefined;
      const bytes = new Uint8Array(entry.size);
      for (let at = 0; at < bytes.length; ) {
        const count = file.read(bytes.subarray(at), at);
        if (count === 0) return undefined;
        at += count;
      }
      return equalBytes(keyOf('file', bytes), keyBytes(contentOf(entry))) ? bytes : undefined;
    } catch (error) {
      if (FileSystemError.is(error) && changedUnderfoot.has(error.errno)) return undefined;
      throw error;
    }
  };
}

const changedUnderfoot: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENXIO']);

/** Opens a file through the directories above it, following no link. */
function openBelow(root: Dir, path: Uint8Array): File {
  const { parent, name } = split(path);
  using directory = openDirectory(root, parent);
  return directory.openFile(name);
}

function openDirectory(root: Dir, path: Uint8Array): Dir {
  if (path.length === 0) return root.retain();
  const { parent, name } = split(path);
  using directory = openDirectory(root, parent);
  return directory.openDir(name);
}

function fileOf(entry: TreeEntry | undefined): TreeEntry | undefined {
  return entry?.kind === 'file' ? entry : undefined;
}
