import type { Blobs } from '../../blobs.js';
import { BlobNotFoundError } from '../../errors.js';
import {
  type DecodedSegment,
  decodeSegment,
  encodeSegment,
  type SegmentFacts,
  storedBytes,
} from './segment-codec.js';
import { SegmentIndex } from './segment-index.js';

export interface CacheEvent {
  /** `damaged`: a segment was not what it should be; `failed`: the cache's store failed. Both cost only time. */
  readonly kind: 'hit' | 'miss' | 'damaged' | 'failed';
  readonly key: string;
  readonly index: number;
  readonly cause?: unknown;
}

export interface SegmentRequest {
  readonly key: string;
  /** Prefix of the object's segments in the cache. */
  readonly place: string;
  readonly index: number;
  /** What the object is like now; a segment of anything else is of no use. */
  readonly expected?: { readonly size: number; readonly modified: number } | undefined;
  /** `false`: a look that is followed by another one; not reported. */
  readonly count?: boolean | undefined;
}

/**
 * Segments in a store that may fail, be damaged or be emptied by somebody else at any time: nothing that happens here
 * can make a read fail. Works detached from the caller's signal, since each step is short and local.
 */
export class SegmentCache {
  readonly #cache: Blobs;
  readonly #index: SegmentIndex;
  readonly #listener: (event: CacheEvent) => void;
  #loading: Promise<void> | undefined;
  #usable = true;

  constructor(cache: Blobs, maxBytes: number, listener: (event: CacheEvent) => void) {
    this.#cache = cache;
    this.#index = new SegmentIndex(cache, maxBytes);
    this.#listener = listener;
  }

  /** Loads what is there, once. A cache that cannot be listed is not used. */
  async ready(): Promise<void> {
    this.#loading ??= this.#index.load().catch((cause: unknown) => {
      this.#usable = false;
      this.#report({ kind: 'failed', key: '', index: 0, cause });
    });
    await this.#loading;
  }

  has(place: string, index: number): boolean {
    return this.#usable && this.#index.has(place + index);
  }

  async read(request: SegmentRequest): Promise<DecodedSegment | undefined> {
    const { key, place, index, expected } = request;
    const report = (kind: CacheEvent['kind'], cause?: unknown): undefined => {
      if (request.count !== false) this.#report({ kind, key, index, cause });
      return undefined;
    };
    const name = place + index;
    if (!this.has(place, index)) return report('miss');
    let segment: DecodedSegment | undefined;
    try {
      segment = decodeSegment(await this.#cache.getBytes(name), key, index);
    } catch (error) {
      await this.#discard(name);
      return report(BlobNotFoundError.is(error) ? 'miss' : 'failed', error);
    }
    if (segment === undefined) {
      await this.#discard(name);
      return report('damaged');
    }
    if (
      expected !== undefined &&
      (segment.size !== expected.size || segment.modified !== expected.modified)
    ) {
      await this.#discard(name);
      return report('miss');
    }
    this.#index.touch(name);
    report('hit');
    return segment;
  }

  async write(facts: SegmentFacts & { readonly place: string }, payload: Uint8Array): Promise<void> {
    const name = facts.place + facts.index;
    try {
      if (!this.#usable || !(await this.#index.reserve(name, storedBytes(facts.key, payload.length)))) return;
      await this.#cache.put(name, encodeSegment(facts, payload));
      this.#index.settle(name);
    } catch (cause) {
      this.#index.forget(name);
      this.#report({ kind: 'failed', key: facts.key, index: facts.index, cause });
    }
  }

  /** Forgets every segment of an object. */
  async drop(place: string): Promise<void> {
    await this.ready();
    if (!this.#usable) return;
    try {
      for (const name of await this.#index.below(place)) await this.#index.remove(name);
    } catch (cause) {
      this.#report({ kind: 'failed', key: '', index: 0, cause });
    }
  }

  async #discard(name: string): Promise<void> {
    await this.#index.remove(name).catch(() => undefined);
  }

  #report(event: CacheEvent): void {
    try {
      this.#listener(event);
    } catch {
      // Watching a cache must not change what it serves.
    }
  }
}
