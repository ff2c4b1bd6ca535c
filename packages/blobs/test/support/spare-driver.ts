import { equalBytes } from '@holdfast/base';
import {
  BlobConflictError,
  BlobIntegrityError,
  BlobNotFoundError,
  BlobRangeError,
  Blobs,
  type BlobsDriver,
  type BlobsSupports,
} from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';

export interface SpareObject {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly modified: number;
}

/** What the views of one store share: what is visible, what would survive a crash, and what is being written. */
export class SpareStorage {
  readonly visible = new Map<string, SpareObject>();
  readonly durable = new Map<string, SpareObject>();
  readonly staged = new Set<object>();
  held = 0;
  time = 1_000;
}

export const spareSupports: BlobsSupports = Object.freeze({ visibility: 'strong', durable: true });

/**
 * A second implementation of the contract, written for being broken: every method is one property, so that a mutant
 * replaces one and keeps the others.
 */
export function spareDriver(storage: SpareStorage): BlobsDriver {
  return {
    contract: 'blobs/1',
    supports: spareSupports,
    storagePaths: () => ['/spare/store'],
    put: async (key, source, { signal }) => {
      const staged = {};
      storage.staged.add(staged);
      try {
        const bytes = await readAll(source.open());
        signal?.throwIfAborted();
        const existing = storage.visible.get(key);
        if (existing !== undefined) {
          if (!equalBytes(existing.bytes, bytes)) throw new BlobConflictError(key);
          return { created: false };
        }
        const object = { bytes, size: bytes.length, modified: (storage.time += 1) };
        storage.visible.set(key, object);
        storage.durable.set(key, object);
        return { created: true };
      } finally {
        storage.staged.delete(staged);
      }
    },
    get: async (key, { range, signal }) => {
      await Promise.resolve();
      signal?.throwIfAborted();
      const object = storage.visible.get(key);
      if (object === undefined) throw new BlobNotFoundError(key);
      if (object.size !== object.bytes.length)
        throw new BlobIntegrityError(key, 'truncated', 'its bytes are gone');
      const { start, end } = range ?? { start: 0, end: object.size };
      if (end > object.size) throw new BlobRangeError(key, { start, end }, object.size);
      storage.held += 1;
      return {
        size: object.size,
        chunks: pieces(object.bytes, start, end),
        close: async () => {
          await Promise.resolve();
          storage.held -= 1;
        },
      };
    },
    stat: async (key, { signal }) => {
      await Promise.resolve();
      signal?.throwIfAborted();
      const object = storage.visible.get(key);
      return object && { size: object.size, modified: object.modified };
    },
    list: async function* (prefix, { signal }) {
      for (const key of keysOf(storage, prefix)) {
        await Promise.resolve();
        signal?.throwIfAborted();
        const object = storage.visible.get(key);
        if (object !== undefined) yield { key, size: object.size, modified: object.modified };
      }
    },
    delete: async (key, { signal }) => {
      await Promise.resolve();
      signal?.throwIfAborted();
      storage.visible.delete(key);
      storage.durable.delete(key);
    },
    close: async () => {
      await Promise.resolve();
    },
  };
}

export function keysOf(storage: SpareStorage, prefix: string): string[] {
  return [...storage.visible.keys()].filter((key) => key.startsWith(prefix)).sort();
}

export async function* pieces(bytes: Uint8Array, start: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; at += 30_000) {
    await Promise.resolve();
    yield bytes.slice(at, Math.min(end, at + 30_000));
  }
}

export async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return new Uint8Array(Buffer.concat(parts));
}

/** How a harness opens a store over a storage; a mutant of the portable class or of the driver is one of these. */
export type SpareOpener = (storage: SpareStorage) => Blobs;

export const openSpare: SpareOpener = (storage) => new Blobs(spareDriver(storage));

/** A harness with every optional hook, over spare storages. */
export function spareHarness(
  open: SpareOpener = openSpare,
  changes: Partial<BlobsHarness> = {},
): BlobsHarness {
  const storages = new WeakMap<Blobs, SpareStorage>();
  const openOver = async (storage: SpareStorage): Promise<Blobs> => {
    const store = open(storage);
    storages.set(store, storage);
    return await Promise.resolve(store);
  };
  const storageOf = (store: Blobs): SpareStorage => storages.get(store) as SpareStorage;
  return {
    adapter: 'spare',
    limits: { caseMilliseconds: 1500, largeObjectBytes: 200_000, manyKeys: 150 },
    fresh: async () => await openOver(new SpareStorage()),
    reopen: async (store) => await openOver(storageOf(store)),
    crash: async (store) => {
      const left = new SpareStorage();
      for (const [key, object] of storageOf(store).durable) {
        left.visible.set(key, object);
        left.durable.set(key, object);
      }
      return await openOver(left);
    },
    corrupt: async (store, key) => {
      const { visible } = storageOf(store);
      const object = visible.get(key) as SpareObject;
      visible.set(key, { ...object, bytes: object.bytes.slice(0, -1) });
      await Promise.resolve();
    },
    held: async (store) => await Promise.resolve(storageOf(store).held),
    leftovers: async (store) => await Promise.resolve(storageOf(store).staged.size),
    ...changes,
  };
}
