import { encodePathText, equalBytes, Pacer, throwIfAborted } from '@holdfast/base';

import type { TreeEntry } from '../tree.js';
import type { FrameLocation } from './archive-index.js';
import { FormatFault } from './byte-reader.js';
import type { WrittenFiles, WrittenFrame } from './engine/engine-messages.js';
import type { EnginePool } from './engine/engine-pool.js';
import { type ExpandedFrame, expandFrames, type StoredFrame } from './engine/expand-frames.js';
import { packObjects } from './engine/frame-objects.js';
import { joinPaths } from './engine/write-frames.js';
import { emptyFileKey, keyBytes } from './object-key.js';
import type { ObjectReader } from './object-reader.js';
import type { ObjectTable, OpenArchive } from './object-table.js';

/** A file whose content is wanted, and the snapshot that has it. */
export interface WantedFile {
  readonly entry: TreeEntry;
  readonly ref: string;
  readonly table: ObjectTable;
}

/** Takes contents. Small files come whole and verified; large ones in verified pieces, the whole proved at the end. */
export interface ContentReceiver {
  whole(entry: TreeEntry, bytes: Uint8Array): void | Promise<void>;
  pieces(entry: TreeEntry, pieces: AsyncIterable<Uint8Array>): Promise<void>;
  /** Where other threads may write whole files, in place of handing over their contents. */
  readonly place?: WritingPlace | undefined;
}

/** A directory below which other threads write files. */
export interface WritingPlace {
  /** As `shareDirectory` names it. */
  readonly root: string;
  /** A file was written, of proved bytes. */
  written(entry: TreeEntry): void;
  /** It was not, or not to its end: removes what there is of it, before its content is handed over. */
  undo(entry: TreeEntry): void;
  /** A mode did not stick. */
  lostMode(): void;
}

export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Threads for the unpacking, when there is much to unpack. */
  readonly engine?: EnginePool | undefined;
  /** Called at every rest of the loop. */
  readonly onRest?: (() => void) | undefined;
}

/** Files of one frame that are wanted, by where they lie in it. */
interface WantedFrame {
  readonly archive: OpenArchive;
  readonly index: number;
  readonly location: FrameLocation;
  readonly objects: { readonly file: WantedFile; readonly offset: number; readonly length: number }[];
}

/** Neighbouring frames that are read in one request. */
interface Run {
  readonly archive: OpenArchive;
  readonly start: number;
  end: number;
  readonly frames: WantedFrame[];
}

const parallelRuns = 4;
/** Bytes as they are stored from which other threads are worth their start. */
const muchBytes = 4 * 2 ** 20;
const runBytes = 2 * 2 ** 20;
const gapBytes = 64 * 1024;

/**
 * Fetches the content of many files: grouped by archive and frame, neighbouring frames in one ranged read, a few reads
 * ahead of what is being unpacked.
 */
export async function fetchContents(
  reader: ObjectReader,
  files: readonly WantedFile[],
  receiver: ContentReceiver,
  options: FetchOptions,
): Promise<void> {
  const { frames, others } = await sortOut(files, options.signal);
  const runs = joinFrames(frames);
  const stored = runs.reduce((sum, { start, end }) => sum + end - start, 0);
  const engine = options.engine?.hasThreads === true && stored >= muchBytes ? options.engine : undefined;
  const place = engine === undefined ? undefined : receiver.place;
  const pacer = new Pacer();
  const rest = async (): Promise<void> => {
    if (!pacer.due) return;
    options.onRest?.();
    await pacer.rest(options.signal);
  };
  let failed = false;
  const deliverRuns = async (): Promise<void> => {
    const ahead: Promise<RunContents>[] = [];
    try {
      for (const [position, run] of runs.entries()) {
        while (ahead.length < Math.min(runs.length, position + parallelRuns)) {
          const reading = readRun(reader, runs[ahead.length] as Run, engine, place, options.signal);
          // A failure is met when its turn comes.
          reading.catch(() => undefined);
          ahead.push(reading);
        }
        const contents = await (ahead[position] as Promise<RunContents>);
        ahead[position] = Promise.resolve({});
        throwIfAborted(options.signal);
        for (const at of run.frames.keys())
          await deliverFrame(reader, run, at, contents, receiver, options, rest);
        if (failed) return;
      }
    } finally {
      await Promise.allSettled(ahead);
    }
  };
  const deliverOthers = async (): Promise<void> => {
    for (const file of others) {
      throwIfAborted(options.signal);
      if (failed) return;
      await deliverAlone(reader, file, receiver, options);
      await rest();
    }
  };
  if (place === undefined) {
    await deliverRuns();
    await deliverOthers();
    return;
  }
  // Other threads do the most of the first: this one has time for large files meanwhile.
  const noted = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  const ends = await Promise.allSettled([noted(deliverRuns()), noted(deliverOthers())]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** Splits files into those that lie whole in a frame and the others: empty, in chunks, or missing. */
async function sortOut(
  files: readonly WantedFile[],
  signal: AbortSignal | undefined,
): Promise<{ frames: WantedFrame[]; others: WantedFile[] }> {
  const frames = new Map<string, WantedFrame>();
  const others: WantedFile[] = [];
  const pacer = new Pacer();
  for (const file of files) {
    if (pacer.due) await pacer.rest(signal);
    const [place] = file.table.locate('file', keyBytes(contentOf(file.entry)));
    if (place === undefined) {
      others.push(file);
      continue;
    }
    const { archive, row } = place;
    const name = `${archive.ref.name}:${row.frame}`;
    let frame = frames.get(name);
    if (frame === undefined) {
      frame = { archive, index: row.frame, location: archive.tail.index.frame(row.frame), objects: [] };
      frames.set(name, frame);
    }
    frame.objects.push({ file, offset: row.offset, length: row.length });
  }
  return { frames: [...frames.values()], others };
}

function joinFrames(frames: readonly WantedFrame[]): Run[] {
  const order = new Map<string, number>();
  for (const { archive } of frames) if (!order.has(archive.ref.name)) order.set(archive.ref.name, order.size);
  const orderOf = (frame: WantedFrame): number => order.get(frame.archive.ref.name) as number;
  const sorted = [...frames].sort((a, b) => orderOf(a) - orderOf(b) || a.index - b.index);
  const runs: Run[] = [];
  for (const frame of sorted) {
    const { offset, storedLength } = frame.location;
    const last = runs.at(-1);
    const end = offset + storedLength;
    if (last?.archive === frame.archive && offset - last.end <= gapBytes && end - last.start <= runBytes) {
      last.end = Math.max(last.end, end);
      last.frames.push(frame);
    } else {
      runs.push({ archive: frame.archive, start: offset, end, frames: [frame] });
    }
  }
  return runs;
}

/** What became of the frames of a run: they were expanded, or files were written of them. */
interface RunContents {
  readonly expanded?: readonly ExpandedFrame[] | undefined;
  readonly files?: WrittenFiles | undefined;
}

/**
 * Reads, expands and proves the frames of a run. A fault is a result here: the files concerned are looked for elsewhere.
 */
async function readRun(
  reader: ObjectReader,
  run: Run,
  engine: EnginePool | undefined,
  place: WritingPlace | undefined,
  signal: AbortSignal | undefined,
): Promise<RunContents> {
  let bytes: Uint8Array;
  try {
    bytes = await reader.readRange(run.archive, run.start, run.end, signal);
  } catch (error) {
    if (error instanceof FormatFault) return {};
    throw error;
  }
  const frames = run.frames.map((frame) => storedFrame(frame, run));
  if (engine === undefined) return { expanded: expandFrames(bytes, frames) };
  if (place === undefined) return { expanded: await engine.expand(bytes, frames) };
  const wanted = frames.map((frame, at): WrittenFrame => {
    const entries = (run.frames[at] as WantedFrame).objects.map(({ file }) => file.entry);
    const modes = Uint16Array.from(entries, ({ mode }) => mode);
    return { ...frame, paths: joinPaths(entries.map(({ path }) => path)), modes };
  });
  return { files: await engine.write(bytes, wanted, place.root) };
}

function storedFrame({ location, objects }: WantedFrame, run: Run): StoredFrame {
  const { offset, storedLength, codec, rawLength } = location;
  const wanted = objects.map(({ file, ...place }) => {
    return { kind: 'file' as const, key: keyBytes(contentOf(file.entry)), ...place };
  });
  return { start: offset - run.start, storedLength, codec, rawLength, objects: packObjects(wanted) };
}

async function deliverFrame(
  reader: ObjectReader,
  run: Run,
  at: number,
  { expanded, files }: RunContents,
  receiver: ContentReceiver,
  options: FetchOptions,
  rest: () => Promise<void>,
): Promise<void> {
  const frame = run.frames[at] as WantedFrame;
  const frameContent = expanded?.[at];
  const written = files?.written[at];
  const { place } = receiver;
  if (files?.modesKept === false) place?.lostMode();
  for (const [position, { file, offset, length }] of frame.objects.entries()) {
    const { entry } = file;
    const rightLength = length === entry.size;
    const proved = rightLength && frameContent?.proved[position] === 1;
    const content = proved ? frameContent.raw?.subarray(offset, offset + length) : undefined;
    if (rightLength && written?.[position] === 1) {
      place?.written(entry);
    } else if (content !== undefined) {
      const done = receiver.whole(entry, content);
      if (done !== undefined) await done;
    } else {
      place?.undo(entry);
      await deliverAlone(reader, file, receiver, options);
    }
    await rest();
  }
}

/** The slow way: tries every place, and says what is wrong when none serves. */
async function deliverAlone(
  reader: ObjectReader,
  file: WantedFile,
  receiver: ContentReceiver,
  options: FetchOptions,
): Promise<void> {
  const { entry, table } = file;
  const key = keyBytes(contentOf(entry));
  if (entry.size === 0 && equalBytes(key, emptyFileKey)) {
    await receiver.whole(entry, new Uint8Array(0));
    return;
  }
  const wanted = { ref: file.ref, path: encodePathText(entry.path), signal: options.signal };
  if (table.locate('file', key).length > 0) {
    await receiver.whole(entry, await reader.readWhole(table, 'file', key, wanted));
    return;
  }
  // In this thread: chunks that are handed over faster than they are freed cost more memory than a large file may.
  const pieces = reader.read(table, 'file', key, wanted);
  await receiver.pieces(entry, pieces);
}

/** @throws TypeError when the entry is no file. */
export function contentOf(entry: TreeEntry): string {
  if (entry.kind !== 'file' || entry.content === undefined) {
    throw new TypeError(`fetch: ${JSON.stringify(encodePathText(entry.path))} is no file entry of a tree`);
  }
  return entry.content;
}
