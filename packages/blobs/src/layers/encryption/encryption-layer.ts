import type {
  BlobContent,
  BlobEntry,
  BlobInfo,
  BlobsDriver,
  ByteRange,
  DriverGetOptions,
  DriverOptions,
  ReopenableSource,
} from '../../driver.js';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobKeyError,
  BlobNotFoundError,
  BlobRangeError,
  BlobsAmbiguousError,
} from '../../errors.js';
import type { BlobsLayer } from '../layer.js';
import { ByteQueue } from './byte-queue.js';
import { decodeHeader, headerBytes, openedSize, sealedSize, segmentContext } from './format.js';
import { hideDigests } from './hidden-names.js';
import { type EncryptionKey, encryptionKey, nameKeyOf } from './key-ring.js';
import { checkSize, type OpenedHeader, openedContent, SegmentReader, sealedRange } from './opening.js';
import { digestSegments, identityOf, sealSource } from './sealing.js';

export interface EncryptionOptions {
  /**
   * Keys of 32 random bytes by their ids (1 to 64 letters, digits, `_`, `.` and `-`). Ids are stored in the clear. Keep an
   * old key here until no object that names it is left.
   */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** Id of the key that encrypts what is put. */
  readonly active: string;
  /**
   * 32 more random bytes. When given, digests in keys are replaced, so that nobody can ask the store whether it holds a
   * content that he knows. It cannot be changed later. Listing then holds a window of keys.
   */
  readonly nameKey?: Uint8Array | undefined;
  /** With `nameKey`: most keys that a list holds; larger stores are listed several times. Default 65,536. */
  readonly listWindow?: number | undefined;
}

/** Headers kept for ranged reads: about 400 bytes each. */
const rememberedHeaders = 1024;
/** How often a put or a read follows an object that is deleted and put again meanwhile. */
const attempts = 3;

/**
 * Encrypts objects before they reach the store, by docs/formats/blobs-encryption.md: AES-256-GCM in segments of 64 KiB,
 * bound to their place, object and key. The same content under the same key and encryption key has the same stored form,
 * so that putting it again is no conflict; stores see sizes, times and, without `nameKey`, keys.
 *
 * Put it above retries and below caches that hold plain content. A put reads its source once more than the store does.
 * @throws TypeError when a key or an id has the wrong form.
 */
export function encryptionLayer(options: EncryptionOptions): BlobsLayer {
  const { nameKey, listWindow = 65_536 } = options;
  const keys = new Map(Object.entries(options.keys).map(([id, key]) => [id, encryptionKey(id, key)]));
  const active = keys.get(options.active);
  if (active === undefined) {
    throw new TypeError(
      `encryptionLayer: active names ${JSON.stringify(options.active)}, which is not in keys`,
    );
  }
  if (!Number.isSafeInteger(listWindow) || listWindow < 1) {
    throw new RangeError(`encryptionLayer: listWindow must be a whole number from 1, not ${listWindow}`);
  }
  const hide = nameKey === undefined ? undefined : hideDigests(nameKeyOf(nameKey), listWindow);
  return (driver) => new EncryptingDriver(hide === undefined ? driver : hide(driver), keys, active);
}

class EncryptingDriver implements BlobsDriver {
  readonly contract = 'blobs/1';
  readonly supports: BlobsDriver['supports'];
  readonly #driver: BlobsDriver;
  readonly #keys: ReadonlyMap<string, EncryptionKey>;
  readonly #active: EncryptionKey;
  readonly #headers = new Map<string, OpenedHeader>();

  constructor(driver: BlobsDriver, keys: ReadonlyMap<string, EncryptionKey>, active: EncryptionKey) {
    this.supports = driver.supports;
    this.#driver = driver;
    this.#keys = keys;
    this.#active = active;
  }

  storagePaths(): readonly string[] {
    return this.#driver.storagePaths();
  }

  /** 1. digest the segments; 2. put the sealed form; 3. when the key is taken, compare identities. */
  async put(
    key: string,
    source: ReopenableSource,
    options: DriverOptions,
  ): Promise<{ readonly created: boolean }> {
    const digests = await digestSegments(source);
    const sealed = sealSource(this.#active, key, source, digests);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#driver.put(key, sealed, options);
      } catch (error) {
        if (sealed.failure !== undefined && !BlobsAmbiguousError.is(error)) throw sealed.failure.error;
        if (!BlobConflictError.is(error)) throw error;
        const verdict = await this.#compare(key, source.size, digests, options);
        if (verdict === 'same') return { created: false };
        if (verdict === 'different' || attempt >= attempts) throw error;
      }
    }
  }

  /** Tells whether what is stored is this content under another key of ours. */
  async #compare(
    key: string,
    size: number,
    digests: Buffer,
    options: DriverOptions,
  ): Promise<'same' | 'different' | 'absent'> {
    try {
      const { header } = await this.#readHeader(key, options);
      if (header.size !== size) return 'different';
      const encryption = this.#keyOf(key, header.keyId);
      // Sealed with the active key it would have been the same bytes.
      if (encryption === this.#active) return 'different';
      return identityOf(encryption, key, size, digests).equals(header.identity) ? 'same' : 'different';
    } catch (error) {
      if (BlobNotFoundError.is(error)) return 'absent';
      if (BlobIntegrityError.is(error)) return 'different';
      throw error;
    }
  }

  async get(key: string, options: DriverGetOptions): Promise<BlobContent> {
    const { range } = options;
    if (range === undefined) return await this.#whole(key, options);
    for (let attempt = 1; ; attempt += 1) {
      const remembered = range.start === range.end ? undefined : this.#headers.get(key);
      const opened = remembered ?? (await this.#readHeader(key, options));
      const last = remembered === undefined && attempt >= attempts;
      if (range.end > opened.header.size) {
        if (remembered === undefined) throw new BlobRangeError(key, range, opened.header.size);
      } else if (range.start === range.end) {
        return { size: opened.header.size, chunks: nothing(), close: async () => await Promise.resolve() };
      } else {
        try {
          return await this.#part(key, range, opened, options);
        } catch (error) {
          // What is remembered may be of an object that was deleted and put again.
          const changed = BlobIntegrityError.is(error) || BlobRangeError.is(error);
          if (!changed || last || (remembered === undefined && BlobIntegrityError.is(error))) throw error;
        }
      }
      this.#headers.delete(key);
    }
  }

  async #whole(key: string, options: DriverOptions): Promise<BlobContent> {
    const content = await this.#driver.get(key, options);
    try {
      const queue = new ByteQueue(content.chunks);
      const opened = this.#openHeader(key, await queue.take(headerBytes));
      checkSize(key, opened, content.size);
      const reader = new SegmentReader(key, opened, queue, 0);
      const first = (await reader.next()) as Buffer;
      const { size } = opened.header;
      return openedContent(size, { start: 0, end: size }, { first, index: 0, reader }, content);
    } catch (error) {
      await content.close().catch(() => undefined);
      throw error;
    }
  }

  async #part(
    key: string,
    range: ByteRange,
    opened: OpenedHeader,
    options: DriverOptions,
  ): Promise<BlobContent> {
    const { size } = opened.header;
    const sealed = sealedRange(range, size);
    const content = await this.#driver.get(key, { ...options, range: sealed.range });
    try {
      checkSize(key, opened, content.size);
      const reader = new SegmentReader(key, opened, new ByteQueue(content.chunks), sealed.first);
      const first = (await reader.next()) as Buffer;
      this.#remember(key, opened);
      return openedContent(size, range, { first, index: sealed.first, reader }, content);
    } catch (error) {
      await content.close().catch(() => undefined);
      throw error;
    }
  }

  async #readHeader(key: string, options: DriverOptions): Promise<OpenedHeader> {
    let content: BlobContent;
    try {
      content = await this.#driver.get(key, { ...options, range: { start: 0, end: headerBytes } });
    } catch (error) {
      if (!BlobRangeError.is(error)) throw error;
      throw new BlobIntegrityError(key, 'foreign', 'it is too short to be an encrypted object');
    }
    try {
      const opened = this.#openHeader(key, await new ByteQueue(content.chunks).take(headerBytes));
      checkSize(key, opened, content.size);
      return opened;
    } finally {
      await content.close();
    }
  }

  #openHeader(key: string, bytes: Buffer): OpenedHeader {
    const header = decodeHeader(key, bytes);
    const encryption = this.#keyOf(key, header.keyId);
    if (!encryption.check.equals(header.check)) throw new BlobKeyError(key, 'wrong', header.keyId);
    const objectKey = encryption.objectKey(header.identity);
    return { header, seal: { objectKey, context: segmentContext(bytes, key) } };
  }

  #keyOf(key: string, keyId: string): EncryptionKey {
    const encryption = this.#keys.get(keyId);
    if (encryption === undefined) throw new BlobKeyError(key, 'unknown', keyId);
    return encryption;
  }

  #remember(key: string, opened: OpenedHeader): void {
    this.#headers.delete(key);
    this.#headers.set(key, opened);
    for (const [oldest] of this.#headers) {
      if (this.#headers.size <= rememberedHeaders) break;
      this.#headers.delete(oldest);
    }
  }

  async stat(key: string, options: DriverOptions): Promise<BlobInfo | undefined> {
    const info = await this.#driver.stat(key, options);
    if (info === undefined) return undefined;
    return { size: shownSize(info.size), modified: info.modified };
  }

  /** An object that cannot be one of ours is listed all the same: reading it says what is wrong. */
  async *list(prefix: string, options: DriverOptions): AsyncGenerator<BlobEntry, void, undefined> {
    for await (const { key, size, modified } of this.#driver.list(prefix, options)) {
      yield { key, size: shownSize(size), modified };
    }
  }

  async delete(key: string, options: DriverOptions): Promise<void> {
    this.#headers.delete(key);
    await this.#driver.delete(key, options);
  }

  async close(): Promise<void> {
    this.#headers.clear();
    await this.#driver.close();
  }
}

/** Of an object that is none of ours too: it is there, and reading it says what is wrong. */
function shownSize(stored: number): number {
  return openedSize(stored) ?? Math.max(0, stored - sealedSize(0));
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {
  // An empty range has no chunks.
}
