import type { Blobs } from '../../blobs.js';

interface Entry {
  readonly bytes: number;
  /** Being written: cannot be evicted, or the write would land after it. */
  pending: boolean;
}

/**
 * What the cache holds, least recently used first, within a byte budget. Kept in memory and rebuilt from the store by
 * its times; one process per cache keeps the budget exactly.
 */
export class SegmentIndex {
  readonly #cache: Blobs;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(cache: Blobs, maxBytes: number) {
    this.#cache = cache;
    this.#maxBytes = maxBytes;
  }

  has(name: string): boolean {
    return this.#entries.get(name)?.pending === false;
  }

  /** Reads what an earlier process left, and removes what is beyond the budget. */
  async load(): Promise<void> {
    const found: { readonly key: string; readonly size: number; readonly modified: number }[] = [];
    for await (const entry of this.#cache.list()) found.push(entry);
    found.sort((a, b) => a.modified - b.modified);
    for (const { key, size } of found) {
      this.#entries.set(key, { bytes: size, pending: false });
      this.#bytes += size;
    }
    await this.#evict();
  }

  /** Marks a segment as used just now. */
  touch(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
  }

  /** Makes room; `false` when there is none or somebody else is writing the same segment. */
  async reserve(name: string, bytes: number): Promise<boolean> {
    if (this.#entries.has(name) || bytes > this.#maxBytes) return false;
    this.#entries.set(name, { bytes, pending: true });
    this.#bytes += bytes;
    await this.#evict();
    if (this.#bytes <= this.#maxBytes) return true;
    this.forget(name);
    return false;
  }

  /** The segment is written. */
  settle(name: string): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.pending = false;
  }

  forget(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#bytes -= entry.bytes;
  }

  async remove(name: string): Promise<void> {
    this.forget(name);
    await this.#cache.delete(name);
  }

  /** Names of the segments whose name starts with `prefix`, also of those that other processes wrote. */
  async below(prefix: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { key } of this.#cache.list(prefix)) names.push(key);
    return names;
  }

  async #evict(): Promise<void> {
    for (const [name, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) return;
      if (!entry.pending) await this.remove(name);
    }
  }
}
