import { encodePathText, Pacer } from '@holdfast/base';

import { type Ref, rootKeyOfRef } from '../ref.js';
import { FormatFault } from './byte-reader.js';
import { commitArchives } from './commit.js';
import { byteText, joinPath } from './entry-path.js';
import { keyBytes, keyOf, type ObjectKind } from './object-key.js';
import { ObjectTable, type OpenArchive } from './object-table.js';
import type { RootState } from './root-state.js';
import { SnapshotSink } from './snapshot-sink.js';
import { openSnapshot, type StoreContext } from './store-context.js';
import { readDirectory, readRoot } from './tree-reading.js';

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** A closure of more than this many times the tree's own bytes is rebased. */
const mostWaste = 3;

/** Raw bytes below which waste is not worth a request. */
const leastTotal = 2 ** 20;

/** Archives with less than this share of live bytes are left behind. */
const leastLive = 0.25;

/** Raw bytes that one call rewrites at most. */
const mostRewritten = 64 * 2 ** 20;

/**
 * Rewrites what a root's tree still needs of archives that are mostly dead, so that later snapshots need not name them.
 * Nothing of what is stored changes: older snapshots keep their archives.
 *
 * 1. The new archives are durable. 2. A further record of the ref names them.
 */
export async function rebaseClosure(
  context: StoreContext,
  state: RootState,
  options: Options,
): Promise<RootState | undefined> {
  const { committed } = state;
  if (committed === undefined) return undefined;
  const { closure } = committed;
  // Too little for waste to matter: not worth a walk.
  if (closure.archives.length < 2 || rawBytes(closure) < leastTotal) return undefined;
  const live = await liveObjects(context, state, options);
  const sizes = closure.archives.map((archive) => measure(archive, live));
  const total = sizes.reduce((sum, size) => sum + size.all, 0);
  const needed = sizes.reduce((sum, size) => sum + size.live, 0);
  if (total <= mostWaste * needed) return undefined;
  const left = new Set<OpenArchive>();
  let rewritten = 0;
  for (const [position, archive] of closure.archives.entries()) {
    const { all, live: alive } = sizes[position] as { all: number; live: number };
    if (alive >= leastLive * all || rewritten + alive > mostRewritten) continue;
    left.add(archive);
    rewritten += alive;
  }
  if (left.size === 0) return undefined;
  const rest = new ObjectTable();
  for (const archive of closure.archives) if (!left.has(archive)) rest.add(archive);
  const sink = new SnapshotSink(context, rest, options);
  for (const archive of left) {
    // A root with damage in it keeps the archives it has: what is whole in them may be all there is.
    if (!(await copyLive(context, archive, live, sink, options))) return undefined;
  }
  await sink.flush();
  for (const archive of sink.archives) {
    const opened = await context.archives.open(archive, options);
    if (opened !== undefined) rest.add(opened);
  }
  return (await commitAgain(context, committed.ref, rest, options))
    ? { ...state, committed: { ...committed, closure: rest } }
    : undefined;
}

/**
 * Commits the ref once more, with the archives that are left: whoever restores it needs fewer, and a collection keeps them
 * for as long as it keeps the ref. The record is not kept for its own sake, because the ref has one that is.
 */
async function commitAgain(
  context: StoreContext,
  ref: Ref,
  closure: ObjectTable,
  options: Options,
): Promise<boolean> {
  const { record } = await openSnapshot(context, ref, options);
  const archives = closure.archives.map((archive) => archive.ref);
  const outcome = await commitArchives(context, ref, archives, record.stats, options);
  if ('absent' in outcome) return false;
  context.log.release(outcome.hold);
  return true;
}

/** The objects that the tree consists of, chunks and chunk lists included. */
async function liveObjects(
  context: StoreContext,
  state: RootState,
  options: Options,
): Promise<ReadonlySet<string>> {
  const { ref, closure } = state.committed as NonNullable<RootState['committed']>;
  const live = new Set<string>();
  const note = (kind: ObjectKind, key: Uint8Array): void => {
    live.add(kind + byteText(key));
  };
  const noteLarge = async (kind: 'root' | 'tree' | 'file', key: Uint8Array, path: string): Promise<void> => {
    note(kind, key);
    if (closure.locate('chunklist', key).length === 0) return;
    note('chunklist', key);
    const list = await context.reader.readChunkList(closure, kind, key, { ref, path, ...options });
    for (const chunk of list?.chunks ?? []) note('chunk', chunk.key);
  };
  await noteLarge('root', keyBytes(rootKeyOfRef(ref)), '');
  const root = await readRoot(context.reader, closure, ref, options);
  const stack: { path: Uint8Array; key: Uint8Array }[] = [{ path: new Uint8Array(0), key: root.treeKey }];
  const pacer = new Pacer();
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (pacer.due) await pacer.rest(options.signal);
    await noteLarge('tree', top.key, encodePathText(top.path));
    for (const row of await readDirectory(context.reader, closure, ref, top.path, top.key, options)) {
      const path = joinPath(top.path, row.name);
      if (row.kind === 'directory') stack.push({ path, key: row.value });
      if (row.kind === 'file') await noteLarge('file', row.value, encodePathText(path));
    }
  }
  return live;
}

function rawBytes({ archives }: ObjectTable): number {
  let sum = 0;
  for (const { tail } of archives) {
    for (let frame = 0; frame < tail.index.frameCount; frame += 1) sum += tail.index.frame(frame).rawLength;
  }
  return sum;
}

function measure({ tail: { index } }: OpenArchive, live: ReadonlySet<string>): { all: number; live: number } {
  const size = { all: 0, live: 0 };
  for (let row = 0; row < index.rowCount; row += 1) {
    const { kind, key, length } = index.row(row);
    size.all += length;
    if (live.has(kind + byteText(key))) size.live += length;
  }
  return size;
}

/** Copies what is live in one archive; `false` when some of it is damaged. */
async function copyLive(
  context: StoreContext,
  archive: OpenArchive,
  live: ReadonlySet<string>,
  sink: SnapshotSink,
  options: Options,
): Promise<boolean> {
  const { index } = archive.tail;
  const byFrame = new Map<number, number[]>();
  for (let row = 0; row < index.rowCount; row += 1) {
    const { kind, key, frame } = index.row(row);
    if (!live.has(kind + byteText(key)) || sink.has(kind, key)) continue;
    const rows = byFrame.get(frame);
    if (rows === undefined) byFrame.set(frame, [row]);
    else rows.push(row);
  }
  for (const [frame, rows] of byFrame) {
    const raw = await readFrame(context, archive, frame, options);
    if (raw === undefined) return false;
    for (const row of rows) {
      const { kind, key, offset, length } = index.row(row);
      const bytes = raw.subarray(offset, offset + length);
      if (kind !== 'chunklist' && Buffer.compare(keyOf(kind, bytes), key) !== 0) return false;
      sink.add(kind, key, bytes);
    }
    if (sink.full) await sink.relieve();
  }
  return true;
}

async function readFrame(
  context: StoreContext,
  archive: OpenArchive,
  frame: number,
  options: Options,
): Promise<Uint8Array | undefined> {
  try {
    return await context.reader.readFrame(archive, frame, options.signal);
  } catch (error) {
    if (error instanceof FormatFault) return undefined;
    throw error;
  }
}
