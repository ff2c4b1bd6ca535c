import { sha256Hex } from '@holdfast/base';

import type { Blobs } from '../../blobs.js';
import type {
  BlobContent,
  BlobInfo,
  BlobsDriver,
  BlobsSupports,
  ByteRange,
  DriverGetOptions,
} from '../../driver.js';
import { BlobIntegrityError, BlobNotFoundError, BlobRangeError } from '../../errors.js';
import type { BlobsLayer } from '../layer.js';
import { type CacheEvent, SegmentCache } from './segment-cache.js';

export interface CacheOptions {
  /** Where segments are kept: a store of the cache's own, closed with the layer. */
  readonly cache: Blobs;
  /** Most bytes that the cache's store holds. */
  readonly maxBytes: number;
  /**
   * Tells which keys name their content (content-addressed ones): only they are cached. A key that can be deleted and
   * put again with other content is not one.
   */
  readonly immutable: (key: string) => boolean;
  /** Prefixes that are never served from the cache, whatever `immutable` says. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * `true` (default): every get asks the store whether the object is still there (one stat). `false`: what is cached is
   * served without asking, also after others deleted it, and the view declares eventual visibility.
   */
  readonly revalidate?: boolean | undefined;
  /** Objects are cached in pieces of this size. Default 262,144. */
  readonly segmentBytes?: number | undefined;
  /** Keeps several stores apart in one cache. Default empty. */
  readonly namespace?: string | undefined;
  readonly onEvent?: ((event: CacheEvent) => void) | undefined;
}

/** Reads through a cache: whole objects and ranges, in verified segments, within a byte budget. */
export function cacheLayer(options: CacheOptions): BlobsLayer {
  return (driver) => new CachingDriver(driver, options);
}

class CachingDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsSupports;
  readonly #driver: BlobsDriver;
  readonly #options: CacheOptions;
  readonly #segments: SegmentCache;
  readonly #segmentBytes: number;

  constructor(driver: BlobsDriver, options: CacheOptions) {
    const visibility = options.revalidate === false ? 'eventual' : driver.supports.visibility;
    this.supports = Object.freeze({ ...driver.supports, visibility });
    this.#driver = driver;
    this.#options = options;
    this.#segmentBytes = options.segmentBytes ?? 262_144;
    if (!Number.isSafeInteger(this.#segmentBytes) || this.#segmentBytes < 1) {
      throw new RangeError(
        `cacheLayer: segmentBytes must be a whole number from 1, not ${this.#segmentBytes}`,
      );
    }
    this.#segments = new SegmentCache(options.cache, options.maxBytes, options.onEvent ?? (() => undefined));
  }

  storagePaths(): readonly string[] {
    return [...new Set([...this.#driver.storagePaths(), ...this.#options.cache.storagePaths()])];
  }

  async put(...call: Parameters<BlobsDriver['put']>): ReturnType<BlobsDriver['put']> {
    return await this.#driver.put(...call);
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    if (!this.#cacheable(key)) return await this.#driver.get(key, options);
    await this.#segments.ready();
    const place = this.#place(key);
    const facts = await this.#facts(key, place, options);
    if (facts === undefined) {
      await this.#segments.drop(place);
      throw new BlobNotFoundError(key);
    }
    const range = options.range ?? { start: 0, end: facts.size };
    if (range.end > facts.size) throw new BlobRangeError(key, range, facts.size);
    let origin: BlobContent | undefined;
    const open = async (wanted: ByteRange): Promise<BlobContent> => {
      await origin?.close();
      try {
        origin = await this.#driver.get(key, { range: wanted, signal: options.signal });
      } catch (error) {
        throw BlobRangeError.is(error) ? replaced(key, error) : error;
      }
      return origin;
    };
    return {
      size: facts.size,
      chunks: this.#chunks({ key, place, facts, range, signal: options.signal }, open),
      close: async () => {
        await origin?.close();
      },
    };
  }

  async stat(...call: Parameters<BlobsDriver['stat']>): ReturnType<BlobsDriver['stat']> {
    return await this.#driver.stat(...call);
  }

  list(...call: Parameters<BlobsDriver['list']>): ReturnType<BlobsDriver['list']> {
    return this.#driver.list(...call);
  }

  // 1. Forget the segments, so that a failure further on leaves nothing stale. 2. Delete.
  // 3. Forget again: a read at the same time may have cached some.
  async delete(...call: Parameters<BlobsDriver['delete']>): Promise<void> {
    const [key] = call;
    const place = this.#cacheable(key) ? this.#place(key) : undefined;
    if (place !== undefined) await this.#segments.drop(place);
    await this.#driver.delete(...call);
    if (place !== undefined) await this.#segments.drop(place);
  }

  async close(): Promise<void> {
    try {
      await this.#options.cache.close();
    } finally {
      await this.#driver.close();
    }
  }

  #cacheable(key: string): boolean {
    const { exclude = [], immutable } = this.#options;
    return !exclude.some((prefix) => key.startsWith(prefix)) && immutable(key);
  }

  #place(key: string): string {
    return `segments/${sha256Hex(new TextEncoder().encode(`${this.#options.namespace ?? ''}\0${key}`))}/`;
  }

  /** Size and time of the object: from the store, or, where the cache is trusted, from a segment that is needed anyway. */
  async #facts(key: string, place: string, options: DriverGetOptions): Promise<BlobInfo | undefined> {
    if (this.#options.revalidate === false) {
      const index = Math.floor((options.range?.start ?? 0) / this.#segmentBytes);
      const cached = await this.#segments.read({ key, place, index, count: false });
      if (cached !== undefined) return { size: cached.size, modified: 0 };
    }
    const info = await this.#driver.stat(key, { signal: options.signal });
    return info === undefined || this.#options.revalidate !== false ? info : { size: info.size, modified: 0 };
  }

  async *#chunks(
    read: ReadPlan,
    open: (range: ByteRange) => Promise<BlobContent>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { facts, range } = read;
    const width = this.#segmentBytes;
    if (range.start === range.end) return;
    const last = Math.floor((range.end - 1) / width);
    for (let index = Math.floor(range.start / width); index <= last; ) {
      const cached = await this.#segments.read({ ...read, index, expected: facts });
      if (cached !== undefined && cached.payload.length === segmentLength(facts.size, index, width)) {
        yield within(cached.payload, index * width, range);
        index += 1;
        continue;
      }
      let end = index + 1;
      while (end <= last && !this.#segments.has(read.place, end)) end += 1;
      const fetched = await open({ start: index * width, end: Math.min(end * width, facts.size) });
      await this.#assertUnchanged(read, fetched, index);
      for await (const payload of segmentsOf(fetched.chunks, facts.size, index, width)) {
        await this.#segments.write({ key: read.key, place: read.place, index, ...facts }, payload);
        yield within(payload, index * width, range);
        index += 1;
      }
      if (index < end) return;
    }
  }

  /** A read may be made of several fetches: they must be of one object. */
  async #assertUnchanged(read: ReadPlan, fetched: BlobContent, index: number): Promise<void> {
    const { key, facts, range, signal } = read;
    const first = index === Math.floor(range.start / this.#segmentBytes);
    const info =
      first || this.#options.revalidate === false ? facts : await this.#driver.stat(key, { signal });
    if (fetched.size === facts.size && info?.modified === facts.modified) return;
    throw replaced(key);
  }
}

function replaced(key: string, cause?: unknown): BlobIntegrityError {
  return new BlobIntegrityError(key, 'changed', 'it was replaced while it was read through the cache', {
    cause,
  });
}

interface ReadPlan {
  readonly key: string;
  readonly place: string;
  readonly facts: BlobInfo;
  readonly range: ByteRange;
  readonly signal: AbortSignal | undefined;
}

function segmentLength(size: number, index: number, width: number): number {
  return Math.min(size - index * width, width);
}

function within(payload: Uint8Array, offset: number, range: ByteRange): Uint8Array {
  return payload.subarray(Math.max(0, range.start - offset), Math.min(payload.length, range.end - offset));
}

/** Cuts a stream that begins at segment `index` into whole segments; an incomplete one at its end is left out. */
async function* segmentsOf(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
  index: number,
  width: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let current = index;
  let segment = new Uint8Array(segmentLength(size, current, width));
  let filled = 0;
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const piece = chunk.subarray(start, start + segment.length - filled);
      segment.set(piece, filled);
      filled += piece.length;
      start += piece.length;
      if (filled < segment.length) continue;
      yield segment;
      current += 1;
      segment = new Uint8Array(Math.max(0, segmentLength(size, current, width)));
      filled = 0;
      if (segment.length === 0) return;
    }
  }
}
