import { encodePathText, HoldfastError, Pacer, throwIfAborted } from '@holdfast/base';

import type { Dropped, SnapshotProgress, SnapshotResult } from '../../capture-options.js';
import { CollectedError, SnapshotError } from '../../errors.js';
import { completeLimits, type Limits } from '../../limits.js';
import { refOfRootKey } from '../../ref.js';
import { commitArchives } from '../commit.js';
import { ContentWriter } from '../content-writer.js';
import { addObject } from '../object-adding.js';
import { keyText } from '../object-key.js';
import { ObjectTable } from '../object-table.js';
import { encodeRoot } from '../root-object.js';
import { SnapshotSink } from '../snapshot-sink.js';
import type { StoreContext } from '../store-context.js';
import { ImportedTree } from './imported-tree.js';
import { readStrictTar, type TarEntry } from './strict-tar.js';

export interface ImportOptions {
  readonly limits?: Partial<Limits> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: SnapshotProgress) => void) | undefined;
}

/**
 * Stores what a tar stream describes as a snapshot. The stream is refused as a whole before anything of it is visible.
 *
 * 1. Every entry is checked and its content put, as archives fill. 2. The commit slot is won: point of no return. 3. The
 * copy of the record is durable.
 */
export async function importTar(
  context: StoreContext,
  stream: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<SnapshotResult> {
  const limits = completeLimits(options.limits, context.limits);
  const started = context.clock.monotonic();
  try {
    const sink = new SnapshotSink(context, new ObjectTable(), options);
    const { tree, dropped } = await readInto(sink, stream, limits, options);
    const treeKey = await tree.store(sink, options.signal);
    const rootKey = addObject(
      sink,
      'root',
      encodeRoot({ treeKey, mode: tree.root.mode, omitted: [], rules: [] }),
    );
    await sink.flush();
    const ref = refOfRootKey(keyText(rootKey));
    const { entries, files, bytes } = tree.totals;
    const stats = { entries, files, bytes, stored: sink.bytesStored };
    let outcome = await commitArchives(context, ref, sink.archives, stats, options);
    // Retired meanwhile: the archives are ours and new, so a second proof settles it.
    if ('absent' in outcome && outcome.absent.size === 0) {
      outcome = await commitArchives(context, ref, sink.archives, stats, options);
    }
    if ('absent' in outcome) throw new CollectedError(ref, [...outcome.absent][0] ?? 'its own');
    const durationMs = context.clock.monotonic() - started;
    return {
      ref,
      hold: outcome.hold,
      stats: {
        entries,
        files,
        bytes,
        filesRead: files,
        bytesRead: bytes,
        bytesStored: sink.bytesStored,
        durationMs,
      },
      coverage: { omitted: [], dropped, raced: [] },
    };
  } catch (error) {
    throwIfAborted(options.signal);
    if (error instanceof HoldfastError && error.code.startsWith('WORKSPACE_')) throw error;
    throw new SnapshotError('tar stream', { cause: error });
  }
}

async function readInto(
  sink: SnapshotSink,
  stream: AsyncIterable<Uint8Array>,
  limits: Limits,
  options: ImportOptions,
): Promise<{ tree: ImportedTree; dropped: Dropped[] }> {
  const tree = new ImportedTree(limits);
  const dropped: Dropped[] = [];
  const pacer = new Pacer();
  const rest = async (): Promise<void> => {
    throwIfAborted(options.signal);
    if (sink.full) await sink.relieve();
    if (!pacer.due) return;
    const { entries, files, bytes } = tree.totals;
    options.onProgress?.({ phase: 'storing', entries, files, bytes, filesRead: files, bytesRead: bytes });
    await pacer.rest(options.signal);
  };
  for await (const entry of readStrictTar(stream)) {
    tree.check(entry);
    noteDrops(entry, dropped);
    if (entry.kind === 'directory') tree.addDirectory(entry);
    else if (entry.kind === 'symlink') {
      tree.addLeaf(entry, { kind: 'symlink', mode: 0, size: 0, value: entry.target as Uint8Array });
    } else if (entry.kind === 'hard-link') tree.addLeaf(entry, tree.linked(entry));
    else {
      const writer = new ContentWriter(sink);
      for await (const piece of entry.content) {
        writer.write(piece);
        await rest();
      }
      tree.addLeaf(entry, {
        kind: 'file',
        mode: entry.mode & 0o777,
        size: entry.size,
        value: writer.finish(),
      });
    }
    await rest();
  }
  return { tree, dropped };
}

function noteDrops(entry: TarEntry, dropped: Dropped[]): void {
  const path = encodePathText(entry.path);
  if (entry.kind !== 'symlink') {
    if ((entry.mode & 0o4000) !== 0) dropped.push({ path, what: 'setuid' });
    if ((entry.mode & 0o2000) !== 0) dropped.push({ path, what: 'setgid' });
    if ((entry.mode & 0o1000) !== 0) dropped.push({ path, what: 'sticky' });
  }
  if (entry.dropped.length > 0) dropped.push({ path, what: 'metadata' });
}
