import { parentPort, receiveMessageOnPort } from 'node:worker_threads';

import { systemClock } from '@holdfast/base';
import { Dir, nodeFileSystem } from '@holdfast/durable';

import { TreeChangedError } from '../../errors.js';
import { AddedObjects } from '../added-objects.js';
import { Capture } from '../capture.js';
import type { CaptureResult, ObjectSink } from '../capture-types.js';
import { FrameBuilder, frameTargetBytes, type RawFrame } from '../frame-builder.js';
import { encodeFrame } from '../frame-codec.js';
import { IgnoreMatcher } from '../ignore-matcher.js';
import { ObjectLookup } from '../object-lookup.js';
import { Scout, Scouted } from '../scout.js';
import { StatTable } from '../stat-table.js';
import {
  type CaptureJob,
  type CompressJob,
  controlWords,
  type EngineJob,
  type EngineReply,
  type ExpandJob,
  mostOnTheWay,
  type ScoutJob,
  type WriteJob,
} from './engine-messages.js';
import { transferError } from './error-transfer.js';
import { type ExpandedFrame, expandFrames } from './expand-frames.js';
import { packObjects } from './frame-objects.js';
import { writeFrames } from './write-frames.js';

/** Entries between two looks at the clock, and milliseconds between two reports. */
const stepsBetweenLooks = 256;
const reportMs = 100;

class AbortedByFlag extends Error {}

function reply(message: EngineReply, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

parentPort?.on('message', (job: EngineJob) => {
  if (job.type === 'compress') compress(job);
  else if (job.type === 'expand') expand(job);
  else if (job.type === 'scout') scout(job);
  else if (job.type === 'write') write(job);
  else runCapture(job);
});

function compress(job: CompressJob): void {
  const { codec, bytes } = encodeFrame(job.bytes, job.compression);
  // What is handed over is exactly as large as its content.
  const owned = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  const transfer = [owned.buffer as ArrayBuffer];
  // The raw buffer goes back to be filled again, unless it is what was asked for.
  const spare = job.bytes.buffer as ArrayBuffer;
  const reusable = spare.byteLength === frameTargetBytes && !transfer.includes(spare) ? spare : undefined;
  if (reusable !== undefined) transfer.push(reusable);
  reply({ type: 'compressed', id: job.id, codec, bytes: owned, spare: reusable }, transfer);
}

function expand(job: ExpandJob): void {
  let frames: ExpandedFrame[];
  try {
    frames = expandFrames(job.bytes, job.frames).map(({ raw, proved }) => ({
      raw: raw && owned(raw),
      proved,
    }));
  } catch {
    // Whoever asked does it again, in a place where a failure can be reported.
    reply({ type: 'expanded', id: job.id, frames: undefined });
    return;
  }
  const buffers = new Set<ArrayBuffer>();
  for (const { raw } of frames) if (raw !== undefined) buffers.add(raw.buffer as ArrayBuffer);
  reply({ type: 'expanded', id: job.id, frames }, [...buffers]);
}

/** Small buffers may be parts of one that is shared, and cannot be handed over. */
function owned(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > 2 * bytes.byteLength ? bytes.slice() : bytes;
}

function scout({ id, root: path, ino, previous, parts }: ScoutJob): void {
  try {
    const fileSystem = nodeFileSystem();
    using root = Dir.openRoot(fileSystem, path);
    if (root.stat().ino === ino)
      new Scout(fileSystem, StatTable.fromParts(previous), parts).run(root.handle());
  } catch {
    // A scout helps as far as it comes; the capture meets what stopped it.
  }
  reply({ type: 'scouted', id });
}

function write({ id, ...job }: WriteJob): void {
  reply({ type: 'written', id, result: writeFrames(nodeFileSystem(), job) });
}

function runCapture(job: CaptureJob): void {
  const control = new Int32Array(job.control);
  try {
    const { table, ...result } = capture(job, control);
    reply({ type: 'captured', result, table: table.toParts() });
  } catch (error) {
    if (error instanceof AbortedByFlag) reply({ type: 'aborted' });
    else reply({ type: 'failed', error: transferError(error) });
  } finally {
    job.spares.close();
  }
}

function capture(job: CaptureJob, control: Int32Array): CaptureResult {
  const fileSystem = nodeFileSystem();
  const sink = new PostingSink(job, control);
  const previous = job.previous === undefined ? undefined : StatTable.fromParts(job.previous);
  const rules = { ...job.rules, ignore: new IgnoreMatcher(job.rules.ignore) };
  using root = Dir.openRoot(fileSystem, job.root);
  if (root.stat().ino !== job.ino) throw new TreeChangedError('.');
  const scouted = job.scouted === undefined ? undefined : new Scouted(job.scouted);
  const running = new Capture(fileSystem, rules, previous, sink, scouted);
  const steps = running.run(root.handle());
  let reported = systemClock.monotonic();
  try {
    for (let count = 1; ; count += 1) {
      const step = steps.next();
      if (step.done === true) {
        sink.flush();
        return step.value;
      }
      if (Atomics.load(control, controlWords.abort) !== 0) throw new AbortedByFlag();
      if (count % stepsBetweenLooks !== 0 || systemClock.monotonic() - reported < reportMs) continue;
      reported = systemClock.monotonic();
      reply({ type: 'progress', totals: { ...running.totals } });
    }
  } finally {
    steps.return(undefined as never);
  }
}

/** Hands frames to the thread that asked, waiting when that one falls behind. */
class PostingSink implements ObjectSink {
  readonly #known: ObjectLookup | undefined;
  readonly #added = new AddedObjects();
  readonly #control: Int32Array;
  readonly #data: FrameBuilder;
  readonly #trees: FrameBuilder;

  constructor(job: CaptureJob, control: Int32Array) {
    this.#known = job.closure === undefined ? undefined : ObjectLookup.fromParts(job.closure);
    this.#control = control;
    const spare = (): Uint8Array | undefined => {
      const received = receiveMessageOnPort(job.spares) as { message: ArrayBuffer } | undefined;
      return received === undefined ? undefined : new Uint8Array(received.message);
    };
    this.#data = new FrameBuilder((frame) => {
      this.#post('data', frame);
    }, spare);
    this.#trees = new FrameBuilder((frame) => {
      this.#post('trees', frame);
    }, spare);
  }

  has: ObjectSink['has'] = (kind, key) => {
    return this.#known === undefined || this.#known.has(kind, key) || this.#added.has(kind, key);
  };

  add: ObjectSink['add'] = (kind, key, bytes) => {
    this.#added.add(kind, key);
    (kind === 'file' || kind === 'chunk' ? this.#data : this.#trees).add(kind, key, bytes);
  };

  flush(): void {
    this.#data.flush();
    this.#trees.flush();
  }

  #post(group: 'data' | 'trees', frame: RawFrame): void {
    const { onTheWay, abort } = controlWords;
    for (;;) {
      const waiting = Atomics.load(this.#control, onTheWay);
      if (waiting < mostOnTheWay) break;
      if (Atomics.load(this.#control, abort) !== 0) throw new AbortedByFlag();
      Atomics.wait(this.#control, onTheWay, waiting, reportMs);
    }
    Atomics.add(this.#control, onTheWay, frame.bytes.length >> 10);
    const objects = packObjects(frame.objects);
    reply({ type: 'frame', group, bytes: frame.bytes, objects }, [
      frame.bytes.buffer as ArrayBuffer,
      objects.buffer as ArrayBuffer,
    ]);
  }
}
