import { abandonOnAbort, textOf, throwIfAborted } from '@holdfast/base';

import type { BlobSource, ReopenableSource } from '../driver.js';
import { BlobSourceError } from '../errors.js';

/** Slices of this size make a long byte array abortable. */
const sliceBytes = 1024 * 1024;

/**
 * A source as drivers get it: owned chunks, exactly the announced size or a throw, aborted between and during reads.
 * It remembers what went wrong, so that a driver that wraps or swallows the failure cannot hide it.
 */
export interface GuardedSource extends ReopenableSource {
  readonly failure: { readonly error: unknown } | undefined;
}

/** A caller's source after the check: bytes are already copied. */
export interface OwnedSource {
  readonly source: ReopenableSource;
  /** Whether chunks belong to the caller and have to be copied. */
  readonly borrowed: boolean;
}

/** Checks a source, and copies bytes before the first wait. @throws TypeError for anything that is not a source. */
export function ownSource(source: BlobSource): OwnedSource {
  if (source instanceof Uint8Array) {
    const owned = new Uint8Array(source);
    return { source: { size: owned.length, open: () => slices(owned) }, borrowed: false };
  }
  checkSource(source);
  return { source: { size: source.size, open: () => source.open() }, borrowed: true };
}

function checkSource(source: unknown): asserts source is ReopenableSource {
  const candidate = source as Partial<ReopenableSource> | null | undefined;
  if (typeof candidate !== 'object' || candidate === null || typeof candidate.open !== 'function') {
    throw new TypeError('put: the source must be a Uint8Array or { size, open() }');
  }
  if (!Number.isSafeInteger(candidate.size) || (candidate.size as number) < 0) {
    throw new TypeError(`put: the size of the source must be a whole number, not ${textOf(candidate.size)}`);
  }
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += sliceBytes)
    yield bytes.subarray(start, start + sliceBytes);
}

/** Makes a source keep its word, and stop when the signal aborts. */
export function guardSource(key: string, owned: OwnedSource, signal: AbortSignal): GuardedSource {
  const { source, borrowed } = owned;
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): unknown => {
    failure = { error };
    return error;
  };
  const sourceError = (kind: BlobSourceError['kind'], received: number, cause?: unknown): unknown =>
    fail(new BlobSourceError(key, kind, source.size, received, { cause }));

  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    throwIfAborted(signal);
    failure = undefined;
    let received = 0;
    let iterator: AsyncIterator<Uint8Array>;
    try {
      iterator = source.open()[Symbol.asyncIterator]();
    } catch (error) {
      throw sourceError('failed', received, error);
    }
    let state: 'idle' | 'pulling' | 'finished' = 'idle';
    try {
      for (;;) {
        let step: IteratorResult<Uint8Array>;
        state = 'pulling';
        try {
          step = await abandonOnAbort(signal, iterator.next());
        } catch (error) {
          throwIfAborted(signal);
          state = 'finished';
          throw sourceError('failed', received, error);
        }
        state = step.done === true ? 'finished' : 'idle';
        throwIfAborted(signal);
        if (step.done === true) {
          if (received < source.size) throw sourceError('too-short', received);
          return;
        }
        if (!(step.value instanceof Uint8Array)) throw sourceError('not-bytes', received);
        received += step.value.length;
        if (received > source.size) throw sourceError('too-long', received);
        if (step.value.length > 0) yield borrowed ? new Uint8Array(step.value) : step.value;
      }
    } finally {
      const returned = state === 'finished' ? undefined : endIterator(iterator);
      // After an abort during next() the return() would queue behind a read that may hang; it is the caller's to end.
      if (state === 'idle') await returned;
    }
  }
  return {
    size: source.size,
    open: chunks,
    get failure() {
      return failure;
    },
  };
}

async function endIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The put already has its outcome; a source that fails to close changes nothing about it.
  }
}
