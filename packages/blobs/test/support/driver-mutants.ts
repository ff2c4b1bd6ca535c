import { equalBytes } from '@holdfast/base';
import type { Mutant } from '@holdfast/base/testing';
import {
  BlobConflictError,
  type BlobEntry,
  BlobNotFoundError,
  Blobs,
  type BlobsDriver,
  type ReopenableSource,
} from '@holdfast/blobs';
import type { BlobsHarness } from '@holdfast/blobs/testing';

import { keysOf, pieces, readAll, SpareStorage, spareDriver, spareHarness } from './spare-driver.js';

type BlobsMutant = Mutant<BlobsHarness>;

/** One deliberate mistake in the driver; everything else is right. */
function mutant(
  name: string,
  killedBy: readonly string[],
  breakIt: (right: BlobsDriver, storage: SpareStorage) => Partial<BlobsDriver>,
  changes: Partial<BlobsHarness> = {},
): BlobsMutant {
  const open = (storage: SpareStorage): Blobs => {
    const right = spareDriver(storage);
    return new Blobs({ ...right, ...breakIt(right, storage) });
  };
  return { name, killedBy, harness: () => spareHarness(open, changes) };
}

/** Maps keys on their way in; what is listed is mapped back by `shown`. */
function mapped(to: (key: string) => string): (right: BlobsDriver) => Partial<BlobsDriver> {
  return (right) => ({
    put: async (key, source, options) => await right.put(to(key), source, options),
    get: async (key, options) => await right.get(to(key), options),
    stat: async (key, options) => await right.stat(to(key), options),
    delete: async (key, options) => {
      await right.delete(to(key), options);
    },
  });
}

const truncateKey = (key: string): string => key.slice(0, 255).replace(/\/$/, '');
const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

async function store(storage: SpareStorage, key: string, bytes: Uint8Array): Promise<void> {
  const object = { bytes, size: bytes.length, modified: (storage.time += 1) };
  storage.visible.set(key, object);
  storage.durable.set(key, object);
  await Promise.resolve();
}

/** Reads what a source gives until it ends or fails. */
async function whatComes(source: ReopenableSource): Promise<{ bytes: Uint8Array; failure?: unknown }> {
  const parts: Uint8Array[] = [];
  try {
    for await (const chunk of source.open()) parts.push(chunk);
    return { bytes: new Uint8Array(Buffer.concat(parts)) };
  } catch (failure) {
    return { bytes: new Uint8Array(Buffer.concat(parts)), failure };
  }
}

/** Wrong drivers, each with the clauses whose cases must catch it. */
export const driverMutants: readonly BlobsMutant[] = [
  mutant('cuts long keys at 255 bytes', ['1.1'], mapped(truncateKey)),
  mutant(
    'puts keys into a case-folding name space',
    ['1.1'],
    mapped((key) => key.replaceAll('_', '-')),
  ),
  mutant('cannot hold a key and keys below it', ['1.1', '1.2'], (right, storage) => ({
    put: async (key, source, options) => {
      const parents = [...storage.visible.keys()].filter((other) => key.startsWith(`${other}/`));
      if (parents.length > 0) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
      return await right.put(key, source, options);
    },
  })),
  mutant(
    'takes the extension off',
    ['1.1', '1.2'],
    mapped((key) => key.replace(/\.ext\b/, '')),
  ),
  mutant('loses the last byte of a full buffer', ['2.1'], (right, storage) => ({
    put: async (key, source, options) => {
      const result = await right.put(key, source, options);
      const object = storage.visible.get(key);
      if (object !== undefined && object.size > 0 && object.size % 4096 === 0) {
        await store(storage, key, object.bytes.slice(0, -1));
      }
      return result;
    },
  })),
  mutant('hands out one buffer per object', ['2.2'], (right, storage) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      const { start, end } = options.range ?? { start: 0, end: content.size };
      const whole = (storage.visible.get(key)?.bytes ?? new Uint8Array()).slice(start, end);
      return {
        ...content,
        chunks: (async function* () {
          yield await Promise.resolve(whole);
        })(),
      };
    },
  })),
  mutant('calls a repeated put a conflict', ['2.3', '2.15'], (right, storage) => ({
    put: async (key, source, options) => {
      if (storage.visible.has(key)) throw new BlobConflictError(key);
      const result = await right.put(key, source, options);
      if (!result.created) throw new BlobConflictError(key);
      return result;
    },
  })),
  mutant('stamps a repeated put with a new time', ['2.3'], (right, storage) => ({
    put: async (key, source, options) => {
      const result = await right.put(key, source, options);
      const object = storage.visible.get(key);
      if (!result.created && object !== undefined) await store(storage, key, object.bytes);
      return result;
    },
  })),
  mutant('says created for a repeated put', ['2.3', '2.5', '2.15'], (right) => ({
    put: async (key, source, options) => {
      await right.put(key, source, options);
      return { created: true };
    },
  })),
  mutant('finds conflicts by size only', ['2.4'], (right, storage) => ({
    put: async (key, source, options) =>
      storage.visible.get(key)?.size === source.size
        ? { created: false }
        : await right.put(key, source, options),
  })),
  mutant('compares only the beginning', ['2.4'], (right, storage) => ({
    put: async (key, source, options) => {
      const object = storage.visible.get(key);
      if (object === undefined || object.size !== source.size) return await right.put(key, source, options);
      const bytes = await readAll(source.open());
      if (!equalBytes(bytes.slice(0, 1024), object.bytes.slice(0, 1024))) throw new BlobConflictError(key);
      return { created: false };
    },
  })),
  mutant('lets the last writer win', ['2.4', '2.5', '2.16'], (right, storage) => ({
    put: async (key, source) => {
      await store(storage, key, await readAll(source.open()));
      return { created: true };
    },
  })),
  mutant('knows conflicts only of its own puts', ['2.5'], (right, storage) => {
    const mine = new Set<string>();
    return {
      put: async (key, source, options) => {
        if (!mine.has(key)) storage.visible.delete(key);
        const result = await right.put(key, source, options);
        mine.add(key);
        return result;
      },
    };
  }),
  mutant('stores what came when a source ends early', ['2.6'], (right, storage) => ({
    put: async (key, source) => {
      const { bytes } = await whatComes(source);
      await store(storage, key, bytes);
      return { created: true };
    },
  })),
  mutant('stores the announced part of a source that goes on', ['2.7'], (right, storage) => ({
    put: async (key, source, options) => {
      const { bytes, failure } = await whatComes(source);
      if (failure === undefined || options.signal?.aborted === true)
        return await right.put(key, source, options);
      await store(storage, key, bytes.slice(0, source.size));
      throw failure;
    },
  })),
  mutant('stores what came when a source fails', ['2.8'], (right, storage) => ({
    put: async (key, source, options) => {
      const { bytes, failure } = await whatComes(source);
      if (failure === undefined) return await right.put(key, source, options);
      if (!storage.visible.has(key)) await store(storage, key, bytes);
      throw failure;
    },
  })),
  mutant('removes the old object before it reads the new one', ['2.9'], (right, storage) => ({
    put: async (key, source, options) => {
      const old = storage.visible.get(key);
      storage.visible.delete(key);
      const bytes = await readAll(source.open());
      if (old !== undefined) storage.visible.set(key, old);
      return await right.put(
        key,
        { size: bytes.length, open: () => pieces(bytes, 0, bytes.length) },
        options,
      );
    },
  })),
  mutant('leaves temporary files of failed puts', ['2.10'], (right, storage) => ({
    put: async (key, source, options) => {
      try {
        return await right.put(key, source, options);
      } catch (error) {
        storage.staged.add({});
        throw error;
      }
    },
  })),
  mutant('stores at most a thousand chunks', ['2.13'], (right, storage) => ({
    put: async (key, source) => {
      const parts: Uint8Array[] = [];
      for await (const chunk of source.open()) if (parts.length < 1000) parts.push(chunk);
      await store(storage, key, new Uint8Array(Buffer.concat(parts)));
      return { created: true };
    },
  })),
  mutant('refuses a second put while one of the same key runs', ['2.15', '8.7'], (right, storage) => ({
    put: async (key, source, options) => {
      const running = storage as SpareStorage & { running?: Set<string> };
      running.running ??= new Set();
      if (running.running.has(key)) throw new BlobConflictError(key);
      running.running.add(key);
      try {
        return await right.put(key, source, options);
      } finally {
        running.running.delete(key);
      }
    },
  })),
  mutant('looks, waits, and then stores', ['2.15', '2.16'], (right, storage) => ({
    put: async (key, source) => {
      const bytes = await readAll(source.open());
      const existing = storage.visible.get(key);
      if (existing !== undefined) {
        if (!equalBytes(existing.bytes, bytes)) throw new BlobConflictError(key);
        return { created: false };
      }
      await turn();
      await store(storage, key, bytes);
      return { created: true };
    },
  })),
  mutant('writes to the final name', ['2.17', '11.3'], (right, storage) => ({
    put: async (key, source, options) => {
      if (storage.visible.has(key)) return await right.put(key, source, options);
      const parts: Uint8Array[] = [];
      try {
        for await (const chunk of source.open()) {
          parts.push(chunk);
          await store(storage, key, new Uint8Array(Buffer.concat(parts)));
        }
        await store(storage, key, new Uint8Array(Buffer.concat(parts)));
        return { created: true };
      } catch (error) {
        storage.visible.delete(key);
        throw error;
      }
    },
  })),
  mutant('reports absence with the first read', ['3.1', '10.4'], (right) => ({
    get: async (key, options) => {
      try {
        return await right.get(key, options);
      } catch (error) {
        if (!BlobNotFoundError.is(error)) throw error;
        const chunks = (async function* (): AsyncGenerator<Uint8Array> {
          yield await Promise.reject(error);
        })();
        return { size: options.range?.end ?? 1, chunks, close: async () => await Promise.resolve() };
      }
    },
  })),
  mutant('hands out chunks out of order', ['3.2'], (right, storage) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      const { start, end } = options.range ?? { start: 0, end: content.size };
      const bytes = storage.visible.get(key)?.bytes ?? new Uint8Array();
      const parts: Uint8Array[] = [];
      for await (const part of pieces(bytes, start, end)) parts.unshift(part);
      return { ...content, chunks: pieces(Buffer.concat(parts), 0, end - start) };
    },
  })),
  mutant('reads a range with its end included', ['3.3'], (right, storage) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      const { start, end } = options.range ?? { start: 0, end: content.size };
      return {
        ...content,
        chunks: pieces(storage.visible.get(key)?.bytes ?? new Uint8Array(), start, end + 1),
      };
    },
  })),
  mutant('ignores the range', ['3.3'], (right) => ({
    get: async (key, { signal }) => await right.get(key, { signal }),
  })),
  mutant('reports the length of the range as the size', ['3.3'], (right) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      return {
        ...content,
        size: options.range === undefined ? content.size : options.range.end - options.range.start,
      };
    },
  })),
  mutant('keeps the handle of a read that was left', ['3.6', '8.4'], (right) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      let finished = false;
      const chunks = (async function* () {
        yield* content.chunks;
        finished = true;
      })();
      return { ...content, chunks, close: async () => (finished ? await content.close() : undefined) };
    },
  })),
  mutant('keeps the handle of a read that never began', ['3.7'], (right) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      let begun = false;
      const chunks = (async function* () {
        begun = true;
        yield* content.chunks;
      })();
      return { ...content, chunks, close: async () => (begun ? await content.close() : undefined) };
    },
  })),
  mutant('lets all reads share one buffer', ['3.9'], (right, storage) => {
    const shared = new Uint8Array(30_000);
    return {
      get: async (key, options) => {
        const content = await right.get(key, options);
        const { start, end } = options.range ?? { start: 0, end: content.size };
        const bytes = storage.visible.get(key)?.bytes ?? new Uint8Array();
        const chunks = (async function* () {
          for (let at = start; at < end; at += shared.length) {
            const piece = bytes.subarray(at, Math.min(end, at + shared.length));
            shared.set(piece);
            await turn();
            yield shared.subarray(0, piece.length);
          }
        })();
        return { ...content, chunks };
      },
    };
  }),
  mutant('reads every chunk from whatever the key holds then', ['3.10'], (right, storage) => ({
    get: async (key, options) => {
      const content = await right.get(key, options);
      const { start, end } = options.range ?? { start: 0, end: content.size };
      const chunks = (async function* () {
        for (let at = start; at < end; at += 30_000) {
          await Promise.resolve();
          yield (storage.visible.get(key)?.bytes ?? new Uint8Array()).slice(at, Math.min(end, at + 30_000));
        }
      })();
      return { ...content, chunks };
    },
  })),
  mutant('maps every failure to "not found"', ['3.11'], (right) => ({
    get: async (key, options) => {
      try {
        return await right.get(key, options);
      } catch (error) {
        options.signal?.throwIfAborted();
        throw new BlobNotFoundError(key, { cause: error });
      }
    },
  })),
  mutant('hides damaged objects', ['3.11'], (right, storage) => ({
    list: async function* (prefix, options) {
      for await (const entry of right.list(prefix, options)) {
        if (storage.visible.get(entry.key)?.bytes.length === entry.size) yield entry;
      }
    },
  })),
  mutant('stats what is absent as empty', ['4.1'], (right) => ({
    stat: async (key, options) => (await right.stat(key, options)) ?? { size: 0, modified: 0 },
  })),
  mutant('takes directories for objects', ['4.2'], (right, storage) => ({
    stat: async (key, options) => {
      const below = [...storage.visible.keys()].some((other) => other.startsWith(`${key}/`));
      return (await right.stat(key, options)) ?? (below ? { size: 0, modified: 0 } : undefined);
    },
  })),
  mutant('lists the time of the listing', ['4.3'], (right, storage) => ({
    list: async function* (prefix, options) {
      for await (const entry of right.list(prefix, options))
        yield { ...entry, modified: (storage.time += 1) };
    },
  })),
  mutant('lists in the order of putting', ['5.1'], (right, storage) => ({
    list: async function* (prefix) {
      for (const [key, { size, modified }] of storage.visible) {
        if (key.startsWith(prefix)) yield await Promise.resolve({ key, size, modified });
      }
    },
  })),
  mutant('sorts by path segments', ['5.1'], (right, storage) => ({
    list: async function* (prefix, options) {
      const entries: BlobEntry[] = [];
      for await (const entry of right.list(prefix, options)) entries.push(entry);
      const order = (key: string): string => key.replaceAll('/', '\0');
      yield* entries.sort((a, b) => (order(a.key) < order(b.key) ? -1 : 1));
      storage.time += 1;
    },
  })),
  mutant('lists entries twice', ['5.1', '5.3'], (right) => ({
    list: async function* (prefix, options) {
      for await (const entry of right.list(prefix, options)) {
        yield entry;
        yield entry;
      }
    },
  })),
  mutant('takes the prefix for a directory', ['5.2'], (right) => ({
    list: async function* (prefix, options) {
      for await (const entry of right.list(prefix, options)) {
        const rest = entry.key.slice(prefix.length);
        if (prefix === '' || prefix.endsWith('/') || rest === '' || rest.startsWith('/')) yield entry;
      }
    },
  })),
  mutant('lists the first page only', ['5.3'], (right) => ({
    list: async function* (prefix, options) {
      let count = 0;
      for await (const entry of right.list(prefix, options)) if ((count += 1) <= 100) yield entry;
    },
  })),
  mutant('lists what was deleted', ['5.4', '6.1'], (right, storage) => {
    const gone = new Map<string, BlobEntry>();
    return {
      delete: async (key, options) => {
        const object = storage.visible.get(key);
        await right.delete(key, options);
        if (object !== undefined) gone.set(key, { key, size: object.size, modified: object.modified });
      },
      list: async function* (prefix) {
        const keys = new Set(
          [...keysOf(storage, prefix), ...gone.keys()].filter((key) => key.startsWith(prefix)),
        );
        for (const key of [...keys].sort()) {
          await Promise.resolve();
          const object = storage.visible.get(key) ?? gone.get(key);
          if (object !== undefined) yield { key, size: object.size, modified: object.modified };
        }
      },
    };
  }),
  mutant('goes on where the last list was left', ['5.5'], (right) => {
    let position = 0;
    return {
      list: async function* (prefix, options) {
        let index = 0;
        for await (const entry of right.list(prefix, options)) {
          index += 1;
          if (index <= position) continue;
          position = index;
          yield entry;
        }
        position = 0;
      },
    };
  }),
  mutant('pages by offset', ['5.6'], (right, storage) => ({
    list: async function* (prefix) {
      for (let offset = 0; ; offset += 1) {
        await Promise.resolve();
        const key = keysOf(storage, prefix)[offset];
        if (key === undefined) return;
        const { size, modified } = storage.visible.get(key) as { size: number; modified: number };
        yield { key, size, modified };
      }
    },
  })),
  mutant('deletes only from the index', ['6.1', '7.2'], (right, storage) => {
    const hidden = new Set<string>();
    return {
      delete: async (key, { signal }) => {
        await Promise.resolve();
        signal?.throwIfAborted();
        hidden.add(key);
      },
      stat: async (key, options) => (hidden.has(key) ? undefined : await right.stat(key, options)),
      list: async function* (prefix, options) {
        for await (const entry of right.list(prefix, options)) if (!hidden.has(entry.key)) yield entry;
        storage.time += 1;
      },
    };
  }),
  mutant('fails to delete what is absent', ['6.2'], (right, storage) => ({
    delete: async (key, options) => {
      if (!storage.visible.has(key)) throw new BlobNotFoundError(key);
      await right.delete(key, options);
    },
  })),
  mutant('never frees a deleted key', ['6.3'], (right, storage) => {
    const buried = new Set<string>();
    return {
      put: async (key, source, options) => {
        if (buried.has(key)) throw new BlobConflictError(key);
        return await right.put(key, source, options);
      },
      delete: async (key, options) => {
        if (storage.visible.has(key)) buried.add(key);
        await right.delete(key, options);
      },
    };
  }),
  mutant('deletes everything below a key', ['4.2', '6.4'], (right, storage) => ({
    delete: async (key, options) => {
      await right.delete(key, options);
      for (const other of keysOf(storage, `${key}/`)) await right.delete(other, options);
    },
  })),
  mutant('fails the slower of two deletes', ['6.5'], (right, storage) => ({
    delete: async (key, options) => {
      const there = storage.visible.has(key);
      await turn();
      if (there && !storage.visible.has(key)) throw new Error('somebody else deleted it');
      await right.delete(key, options);
    },
  })),
  mutant('removes a directory under a put', ['6.6'], (right, storage) => {
    const shared = storage as SpareStorage & { removing?: Set<string> };
    const parent = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1);
    return {
      put: async (key, source, options) => {
        const result = await right.put(key, source, options);
        if (shared.removing?.has(parent(key)) === true) throw new Error('ENOENT: no such directory');
        return result;
      },
      delete: async (key, options) => {
        shared.removing ??= new Set();
        shared.removing.add(parent(key));
        await right.delete(key, options);
        for (let i = 0; i < 3; i += 1) await turn();
        shared.removing.delete(parent(key));
      },
    };
  }),
  mutant('fails a delete while its key is being put', ['6.7'], (right, storage) => {
    const shared = storage as SpareStorage & { putting?: Set<string> };
    return {
      put: async (key, source, options) => {
        shared.putting ??= new Set();
        shared.putting.add(key);
        try {
          await turn();
          return await right.put(key, source, options);
        } finally {
          shared.putting.delete(key);
        }
      },
      delete: async (key, options) => {
        await turn();
        if (shared.putting?.has(key) === true) throw new Error('the object is locked');
        await right.delete(key, options);
      },
    };
  }),
  mutant('remembers that an object was absent', ['7.1'], (right) => {
    const absent = new Set<string>();
    return {
      put: async (key, source, options) => {
        absent.delete(key);
        return await right.put(key, source, options);
      },
      stat: async (key, options) => {
        if (absent.has(key)) return undefined;
        const info = await right.stat(key, options);
        if (info === undefined) absent.add(key);
        return info;
      },
    };
  }),
  mutant('remembers that an object was there', ['7.2'], (right) => {
    const seen = new Map<string, { size: number; modified: number }>();
    return {
      stat: async (key, options) => {
        const info = seen.get(key) ?? (await right.stat(key, options));
        if (info !== undefined) seen.set(key, info);
        return info;
      },
      delete: async (key, options) => {
        seen.delete(key);
        await right.delete(key, options);
      },
    };
  }),
  mutant('keeps what it stores to itself', ['7.1', '7.3'], () => spareDriver(new SpareStorage())),
  mutant('writes through to the storage only once in a while', ['7.3'], (right, storage) => {
    const own = new SpareStorage();
    const late = spareDriver(own);
    return {
      ...late,
      put: async (key, source, options) => {
        const result = await late.put(key, source, options);
        if (own.visible.size > 1)
          for (const [name, object] of own.visible) await store(storage, name, object.bytes);
        return result;
      },
    };
  }),
  mutant('commits what has come when it is aborted', ['8.2'], (right, storage) => ({
    put: async (key, source, options) => {
      const { bytes, failure } = await whatComes(source);
      if (failure === undefined) return await right.put(key, source, options);
      if (options.signal?.aborted === true) await store(storage, key, bytes);
      throw failure;
    },
  })),
  mutant('tears down its connection when it is closed', ['9.4'], (right, storage) => ({
    close: async () => {
      storage.visible.clear();
      await Promise.resolve();
    },
  })),
  mutant('fails to close twice', ['9.2'], (right) => ({
    close: async () => {
      await right.close();
      throw new Error('the connection was never opened');
    },
  })),
  mutant('declares something else in every view', ['10.1'], (right, storage) => {
    storage.time += 1;
    return { supports: { visibility: 'strong', durable: storage.time % 2 === 0 } };
  }),
  mutant('declares what nobody knows', ['10.1'], () => ({ supports: { durable: true } as never })),
  mutant('names relative storage paths', ['10.3'], () => ({ storagePaths: () => ['store', './x/../y'] })),
  mutant('speaks of its own keys', ['10.4', '3.1'], (right) => ({
    get: async (key, options) => {
      try {
        return await right.get(key, options);
      } catch (error) {
        throw BlobNotFoundError.is(error) ? new BlobNotFoundError(`bucket/${key}`) : error;
      }
    },
  })),
  mutant('throws look-alikes of the errors', ['3.1', '10.4'], (right) => ({
    get: async (key, options) => {
      try {
        return await right.get(key, options);
      } catch (error) {
        if (!BlobNotFoundError.is(error)) throw error;
        throw Object.assign(new Error('not found'), { name: 'BlobNotFoundError', code: 'BLOBS_NOT_FOUND' });
      }
    },
  })),
  mutant('resolves a put before it is durable', ['11.1'], (right, storage) => ({
    put: async (key, source, options) => {
      const before = storage.durable.get(key);
      const result = await right.put(key, source, options);
      if (before === undefined) storage.durable.delete(key);
      return result;
    },
  })),
  mutant('resolves a repeated put that is not durable', ['11.1'], (right, storage) => ({
    put: async (key, source, options) => {
      const result = await right.put(key, source, options);
      if (!result.created) storage.durable.delete(key);
      return result;
    },
  })),
  mutant('resolves a delete before it is durable', ['11.2'], (right, storage) => ({
    delete: async (key, options) => {
      const before = storage.durable.get(key);
      await right.delete(key, options);
      if (before !== undefined) storage.durable.set(key, before);
    },
  })),
  mutant('shows what a crash cut off', ['11.3'], (right, storage) => ({
    put: async (key, source, options) => {
      const parts: Uint8Array[] = [];
      for await (const chunk of source.open()) {
        parts.push(chunk);
        const bytes = new Uint8Array(Buffer.concat(parts));
        storage.durable.set(key, { bytes, size: bytes.length, modified: 1 });
      }
      storage.durable.delete(key);
      const bytes = new Uint8Array(Buffer.concat(parts));
      return await right.put(
        key,
        { size: bytes.length, open: () => pieces(bytes, 0, bytes.length) },
        options,
      );
    },
  })),
];
