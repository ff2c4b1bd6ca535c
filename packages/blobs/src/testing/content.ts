import type { SeededRandom } from '@holdfast/base/testing';
import type { ReopenableSource } from '../driver.js';
import type { BlobsLimits } from './harness.js';

/** Sizes at which drivers go wrong: nothing, one byte, around powers of two and buffer sizes, one MiB and one more. */
export const edgeSizes: readonly number[] = Object.freeze([
  0, 1, 2, 511, 512, 513, 4095, 4096, 16_383, 16_384, 16_385, 65_536, 262_145, 1_048_576, 1_048_577,
]);

export function largeSize(limits: BlobsLimits | undefined): number {
  return limits?.largeObjectBytes ?? 3 * 1024 * 1024 + 17;
}

/** Fresh bytes that differ from every other call's, from the scope's seed. */
export function freshBytes(random: SeededRandom, size: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(size / 4));
  let state = (random.below(0x1_0000_0000) | 1) >>> 0;
  for (let i = 0; i < words.length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, size);
}

/** A well-behaved source in pieces of `chunkBytes`. */
export function chunked(bytes: Uint8Array, chunkBytes: number): ReopenableSource {
  return {
    size: bytes.length,
    open: async function* () {
      for (let start = 0; start < bytes.length; start += chunkBytes) {
        yield await Promise.resolve(bytes.slice(start, start + chunkBytes));
      }
    },
  };
}

/** A source that announces `size` and yields `bytes`, in two pieces. */
export function lying(size: number, bytes: Uint8Array): ReopenableSource {
  const half = Math.floor(bytes.length / 2);
  return {
    size,
    open: async function* () {
      yield await Promise.resolve(bytes.slice(0, half));
      yield await Promise.resolve(bytes.slice(half));
    },
  };
}

/** A source that fails with `error` after the first half. */
export function failing(bytes: Uint8Array, error: unknown): ReopenableSource {
  return {
    size: bytes.length,
    open: async function* () {
      yield await Promise.resolve(bytes.slice(0, Math.floor(bytes.length / 2)));
      throw error;
    },
  };
}

/** A source that yields one buffer again and again, overwriting it in between, as a careful reader of files does. */
export function reusing(bytes: Uint8Array, chunkBytes: number): ReopenableSource {
  return {
    size: bytes.length,
    open: async function* () {
      const buffer = new Uint8Array(chunkBytes);
      for (let start = 0; start < bytes.length; start += chunkBytes) {
        const piece = bytes.subarray(start, start + chunkBytes);
        buffer.set(piece);
        yield await Promise.resolve(buffer.subarray(0, piece.length));
        buffer.fill(0xee);
      }
    },
  };
}

export interface PausedSource extends ReopenableSource {
  /** Resolves when the store has asked for what follows the pause. */
  readonly paused: Promise<void>;
  /** Lets the source go on. */
  resume(): void;
  /** Whether the store closed the source early. */
  readonly returned: boolean;
}

/** A source that stops after `before` bytes until it is told to go on (or never). */
export function pausing(bytes: Uint8Array, before: number): PausedSource {
  let resume: () => void = () => undefined;
  let reach: () => void = () => undefined;
  let returned = false;
  const gate = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const paused = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return {
    size: bytes.length,
    paused,
    resume: () => {
      resume();
    },
    get returned() {
      return returned;
    },
    open: async function* () {
      try {
        if (before > 0) yield bytes.slice(0, before);
        reach();
        await gate;
        if (before < bytes.length) yield bytes.slice(before);
      } finally {
        returned = true;
      }
    },
  };
}

/** Waits until a put has come to the pause of its source; a put that ends before that has its failure thrown. */
export async function reached(source: PausedSource, put: Promise<unknown>): Promise<void> {
  await Promise.race([source.paused, put]);
}

/** Marks a call as looked after: whatever becomes of it, it is no unhandled rejection of the process. */
export function started<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

/** Reads an iterable to its end. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}
