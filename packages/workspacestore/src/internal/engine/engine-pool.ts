import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type MessagePort, Worker } from 'node:worker_threads';

import type { BuiltFrame, FrameObject } from '../archive-writer.js';
import type { Compression } from '../frame-codec.js';
import type {
  CaptureJob,
  CompressJob,
  EngineReply,
  ExpandJob,
  ScoutJob,
  WriteJob,
  WrittenFiles,
  WrittenFrame,
} from './engine-messages.js';
import type { ExpandedFrame, StoredFrame } from './expand-frames.js';

const mostCompressors = 4;

/** These threads keep few objects: small young generations cost nothing and save tens of MiB. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

type FrameJob = CompressJob | ExpandJob | ScoutJob | WriteJob;
type FrameReply = Extract<EngineReply, { readonly type: (typeof frameReplies)[number] }>;
const frameReplies = ['compressed', 'expanded', 'scouted', 'written'] as const;

/** Takes the replies of one capture. */
export type ReplyListener = (reply: EngineReply | Error) => void;

/**
 * The threads of one store: one that captures, some that compress and expand frames and scout for it. Started when they are first needed, kept warm, never
 * in the way of the process's end.
 */
export class EnginePool {
  #url: URL | undefined;
  #capturing: Worker | undefined;
  #captureBusy = false;
  /** Where buffers that were compressed go back to. */
  #spares: MessagePort | undefined;
  #compressors: Worker[] = [];
  readonly #waiting = new Map<number, { resolve(value: FrameReply): void; reject(error: unknown): void }>();
  #nextId = 0;

  constructor(allowed: boolean) {
    this.#url = allowed ? workerUrl() : undefined;
  }

  /** Tells whether threads can be used here and the capturing one is free. */
  get available(): boolean {
    return this.#url !== undefined && !this.#captureBusy;
  }

  /** Runs one capture; `listener` gets its replies until one ends it. */
  capture(job: CaptureJob, spares: MessagePort, listener: ReplyListener): void {
    this.#captureBusy = true;
    const worker = (this.#capturing ??= this.#start());
    worker.ref();
    const finish = (reply: EngineReply | Error): void => {
      worker.unref();
      worker.off('message', onMessage);
      worker.off('error', onError);
      this.#captureBusy = false;
      this.#spares = undefined;
      listener(reply);
    };
    const onMessage = (reply: EngineReply): void => {
      if (reply.type === 'frame' || reply.type === 'progress') listener(reply);
      else finish(reply);
    };
    const onError = (error: Error): void => {
      // A thread that cannot run, or died, is not tried again.
      this.#capturing = undefined;
      this.#url = undefined;
      finish(error);
    };
    worker.on('message', onMessage);
    worker.once('error', onError);
    this.#spares = spares;
    worker.postMessage(job, [job.spares]);
  }

  /** Compresses one frame, whose bytes are given away. */
  async compress(
    bytes: Uint8Array,
    objects: readonly FrameObject[],
    compression: Compression,
  ): Promise<BuiltFrame> {
    const rawLength = bytes.length;
    if (compression === 'none') return { codec: 0, bytes, rawLength, objects };
    const job = { type: 'compress', id: this.#nextId++, bytes, compression } as const;
    const reply = await this.#runFrames(job, bytes);
    if (reply.type !== 'compressed') throw new Error(`a compression ended with ${reply.type}`);
    return { codec: reply.codec, bytes: reply.bytes, rawLength, objects };
  }

  /** Whether frames can be worked on in other threads. */
  get hasThreads(): boolean {
    return this.#url !== undefined;
  }

  /** Expands stored frames, whose bytes are given away. `undefined` when no thread could do it. */
  async expand(
    bytes: Uint8Array,
    frames: readonly StoredFrame[],
  ): Promise<readonly ExpandedFrame[] | undefined> {
    const owned = ownedBytes(bytes);
    try {
      const job = { type: 'expand', id: this.#nextId++, bytes: owned, frames } as const;
      const reply = await this.#runFrames(job, owned);
      return reply.type === 'expanded' ? reply.frames : undefined;
    } catch {
      // A thread that is gone, which the next one to need it will report or replace.
      return undefined;
    }
  }

  /**
   * Expands stored frames, whose bytes are given away, and writes files of them. `undefined` when no thread could do it; it
   * may have written some.
   */
  async write(
    bytes: Uint8Array,
    frames: readonly WrittenFrame[],
    root: string,
  ): Promise<WrittenFiles | undefined> {
    const owned = ownedBytes(bytes);
    try {
      const job = { type: 'write', id: this.#nextId++, bytes: owned, frames, root } as const;
      const reply = await this.#runFrames(job, owned);
      return reply.type === 'written' ? reply.result : undefined;
    } catch {
      // As above.
      return undefined;
    }
  }

  /** Whether a scout would run beside a capture and not instead of it. */
  get canScout(): boolean {
    return this.#url !== undefined && availableParallelism() > 1;
  }

  /** Runs a scout until it meets the capture, or is stopped. */
  async scout(job: Omit<ScoutJob, 'type' | 'id'>): Promise<void> {
    try {
      await this.#runFrames({ ...job, type: 'scout', id: this.#nextId++ });
    } catch {
      // Without it the capture takes longer.
    }
  }

  async #runFrames(job: FrameJob, given?: Uint8Array): Promise<FrameReply> {
    const workers = this.#startCompressors();
    return await new Promise<FrameReply>((resolve, reject) => {
      this.#waiting.set(job.id, { resolve, reject });
      const worker = workers[job.id % workers.length] as Worker;
      worker.ref();
      worker.postMessage(job, given === undefined ? [] : [given.buffer as ArrayBuffer]);
    });
  }

  /** Ends the threads. Nothing may be running. */
  async close(): Promise<void> {
    const workers = [...this.#compressors, ...(this.#capturing === undefined ? [] : [this.#capturing])];
    this.#compressors = [];
    this.#capturing = undefined;
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #startCompressors(): readonly Worker[] {
    if (this.#compressors.length > 0) return this.#compressors;
    const count = Math.max(1, Math.min(mostCompressors, availableParallelism()));
    for (let started = 0; started < count; started += 1) {
      const worker = this.#start();
      worker.on('message', (reply: EngineReply) => {
        if (!isFrameReply(reply)) return;
        if (reply.type === 'compressed' && reply.spare !== undefined)
          this.#spares?.postMessage(reply.spare, [reply.spare]);
        this.#waiting.get(reply.id)?.resolve(reply);
        this.#waiting.delete(reply.id);
        if (this.#waiting.size === 0) for (const idle of this.#compressors) idle.unref();
      });
      worker.once('error', (error) => {
        const others = this.#compressors.filter((other) => other !== worker);
        const waiting = [...this.#waiting.values()];
        this.#compressors = [];
        this.#waiting.clear();
        // None of them may go on working for somebody who was told that they are gone.
        Promise.allSettled(others.map((other) => other.terminate()))
          .then(() => {
            for (const one of waiting) one.reject(error);
          })
          .catch(() => undefined);
      });
      this.#compressors.push(worker);
    }
    return this.#compressors;
  }

  #start(): Worker {
    // Not the process's own flags: a test runner's would lead the thread to the sources.
    const worker = new Worker(this.#url as URL, { execArgv: [], resourceLimits });
    worker.unref();
    return worker;
  }
}

/** What is given away must not be a part of something that others hold. */
function ownedBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

function isFrameReply(reply: EngineReply): reply is FrameReply {
  return (frameReplies as readonly string[]).includes(reply.type);
}

/** The built worker; tests that run from the sources use the one that was built last. `undefined` without a build. */
function workerUrl(): URL | undefined {
  const here = import.meta.url;
  const name = here.endsWith('.ts') ? '../../../dist/internal/engine/engine-worker.js' : './engine-worker.js';
  const url = new URL(name, here);
  return url.protocol === 'file:' && existsSync(fileURLToPath(url)) ? url : undefined;
}
