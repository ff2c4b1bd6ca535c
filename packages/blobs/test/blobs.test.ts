import { ManualClock, seededRandom } from '@holdfast/base/testing';
import {
  BlobIntegrityError,
  BlobNotFoundError,
  BlobSourceError,
  Blobs,
  BlobsAmbiguousError,
  BlobsBackendError,
  BlobsClosedError,
  type BlobsDriver,
  BlobsUnsupportedError,
  MemoryBlobStorage,
  MemoryBlobsDriver,
  memoryBlobs,
} from '@holdfast/blobs';
import { collect, failing, freshBytes, pausing } from '@holdfast/blobs/testing';
import { describe, expect, it } from 'vitest';

import { SpareStorage, spareDriver } from './support/spare-driver.js';

const bytes = freshBytes(seededRandom(1), 100_000);

/** A store over a driver of which some methods are replaced. */
function storeWith(
  changes: (right: BlobsDriver) => Partial<BlobsDriver>,
  storage = new SpareStorage(),
): Blobs {
  const right = spareDriver(storage);
  return new Blobs({ ...right, ...changes(right) });
}

const thrown = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => {
      throw new Error('it resolved');
    },
    (error: unknown) => error,
  );

describe('a driver', () => {
  it('of another contract version is refused at construction', () => {
    const driver = { ...spareDriver(new SpareStorage()), contract: 'blobs/2' } as unknown as BlobsDriver;
    expect(() => new Blobs(driver)).toThrow(BlobsUnsupportedError);
  });

  it('that throws anything gets it wrapped once, with operation, key and effect', async () => {
    const cause = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    const fail = async (): Promise<never> => await Promise.reject(cause);
    const store = storeWith(() => ({ put: fail, get: fail, stat: fail, delete: fail }));
    for (const [call, operation, effect] of [
      [async () => await store.put('k', bytes), 'put', 'none'],
      [async () => await store.get('k'), 'get', undefined],
      [async () => await store.stat('k'), 'stat', undefined],
      [
        async () => {
          await store.delete('k');
        },
        'delete',
        'none',
      ],
    ] as const) {
      const error = (await thrown(call())) as BlobsBackendError;
      expect(BlobsBackendError.is(error)).toBe(true);
      expect(error).toMatchObject({ operation, key: 'k', retryable: false, cause });
      expect(error.effect).toBe(effect);
    }
  });

  it('decides whether a failure is worth a retry', async () => {
    const store = storeWith(() => ({
      stat: async () => await Promise.reject(Object.assign(new Error('503'), { retryable: true })),
    }));
    await expect(store.stat('k')).rejects.toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
  });

  it('may say that an outcome is unknown, which no failure of the source hides', async () => {
    const store = storeWith(() => ({
      put: async (key, source) => {
        await collect(source.open()).catch(() => undefined);
        throw new BlobsAmbiguousError('put', key);
      },
    }));
    await expect(store.put('k', failing(bytes, new Error('gone')))).rejects.toMatchObject({
      code: 'BLOBS_AMBIGUOUS',
      effect: 'unknown',
      retryable: true,
    });
  });

  it('cannot hide that a source failed', async () => {
    const cause = new Error('gone');
    const wraps = storeWith((right) => ({
      put: async (key, source, options) => {
        try {
          return await right.put(key, source, options);
        } catch (error) {
          throw new Error('upload failed', { cause: error });
        }
      },
    }));
    const swallows = storeWith(() => ({
      put: async (_key, source) => {
        await collect(source.open()).catch(() => undefined);
        return { created: true };
      },
    }));
    for (const store of [wraps, swallows]) {
      const error = await thrown(store.put('k', failing(bytes, cause)));
      expect(BlobSourceError.is(error)).toBe(true);
      expect(error).toMatchObject({ kind: 'failed', cause });
    }
  });

  it('that reads fewer or more bytes than it should is a damaged object, never a short read', async () => {
    const cutting = (count: number): Blobs =>
      storeWith((right) => ({
        get: async (key, options) => {
          const content = await right.get(key, options);
          const chunks = (async function* () {
            await Promise.resolve();
            yield bytes.slice(0, count);
          })();
          return { ...content, chunks };
        },
      }));
    for (const [count, kind] of [
      [bytes.length - 1, 'truncated'],
      [bytes.length + 1, 'oversized'],
      [0, 'truncated'],
    ] as const) {
      const store = cutting(count);
      await store.put('k', count > bytes.length ? bytes.slice(0, -1) : bytes);
      if (count > bytes.length) continue;
      const error = await thrown(store.getBytes('k'));
      expect(BlobIntegrityError.is(error)).toBe(true);
      expect(error).toMatchObject({ kind, key: 'k' });
    }
    const long = cutting(bytes.length);
    await long.put('k', bytes.slice(0, 10));
    await expect(long.getBytes('k')).rejects.toMatchObject({ kind: 'oversized' });
  });

  it('that reports nonsense is a failed backend', async () => {
    for (const info of [
      { size: -1, modified: 0 },
      { size: 1.5, modified: 0 },
      { size: 1, modified: Number.NaN },
    ]) {
      const store = storeWith(() => ({ stat: async () => await Promise.resolve(info) }));
      await expect(store.stat('k')).rejects.toMatchObject({ code: 'BLOBS_BACKEND' });
    }
  });

  it('may find objects of others in its storage, which are left out of the list', async () => {
    const entries = ['README.TXT', 'a', 'b/', 'c'].map((key) => ({ key, size: 1, modified: 1 }));
    const store = storeWith(() => ({
      list: async function* () {
        for (const entry of entries) yield await Promise.resolve(entry);
      },
    }));
    expect((await collect(store.list())).map((entry) => entry.key)).toEqual(['a', 'c']);
  });

  it('that lists out of order, twice, or outside the prefix is a failed backend', async () => {
    for (const keys of [
      ['b', 'a'],
      ['a', 'a'],
      ['a', 'x'],
    ]) {
      const store = storeWith(() => ({
        list: async function* () {
          for (const key of keys) yield await Promise.resolve({ key, size: 1, modified: 1 });
        },
      }));
      const prefix = keys.includes('x') ? 'a' : '';
      await expect(collect(store.list(prefix))).rejects.toMatchObject({
        code: 'BLOBS_BACKEND',
        operation: 'list',
      });
    }
  });

  it('that fails to close has its failure told to everybody who closes', async () => {
    const cause = new Error('already closed');
    const store = storeWith(() => ({ close: async () => await Promise.reject(cause) }));
    const outcomes = await Promise.all([thrown(store.close()), thrown(store.close())]);
    expect(outcomes[0]).toBe(outcomes[1]);
    expect(outcomes[0]).toMatchObject({ code: 'BLOBS_BACKEND', operation: 'close', cause });
  });

  it('is closed once, after everything that ran has ended', async () => {
    const order: string[] = [];
    const store = storeWith((right) => ({
      put: async (key, source, options) => {
        try {
          return await right.put(key, source, options);
        } finally {
          order.push('put ended');
        }
      },
      close: async () => {
        await Promise.resolve();
        order.push('closed');
      },
    }));
    const source = pausing(bytes, 1000);
    const put = thrown(store.put('k', source));
    await source.paused;
    await Promise.all([store.close(), store.close(), store[Symbol.asyncDispose]()]);
    expect(BlobsClosedError.is(await put)).toBe(true);
    expect(order).toEqual(['put ended', 'closed']);
  });
});

describe('a reader', () => {
  it('is freed when its store is closed from inside the loop that reads it', async () => {
    const storage = new SpareStorage();
    const store = storeWith(() => ({}), storage);
    await store.put('k', bytes);
    const read = async (): Promise<void> => {
      for await (const chunk of await store.get('k')) {
        expect(chunk.length).toBeGreaterThan(0);
        await store.close();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'BLOBS_CLOSED', subject: 'store' });
    expect(storage.held).toBe(0);
  });

  it('whose driver fails to free it says so, unless something else had failed before', async () => {
    const cause = new Error('cannot close');
    const cannotClose = async (): Promise<void> => {
      await Promise.reject(cause);
    };
    const store = storeWith((right) => ({
      get: async (key, options) => ({ ...(await right.get(key, options)), close: cannotClose }),
    }));
    await store.put('k', bytes);
    await expect(store.getBytes('k')).rejects.toMatchObject({
      code: 'BLOBS_BACKEND',
      operation: 'read',
      cause,
    });
    const controller = new AbortController();
    const iterator = (await store.get('k', { signal: controller.signal }))[Symbol.asyncIterator]();
    await iterator.next();
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(iterator.next()).rejects.toBe(reason);
    await store.close();
  });

  it('that was closed says so', async () => {
    const store = memoryBlobs();
    await store.put('k', bytes);
    const reader = await store.get('k');
    await reader.close();
    await expect(reader.bytes()).rejects.toMatchObject({ code: 'BLOBS_CLOSED', subject: 'reader' });
  });

  it('is freed when get itself is aborted', async () => {
    const storage = new SpareStorage();
    const controller = new AbortController();
    const reason = new Error('enough');
    const store = storeWith(
      (right) => ({
        get: async (key, options) => {
          const content = await right.get(key, { range: options.range });
          controller.abort(reason);
          return content;
        },
      }),
      storage,
    );
    await store.put('k', bytes);
    await expect(store.get('k', { signal: controller.signal })).rejects.toBe(reason);
    expect(storage.held).toBe(0);
  });

  it('that is aborted while nobody reads frees what it holds at once', async () => {
    const storage = new SpareStorage();
    const store = storeWith(() => ({}), storage);
    await store.put('k', bytes);
    const controller = new AbortController();
    const reader = await store.get('k', { signal: controller.signal });
    expect(storage.held).toBe(1);
    const reason = new Error('enough');
    controller.abort(reason);
    await new Promise((resolve) => setImmediate(resolve));
    expect(storage.held).toBe(0);
    await expect(reader.bytes()).rejects.toBe(reason);
  });
});

describe('the store', () => {
  it('does not keep listeners on a long-lived signal', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...call: Parameters<typeof add>) => {
      listeners += 1;
      add(...call);
    }) as typeof add;
    signal.removeEventListener = ((...call: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...call);
    }) as typeof remove;
    const store = memoryBlobs();
    await store.put('k', bytes, { signal });
    await store.getBytes('k', { signal });
    await store.stat('k', { signal });
    await collect(store.list('', { signal }));
    await thrown(store.get('missing', { signal }));
    for await (const entry of store.list('', { signal })) if (entry.key === 'k') break;
    await store.delete('k', { signal });
    expect(listeners).toBe(0);
  });

  it('names the first fact that a caller needs and it does not have', () => {
    const store = memoryBlobs();
    store.assertSupports({ visibility: 'strong' });
    expect(() => {
      store.assertSupports({ visibility: 'strong', durable: true });
    }).toThrow('this blob store does not support "durable: true": it declares "durable: false"');
  });

  it('accepts a Node buffer and gives back plain arrays', async () => {
    const store = memoryBlobs();
    await store.put('k', Buffer.from('text'));
    const read = await store.getBytes('k');
    expect(read.constructor).toBe(Uint8Array);
    expect(Buffer.from(read).toString()).toBe('text');
  });
});

describe('the memory driver', () => {
  const options = {};

  it('is stricter than it has to be: names, sizes, ranges and use after close are checked again', async () => {
    const driver = new MemoryBlobsDriver();
    const source = { size: 3, open: () => collectable(bytes.slice(0, 2)) };
    await expect(driver.put('K', source, options)).rejects.toMatchObject({ code: 'BASE_INVALID_NAME' });
    await expect(driver.put('k', source, options)).rejects.toMatchObject({
      code: 'BLOBS_SOURCE',
      kind: 'too-short',
    });
    await expect(driver.stat('k', options)).resolves.toBe(undefined);
    await driver.put('k', { size: 2, open: () => collectable(bytes.slice(0, 2)) }, options);
    await expect(driver.get('k', { range: { start: 0, end: 3 } })).rejects.toMatchObject({
      code: 'BLOBS_RANGE',
    });
    const content = await driver.get('k', options);
    await content.close();
    await expect(collect(content.chunks)).rejects.toThrow('after close');
    await driver.close();
    await expect(driver.stat('k', options)).rejects.toMatchObject({ code: 'BLOBS_CLOSED' });
  });

  it('stamps with its clock and shares a storage between stores', async () => {
    const storage = new MemoryBlobStorage();
    const store = memoryBlobs({ storage, clock: new ManualClock(5_000) });
    await store.put('k', bytes);
    await store.close();
    expect(await memoryBlobs({ storage }).stat('k')).toEqual({ size: bytes.length, modified: 5_000 });
    await expect(memoryBlobs().get('k')).rejects.toSatisfy((error) => BlobNotFoundError.is(error));
  });
});

async function* collectable(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
