import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { equalBytes } from '@holdfast/base';
import { ManualClock, seededRandom } from '@holdfast/base/testing';
import { type Blobs, Blobs as BlobsClass, memoryBlobs } from '@holdfast/blobs';
import {
  blobsAsDriver,
  type CacheEvent,
  type CacheOptions,
  cacheLayer,
  diskCacheLayer,
  FaultPlan,
  faultLayer,
  layerBlobs,
  metricsLayer,
} from '@holdfast/blobs/layers';
import { collect, freshBytes } from '@holdfast/blobs/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { expectBytes } from './support/expect-bytes.js';
import { filesBelow } from './support/fs-harness.js';

const bytes = freshBytes(seededRandom(11), 100_000);
const segmentBytes = 10_000;
const base = mkdtempSync(join(tmpdir(), 'holdfast-cache-'));
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

/** A store behind a cache, with counters of what reaches the store. */
function cached(options: Partial<CacheOptions> = {}, cache: Blobs = memoryBlobs()) {
  const origin = memoryBlobs({ clock: new ManualClock() });
  const calls: string[] = [];
  const events: CacheEvent[] = [];
  const kinds = (): string =>
    events
      .splice(0)
      .map((event) => event.kind[0])
      .join('');
  const store = layerBlobs(origin, [
    metricsLayer(({ operation, key, bytes: count }) => calls.push(`${operation} ${key} ${count}`)),
    cacheLayer({
      cache,
      maxBytes: 1_000_000,
      immutable: (key) => key.startsWith('content/'),
      segmentBytes,
      onEvent: (event) => events.push(event),
      ...options,
    }),
  ]);
  return { store, origin, cache, calls, kinds };
}

describe('the cache layer', () => {
  it('reads an object from the store once, then from the cache, in whole and in part', async () => {
    const { store, origin, calls, kinds } = cached();
    await origin.put('content/k', bytes);
    expectBytes(await store.getBytes('content/k'), bytes);
    expect(calls.splice(0)).toEqual(['stat content/k 0', 'get content/k 100000']);
    expect(kinds()).toBe('m');
    expectBytes(await store.getBytes('content/k'), bytes);
    expect(calls.splice(0)).toEqual(['stat content/k 0']);
    expect(kinds()).toBe('hhhhhhhhhh');
    for (const [start, end] of [
      [0, 1],
      [9_999, 10_001],
      [25_000, 75_000],
      [99_999, 100_000],
      [50_000, 50_000],
    ] as const) {
      expectBytes(await store.getBytes('content/k', { range: { start, end } }), bytes.slice(start, end));
    }
    expect(calls.every((call) => call.startsWith('stat'))).toBe(true);
  });

  it('fetches only the segments that a range needs, and later only what is missing', async () => {
    const { store, origin, calls, kinds } = cached();
    await origin.put('content/k', bytes);
    const range = { start: 32_000, end: 38_000 };
    expectBytes(await store.getBytes('content/k', { range }), bytes.slice(32_000, 38_000));
    expect(calls.splice(0)).toEqual(['stat content/k 0', 'get content/k 10000']);
    expect(kinds()).toBe('m');
    expectBytes(await store.getBytes('content/k'), bytes);
    expect(calls.splice(0)).toEqual([
      'stat content/k 0',
      'get content/k 30000',
      'stat content/k 0',
      'get content/k 60000',
    ]);
    expect(kinds()).toBe('mhm');
  });

  it('never serves what it was not told to be immutable, nor excluded prefixes', async () => {
    const { store, origin, calls, cache } = cached({ immutable: () => true, exclude: ['writers/', 'gc/'] });
    for (const key of ['writers/1', 'gc/list']) {
      await origin.put(key, bytes);
      await store.getBytes(key);
      await store.getBytes(key);
    }
    expect(calls.filter((call) => call.startsWith('get'))).toHaveLength(4);
    const other = cached();
    await other.origin.put('mutable/k', bytes);
    await other.store.getBytes('mutable/k');
    expect([...(await collect(cache.list())), ...(await collect(other.cache.list()))]).toEqual([]);
  });

  it('finds every single damaged byte of what it stored, and only loses time', async () => {
    const { store, origin, cache, kinds } = cached({ segmentBytes: 64 });
    const small = bytes.slice(0, 60);
    await origin.put('content/k', small);
    await store.getBytes('content/k');
    const [entry] = await collect(cache.list());
    const name = entry?.key as string;
    const good = await cache.getBytes(name);
    for (let at = 0; at < good.length; at += 1) {
      const damaged = good.slice();
      damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
      await cache.delete(name);
      await cache.put(name, damaged);
      kinds();
      expectBytes(await store.getBytes('content/k'), small);
      expect(kinds(), `byte ${at}`).toBe('d');
    }
    for (const length of [0, 1, 57, 58, good.length - 1]) {
      await cache.delete(name);
      await cache.put(name, good.slice(0, length));
      expectBytes(await store.getBytes('content/k'), small);
    }
  });

  it('does not take a segment of something else for its own', async () => {
    const { store, origin, cache, kinds } = cached();
    await origin.put('content/a', bytes.slice(0, 500));
    await origin.put('content/b', bytes.slice(500, 1000));
    await store.getBytes('content/a');
    await store.getBytes('content/b');
    const [one, two] = (await collect(cache.list())).map((entry) => entry.key) as [string, string];
    const [first, second] = [await cache.getBytes(one), await cache.getBytes(two)];
    await cache.delete(one);
    await cache.delete(two);
    await cache.put(one, second);
    await cache.put(two, first);
    kinds();
    expectBytes(await store.getBytes('content/a'), bytes.slice(0, 500));
    expectBytes(await store.getBytes('content/b'), bytes.slice(500, 1000));
    expect(kinds()).toBe('dd');
  });

  it('keeps its budget by dropping what was not used for longest', async () => {
    const { store, origin, cache, calls } = cached({ maxBytes: 35_000 });
    for (const key of ['a', 'b', 'c', 'd']) await origin.put(`content/${key}`, bytes.slice(0, 9_000));
    const read = async (key: string): Promise<boolean> => {
      calls.length = 0;
      await store.getBytes(`content/${key}`);
      return calls.some((call) => call.startsWith('get'));
    };
    for (const key of ['a', 'b', 'c']) expect(await read(key)).toBe(true);
    expect(await read('a')).toBe(false);
    expect(await read('d')).toBe(true);
    expect([await read('a'), await read('c'), await read('d')]).toEqual([false, false, false]);
    expect(await read('b')).toBe(true);
    let total = 0;
    for await (const entry of cache.list()) total += entry.size;
    expect(total).toBeLessThanOrEqual(35_000);
  });

  it('does not cache a segment that is larger than its budget', async () => {
    const { store, origin, cache } = cached({ maxBytes: 5_000 });
    await origin.put('content/k', bytes);
    expectBytes(await store.getBytes('content/k'), bytes);
    expect(await collect(cache.list())).toEqual([]);
  });

  it('asks whether the object is still there, and declares eventual visibility when it must not', async () => {
    const asking = cached();
    await asking.origin.put('content/k', bytes);
    await asking.store.getBytes('content/k');
    await asking.origin.delete('content/k');
    expect(asking.store.supports.visibility).toBe('strong');
    await expect(asking.store.get('content/k')).rejects.toMatchObject({ code: 'BLOBS_NOT_FOUND' });
    expect(await collect(asking.cache.list())).toEqual([]);

    const trusting = cached({ revalidate: false });
    await trusting.origin.put('content/k', bytes);
    await trusting.store.getBytes('content/k');
    await trusting.origin.delete('content/k');
    trusting.calls.length = 0;
    expect(trusting.store.supports.visibility).toBe('eventual');
    expectBytes(await trusting.store.getBytes('content/k'), bytes);
    await expect(
      trusting.store.get('content/k', { range: { start: 0, end: 100_001 } }),
    ).rejects.toMatchObject({
      code: 'BLOBS_RANGE',
      size: 100_000,
    });
    expect(trusting.calls).toEqual([]);
    await trusting.store.delete('content/k');
    await expect(trusting.store.get('content/k')).rejects.toMatchObject({ code: 'BLOBS_NOT_FOUND' });
  });

  it('fails a read whose object is replaced in the middle, and never mixes', async () => {
    for (const size of [99_999, 100_000, 100_001]) {
      const clock = new ManualClock();
      const origin = memoryBlobs({ clock });
      const layer = cacheLayer({ cache: memoryBlobs(), maxBytes: 1e6, immutable: () => true, segmentBytes });
      const store = layerBlobs(origin, [layer]);
      await origin.put('k', bytes);
      await store.getBytes('k', { range: { start: 0, end: 5 } });
      const iterator = (await store.get('k'))[Symbol.asyncIterator]();
      await iterator.next();
      await origin.delete('k');
      clock.jumpWall(1);
      await origin.put('k', freshBytes(seededRandom(12), size));
      const rest = async (): Promise<void> => {
        for (let step = await iterator.next(); step.done !== true; ) step = await iterator.next();
      };
      await expect(rest()).rejects.toMatchObject({ code: 'BLOBS_INTEGRITY', kind: 'changed' });
    }
  });

  it('goes on without a cache whose store fails in any way', async () => {
    for (const faults of [
      [{ operation: 'list', kind: 'busy', times: 'always' }],
      [{ operation: 'put', kind: 'denied', times: 'always' }],
      [{ operation: 'get', kind: 'busy', times: 'always' }],
      [{ operation: 'read', kind: 'flipped', times: 'always' }],
      [{ operation: 'read', kind: 'broken', times: 'always' }],
      [
        { operation: 'delete', kind: 'busy', times: 'always' },
        { operation: 'read', kind: 'cut', times: 'always' },
      ],
    ] as const) {
      const broken = layerBlobs(memoryBlobs(), [faultLayer(new FaultPlan(faults))]);
      const { store, origin } = cached({ maxBytes: 50_000 }, broken);
      await origin.put('content/k', bytes);
      for (let round = 0; round < 3; round += 1) expectBytes(await store.getBytes('content/k'), bytes);
      await store.delete('content/k');
      await expect(store.get('content/k')).rejects.toMatchObject({ code: 'BLOBS_NOT_FOUND' });
    }
  });

  it('does not hide failures of the store, and leaves nothing half-cached', async () => {
    const plan = new FaultPlan([{ operation: 'read', kind: 'broken' }]);
    const origin = memoryBlobs();
    const cache = memoryBlobs();
    const store = layerBlobs(origin, [
      faultLayer(plan),
      cacheLayer({ cache, maxBytes: 1e6, immutable: () => true, segmentBytes }),
    ]);
    await origin.put('k', bytes);
    await expect(store.getBytes('k')).rejects.toMatchObject({ code: 'BLOBS_BACKEND', operation: 'read' });
    expectBytes(await store.getBytes('k'), bytes);
    expectBytes(await store.getBytes('k'), bytes);
  });

  it('reads the same whatever is cached, by a model', async () => {
    const random = seededRandom(99);
    const { store, origin } = cached({ maxBytes: 60_000, segmentBytes: 777 });
    await origin.put('content/k', bytes);
    for (let round = 0; round < 200; round += 1) {
      const start = random.below(bytes.length + 1);
      const end = start + random.below(Math.min(9000, bytes.length - start) + 1);
      const read = await store.getBytes('content/k', { range: { start, end } });
      expect(equalBytes(read, bytes.slice(start, end)), `seed 99, range ${start} to ${end}`).toBe(true);
    }
  });

  it('closes its store with the view, and shows where it writes', async () => {
    const { store, cache } = cached();
    expect(store.storagePaths()).toEqual([]);
    await store.close();
    await expect(cache.stat('k')).rejects.toMatchObject({ code: 'BLOBS_CLOSED' });
  });

  it('refuses segments of no size', () => {
    expect(() => cached({ segmentBytes: 0 })).toThrow(RangeError);
  });
});

describe('a disk cache', () => {
  it('survives the process, is found damaged where it is, and is rebuilt within its budget', async () => {
    const directory = join(base, 'disk');
    const origin = memoryBlobs();
    await origin.put('content/k', bytes);
    const open = async (maxBytes: number, events: CacheEvent[]): Promise<Blobs> => {
      const layer = await diskCacheLayer(directory, {
        maxBytes,
        immutable: () => true,
        segmentBytes,
        onEvent: (event) => events.push(event),
      });
      return new BlobsClass(layer(blobsAsDriver(origin, { keepOpen: true })));
    };
    const first: CacheEvent[] = [];
    const one = await open(1e6, first);
    expect(one.storagePaths()).toEqual([directory]);
    expectBytes(await one.getBytes('content/k'), bytes);
    await one.close();

    const files = filesBelow(directory).filter((path) => path.includes('/objects/'));
    expect(files).toHaveLength(10);
    const damaged = readFileSync(files[3] as string);
    damaged[200] = (damaged[200] as number) ^ 255;
    writeFileSync(files[3] as string, damaged);
    const second: CacheEvent[] = [];
    const two = await open(1e6, second);
    expectBytes(await two.getBytes('content/k'), bytes);
    await two.close();
    expect(second.map((event) => event.kind).sort()).toEqual([
      'damaged',
      ...Array.from({ length: 9 }, () => 'hit'),
    ]);

    const three = await open(45_000, []);
    expectBytes(await three.getBytes('content/k'), bytes);
    await three.close();
    const left = filesBelow(directory).filter((path) => path.includes('/objects/'));
    expect(left.length).toBeLessThanOrEqual(4);
  });
});
