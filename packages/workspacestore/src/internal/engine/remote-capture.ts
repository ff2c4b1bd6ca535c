import { MessageChannel } from 'node:worker_threads';

import { onAbort } from '@holdfast/base';

import type { CaptureResult, CaptureTotals } from '../capture-types.js';
import { StatTable } from '../stat-table.js';
import { type CaptureJob, controlWords, type EngineReply, type RawFrameMessage } from './engine-messages.js';
import type { EnginePool } from './engine-pool.js';
import { receiveError } from './error-transfer.js';

export interface RemoteCaptureOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((totals: CaptureTotals) => void) | undefined;
  /** Takes a frame. Called again before earlier calls have resolved; the capture waits when too much is on its way. */
  readonly onFrame: (frame: RawFrameMessage) => Promise<void>;
}

/** The thread could not run or died; the capture can be repeated in this one. */
export class ThreadLostError extends Error {}

/**
 * Runs a capture in another thread. An abort ends it within one step, and nothing runs on after the rejection.
 * @throws ThreadLostError when the thread is gone.
 */
export async function captureRemotely(
  pool: EnginePool,
  job: Omit<CaptureJob, 'type' | 'control' | 'spares'>,
  options: RemoteCaptureOptions,
): Promise<CaptureResult> {
  const shared = new SharedArrayBuffer(controlWords.count * Int32Array.BYTES_PER_ELEMENT);
  const control = new Int32Array(shared);
  const stop = (): void => {
    Atomics.store(control, controlWords.abort, 1);
    Atomics.notify(control, controlWords.onTheWay);
  };
  using _subscription = onAbort(options.signal, stop);
  const handling = new FrameIntake(control, options.onFrame, stop);
  const spares = new MessageChannel();
  spares.port2.unref();
  const last = await new Promise<EngineReply | Error>((resolve) => {
    pool.capture(
      { ...job, type: 'capture', control: shared, spares: spares.port1 },
      spares.port2,
      (reply) => {
        if (reply instanceof Error || (reply.type !== 'frame' && reply.type !== 'progress')) resolve(reply);
        else if (reply.type === 'frame') handling.push(reply);
        else handling.guard(() => options.onProgress?.(reply.totals));
      },
    );
  });
  await handling.settle();
  spares.port2.close();
  if (options.signal?.aborted === true) throw options.signal.reason;
  if (handling.failure !== undefined) throw handling.failure.error;
  if (last instanceof Error) throw new ThreadLostError('the capturing thread is gone', { cause: last });
  if (last.type === 'failed') throw receiveError(last.error);
  if (last.type !== 'captured') throw new Error(`capture ended with ${last.type}`);
  return { ...last.result, table: StatTable.fromParts(last.table) };
}

/** Hands frames on as they come, and tells the capturing thread how far that is. Ends the capture at the first failure. */
class FrameIntake {
  readonly #control: Int32Array;
  readonly #take: (frame: RawFrameMessage) => Promise<void>;
  readonly #stop: () => void;
  readonly #running = new Set<Promise<void>>();
  failure: { readonly error: unknown } | undefined;

  constructor(control: Int32Array, take: (frame: RawFrameMessage) => Promise<void>, stop: () => void) {
    this.#control = control;
    this.#take = take;
    this.#stop = stop;
  }

  push(frame: RawFrameMessage): void {
    const taking = this.#run(frame, frame.bytes.length >> 10).finally(() => {
      this.#running.delete(taking);
    });
    this.#running.add(taking);
  }

  /** Runs what is the caller's: a failure is the capture's, and not one of the listener that it happens in. */
  guard(action: () => void): void {
    if (this.failure !== undefined) return;
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }

  async settle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #run(frame: RawFrameMessage, size: number): Promise<void> {
    try {
      if (this.failure === undefined) await this.#take(frame);
    } catch (error) {
      this.#fail(error);
    }
    Atomics.sub(this.#control, controlWords.onTheWay, size);
    Atomics.notify(this.#control, controlWords.onTheWay);
  }

  #fail(error: unknown): void {
    this.failure ??= { error };
    this.#stop();
  }
}
