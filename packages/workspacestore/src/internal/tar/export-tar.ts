import { encodePathText, Pacer } from '@holdfast/base';
import { type Pack, pack } from 'tar-stream';

import { ArchiveEntryError } from '../../errors.js';
import type { Tree, TreeEntry } from '../../tree.js';
import { contentOf } from '../content-fetch.js';
import { emptyFileKey, keyBytes } from '../object-key.js';
import type { ObjectReader } from '../object-reader.js';
import type { ObjectTable } from '../object-table.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a tree as a plain tar stream: entries in canonical order, owner 0, time 0, so that the same tree gives the same
 * bytes. Names must be UTF-8, which is all that the format can carry.
 * @throws ArchiveEntryError before the first byte when a name cannot be carried.
 */
export async function* exportTar(
  reader: ObjectReader,
  tree: Tree,
  table: ObjectTable,
  options: Options,
): AsyncGenerator<Uint8Array> {
  const names = tree.entries.map((entry) => tarName(entry));
  const tar = pack();
  const writing = writeEntries(tar, reader, tree, table, names, options).then(
    () => {
      tar.finalize();
    },
    (error: unknown) => {
      tar.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    },
  );
  writing.catch(() => undefined);
  try {
    for await (const piece of tar as AsyncIterable<Uint8Array>) yield piece;
    await writing;
  } finally {
    tar.destroy();
  }
}

async function writeEntries(
  tar: Pack,
  reader: ObjectReader,
  tree: Tree,
  table: ObjectTable,
  names: readonly string[],
  options: Options,
): Promise<void> {
  const pacer = new Pacer();
  for (const [position, entry] of tree.entries.entries()) {
    if (pacer.due) await pacer.rest(options.signal);
    const common = { name: names[position] as string, mode: entry.mode, mtime: new Date(0), uid: 0, gid: 0 };
    if (entry.kind === 'directory') await entryDone(tar, { ...common, type: 'directory' });
    else if (entry.kind === 'symlink') {
      const linkname = Buffer.from(entry.target as Uint8Array).toString();
      await entryDone(tar, { ...common, mode: 0o777, type: 'symlink', linkname });
    } else await writeFile(tar, reader, tree, table, entry, common, options);
  }
}

async function writeFile(
  tar: Pack,
  reader: ObjectReader,
  tree: Tree,
  table: ObjectTable,
  entry: TreeEntry,
  common: { name: string; mode: number; mtime: Date; uid: number; gid: number },
  options: Options,
): Promise<void> {
  const key = keyBytes(contentOf(entry));
  if (Buffer.compare(key, emptyFileKey) === 0) {
    await entryDone(tar, { ...common, type: 'file' }, '');
    return;
  }
  const pieces = reader.read(table, 'file', key, {
    ref: tree.ref,
    path: encodePathText(entry.path),
    ...options,
  });
  let sink: Sink | undefined;
  const done = new Promise<void>((resolve, reject) => {
    sink = tar.entry({ ...common, type: 'file', size: entry.size }, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
  done.catch(() => undefined);
  for await (const piece of pieces) await writePiece(sink as Sink, piece);
  (sink as Sink).end(undefined);
  await done;
}

type Sink = ReturnType<Pack['entry']>;

/** Resolves when there is room for more. */
async function writePiece(sink: Sink, piece: Uint8Array): Promise<void> {
  if (sink.write(piece)) return;
  await new Promise<void>((resolve) => {
    sink.once('drain', () => {
      resolve();
    });
  });
}

/** Adds an entry whose content, if it has any, is known; links and directories have none. */
function entryDone(tar: Pack, header: Parameters<Pack['entry']>[0], content?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => {
      if (error) reject(error);
      else resolve();
    };
    if (content === undefined) tar.entry(header, done);
    else tar.entry(header, content, done);
  });
}

function tarName(entry: TreeEntry): string {
  for (const bytes of [entry.path, entry.target]) {
    if (bytes === undefined) continue;
    if (Buffer.compare(Buffer.from(Buffer.from(bytes).toString()), bytes) !== 0) {
      throw new ArchiveEntryError(
        encodePathText(entry.path),
        'name-not-utf8',
        'a tar file can hold UTF-8 names only',
      );
    }
  }
  const name = Buffer.from(entry.path).toString();
  return entry.kind === 'directory' ? `${name}/` : name;
}
