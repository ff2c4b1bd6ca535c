import { onAbort, throwIfAborted } from '@holdfast/base';

import { BlobsClosedError } from '../errors.js';
import type { Operation } from './operation.js';

/** What a {@link pullStream} needs to know about the driver's side. */
export interface PullPlan<T, U> {
  readonly operation: Operation;
  readonly iterator: AsyncIterator<T>;
  /** Frees what the driver holds, beyond the iterator's own `return()`. */
  release(): Promise<void>;
  /** Checks and copies one value; `undefined` leaves it out. */
  convert(value: T): U | undefined;
  /** Called at the regular end; throws when something is missing. */
  finish(): void;
  translate(error: unknown): unknown;
}

export interface PullStream<U> {
  readonly values: AsyncIterableIterator<U>;
  /** Frees everything now. Idempotent. */
  close(): Promise<void>;
}

/**
 * Hands out a driver's stream one value per request and frees it exactly once: at the end, on early `return()`, on
 * failure, and when the operation is cancelled while the consumer holds no request (or never made one).
 */
export function pullStream<T, U>(plan: PullPlan<T, U>): PullStream<U> {
  const { operation, iterator } = plan;
  let pulling = false;
  let ended = false;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      subscription[Symbol.dispose]();
      try {
        if (!ended) await iterator.return?.();
      } finally {
        try {
          await plan.release();
        } finally {
          operation[Symbol.dispose]();
        }
      }
    })();
    return closing;
  };
  const subscription = onAbort(operation.signal, () => {
    // Not at once: a signal that is aborted already calls this before there is a subscription to dispose.
    Promise.resolve()
      // A request in flight sees the abort itself and closes after the driver has let go.
      .then(async () => (pulling ? undefined : await close()))
      .catch(() => undefined);
  });

  async function pull(): Promise<IteratorResult<T>> {
    throwIfAborted(operation.signal);
    if (closing !== undefined) throw new BlobsClosedError('reader');
    pulling = true;
    try {
      const step = await iterator.next();
      ended = step.done === true;
      throwIfAborted(operation.signal);
      return step;
    } catch (error) {
      throw plan.translate(error);
    } finally {
      pulling = false;
    }
  }

  async function* values(): AsyncGenerator<U, void, undefined> {
    let failed = false;
    try {
      for (let step = await pull(); step.done !== true; step = await pull()) {
        const value = plan.convert(step.value);
        if (value !== undefined) yield value;
      }
      plan.finish();
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      try {
        await close();
      } catch (error) {
        // A stream that failed and cannot be freed either has one failure that matters: the first.
        // oxlint-disable-next-line no-unsafe-finally
        if (!failed) throw plan.translate(error);
      }
    }
  }
  const generator = values();
  const iterable: AsyncIterableIterator<U> = {
    [Symbol.asyncIterator]: () => iterable,
    next: async () => await generator.next(),
    return: async () => {
      // On a generator that never started, return() runs no finally block: free the resource here.
      if (!pulling) await close();
      return await generator.return();
    },
  };
  return { values: iterable, close };
}
