import type { Clock } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { type Blobs, Blobs as BlobsClass, MemoryBlobStorage, memoryBlobs } from '@holdfast/blobs';
import {
  type BlobsLayer,
  blobsAsDriver,
  cacheLayer,
  FaultPlan,
  faultLayer,
  layerBlobs,
  metricsLayer,
  prefixLayer,
  retryLayer,
} from '@holdfast/blobs/layers';
import { type BlobsHarness, testBlobs, verifyBlobs } from '@holdfast/blobs/testing';
import { describe, expect, it } from 'vitest';

import { SpareStorage, spareDriver, spareHarness } from './support/spare-driver.js';

/** Time that moves with every look, so that no two objects have one time. */
function tickingClock(): Clock {
  const clock = new ManualClock();
  return {
    now: () => {
      clock.jumpWall(1);
      return clock.now();
    },
    monotonic: () => clock.monotonic(),
    sleep: async (milliseconds, options) => {
      await clock.sleep(milliseconds, options);
    },
    schedule: (milliseconds, callback) => clock.schedule(milliseconds, callback),
  };
}

/** The spare store through layers: every clause holds there too. */
function layered(adapter: string, layers: () => BlobsLayer[]): BlobsHarness {
  return spareHarness((storage) => layerBlobs(new BlobsClass(spareDriver(storage)), layers()), { adapter });
}

/** A cache of every view's own, so that views can disagree if they are allowed to. */
const caching = (): BlobsLayer =>
  cacheLayer({ cache: memoryBlobs(), maxBytes: 400_000, immutable: () => true, segmentBytes: 10_000 });

testBlobs(
  { describe, it },
  layered('retries', () => [retryLayer({ immutable: () => true })]),
);
testBlobs(
  { describe, it },
  layered('metrics over a fault layer without faults', () => [
    faultLayer(new FaultPlan([])),
    metricsLayer(() => undefined),
  ]),
);
testBlobs(
  { describe, it },
  layered('a read-through cache', () => [caching()]),
);
testBlobs(
  { describe, it },
  {
    ...layered('everything at once', () => [
      retryLayer({ immutable: () => true }),
      caching(),
      prefixLayer('p'),
      metricsLayer(() => undefined),
    ]),
    limits: { maxKeyBytes: 510, largeObjectBytes: 200_000, manyKeys: 150 },
    corrupt: undefined,
  },
);

describe('a cache that all views share', () => {
  it('keeps the contract too', async () => {
    const clock = tickingClock();
    const cache = memoryBlobs();
    const storages = new WeakMap<Blobs, MemoryBlobStorage>();
    let count = 0;
    const namespaces = new WeakMap<MemoryBlobStorage, string>();
    const open = async (storage: MemoryBlobStorage): Promise<Blobs> => {
      const namespace = namespaces.get(storage) ?? String((count += 1));
      namespaces.set(storage, namespace);
      const shared = new BlobsClass(blobsAsDriver(cache, { keepOpen: true }));
      const layer = cacheLayer({
        cache: shared,
        maxBytes: 500_000,
        immutable: () => true,
        segmentBytes: 5_000,
        namespace,
      });
      const store = layerBlobs(memoryBlobs({ storage, clock }), [layer]);
      storages.set(store, storage);
      return await Promise.resolve(store);
    };
    const report = await verifyBlobs({
      adapter: 'memory through a shared cache',
      limits: { largeObjectBytes: 200_000, manyKeys: 100 },
      fresh: async () => await open(new MemoryBlobStorage()),
      reopen: async (store) => await open(storages.get(store) as MemoryBlobStorage),
    });
    expect(report.cases.flatMap((result) => result.failure?.message ?? [])).toEqual([]);
  });
});

describe('an eventual store', () => {
  /** Reads see changes only after the lag; the clock moves when somebody sleeps. */
  function lagging(lag: number): BlobsHarness {
    const clock = new ManualClock();
    const replicas = new WeakMap<SpareStorage, SpareStorage>();
    const moving: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: async (milliseconds) => {
        await clock.advance(milliseconds);
      },
      schedule: (milliseconds, callback) => clock.schedule(milliseconds, callback),
    };
    const open = (storage: SpareStorage): Blobs => {
      const replica = replicas.get(storage) ?? new SpareStorage();
      replicas.set(storage, replica);
      const [writer, reader] = [spareDriver(storage), spareDriver(replica)];
      const copyLater = (key: string): void => {
        const object = storage.visible.get(key);
        clock.schedule(lag, () => {
          if (object === undefined) replica.visible.delete(key);
          else replica.visible.set(key, object);
        });
      };
      return new BlobsClass({
        ...writer,
        supports: Object.freeze({ visibility: 'eventual', durable: false }),
        put: async (key, source, options) => {
          const result = await writer.put(key, source, options);
          copyLater(key);
          return result;
        },
        get: async (key, options) => await reader.get(key, options),
        stat: async (key, options) => await reader.stat(key, options),
        list: (prefix, options) => reader.list(prefix, options),
        delete: async (key, options) => {
          await writer.delete(key, options);
          copyLater(key);
        },
      });
    };
    return spareHarness(open, {
      adapter: 'eventual',
      clock: moving,
      timing: { settleMilliseconds: lag },
      held: undefined,
      corrupt: undefined,
    });
  }

  it('keeps every other clause once its harness says how long it takes', async () => {
    const report = await verifyBlobs(lagging(500));
    expect(report.cases.flatMap((result) => result.failure?.message ?? [])).toEqual([]);
    const refusals = report.cases
      .filter((result) => result.branch === 'refusal')
      .map((result) => result.clause);
    expect(refusals).toEqual(['3.11', '7.1', '7.2', '11.1', '11.2', '11.3']);
  });

  it('fails when its harness claims that changes are seen at once', async () => {
    const report = await verifyBlobs({ ...lagging(500), timing: 'immediate' });
    expect(report.ok).toBe(false);
    expect(report.summary).toMatch(/^contract: blobs\/1, cases 71, advisory 0: \d+ failed$/);
  });
});
