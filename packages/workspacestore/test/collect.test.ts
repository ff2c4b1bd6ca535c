import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { layerBlobs } from '@holdfast/blobs/layers';
import { CollectError, CollectedError, type Ref, RefNotFoundError, retain } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

let root: string;
let blobs: Blobs;

beforeEach(() => {
  root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(root);
  blobs = memoryBlobs();
});

const keysOf = async (prefix: string): Promise<string[]> =>
  [...(await contents(blobs)).keys()].filter((key) => key.startsWith(prefix));

/** One process: snapshots the root, makes the event durable, and ends. */
async function step(
  content: string,
  options: { release?: boolean; session?: { id: string; epoch: number } } = {},
) {
  fs.writeFileSync(path.join(root, 'file'), content);
  return await withStore(blobs, { session: options.session }, async (store) => {
    const result = await store.snapshot(root);
    if (options.release !== false) store.release(result.hold);
    return result;
  });
}

describe('collect', () => {
  test('deletes what no ref needs, keeps the rest, and tells so', async () => {
    const one = await step('one');
    const two = await step('two');
    await withStore(blobs, async (store) => {
      const before = await contents(blobs);
      const dry = await store.collect({ live: () => [two.ref], dryRun: true });
      expect([dry.dryRun, dry.deleted.records, dry.deleted.archives]).toEqual([true, 1, 1]);
      expect(await contents(blobs)).toEqual(before);
      const report = await store.collect({ live: () => [two.ref] });
      expect(report.deleted).toEqual(dry.deleted);
      expect(report.kept).toMatchObject({ records: 1, archives: 1 });
      await expect(store.openTree(one.ref)).rejects.toSatisfy((error) => RefNotFoundError.is(error));
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
      expect((await store.openTree(two.ref)).entries).toHaveLength(1);
      expect(await keysOf('gc/')).toEqual([`gc/${report.collection}/decision`]);
    });
  });

  test('keeps a commit whose event is not known to be durable, whatever its age', async () => {
    const held = await step('held', { release: false });
    await withStore(blobs, async (store) => {
      await store.collect({ live: () => [] });
      expect((await store.openTree(held.ref)).entries).toHaveLength(1);
      const { records } = await store.explain(held.ref);
      expect(records).toEqual([{ hold: held.hold, held: true, archives: 1 }]);
    });
    // A store that continues may release it.
    await withStore(blobs, async (store) => {
      store.release(held.hold);
      fs.writeFileSync(path.join(root, 'file'), 'next');
      const next = await store.snapshot(root);
      store.release(next.hold);
      const report = await store.collect({ live: () => [next.ref] });
      expect(report.deleted.records).toBe(1);
      expect((await store.explain(next.ref)).records[0]?.held).toBe(true);
    });
  });

  test('gives up what a fenced session, or a forgotten writer, never published', async () => {
    const lost = await step('lost', { release: false, session: { id: 's', epoch: 3 } });
    const other = await step('other', { release: false, session: { id: 't', epoch: 1 } });
    await withStore(blobs, async (store) => {
      const report = await store.collect({
        live: () => [],
        isFenced: ({ id, epoch }) => id === 's' && epoch < 4,
      });
      expect(report.deleted.records).toBe(1);
      expect(await store.has(lost.ref)).toBe(false);
      expect(await store.has(other.ref)).toBe(true);
      await store.forgetWriter(other.hold.slice(0, 32));
      await store.collect({ live: () => [] });
      expect(await store.has(other.ref)).toBe(false);
      expect(await keysOf('archives/')).toEqual([]);
      await expect(store.forgetWriter('nobody')).rejects.toThrow(TypeError);
    });
  });

  test('a writer that was retired registers again and loses nothing', async () => {
    await withStore(blobs, async (store) => {
      fs.writeFileSync(path.join(root, 'file'), 'one');
      const one = await store.snapshot(root);
      store.release(one.hold);
      fs.writeFileSync(path.join(root, 'file'), 'two');
      const two = await store.snapshot(root, { base: one.ref });
      store.release(two.hold);
      await withStore(blobs, {}, (collector) => collector.collect({ live: () => [] }));
      expect((await keysOf('archives/')).length).toBeGreaterThan(0);
      fs.writeFileSync(path.join(root, 'other'), 'three');
      const three = await store.snapshot(root, { base: two.ref });
      expect(three.hold.slice(0, 32)).not.toBe(two.hold.slice(0, 32));
      expect((await store.verify(three.ref, { deep: true })).problems).toEqual([]);
      store.release(three.hold);
    });
    await withStore(blobs, {}, (store) => store.collect({ live: () => [] }));
    expect(await keysOf('archives/')).toEqual([]);
    expect(await keysOf('snapshots/')).toEqual([]);
  });

  test('an archive that is gone makes its snapshots collected, not damaged', async () => {
    const { ref } = await step('one');
    for (const key of await keysOf('archives/')) await blobs.delete(key);
    await withStore(blobs, async (store) => {
      const failure = await store.openTree(ref).catch((error: unknown) => error);
      expect(CollectedError.is(failure) && failure.ref).toBe(ref);
    });
  });

  test('leaves alone what is younger than the grace period, and what others put', async () => {
    await step('one');
    await blobs.put('somebody/else', Buffer.from('x'));
    await withStore(blobs, async (store) => {
      const report = await store.collect({ live: () => [], graceMs: 60_000 });
      expect(report.deleted).toEqual({ records: 0, archives: 0, forwards: 0, bytes: 0 });
      await store.collect({ live: () => [] });
      expect(await keysOf('somebody/')).toEqual(['somebody/else']);
    });
  });

  test('trims logs of writers that are done', async () => {
    for (const content of ['one', 'two', 'three']) await step(content);
    await withStore(blobs, async (store) => {
      const report = await store.collect({ live: () => [] });
      expect(report.slots).toBe(9);
    });
    expect(await keysOf('writers/')).toEqual([]);
  });

  test('refuses a store that is slow to show what was put', async () => {
    const eventual = layerBlobs(blobs, [
      (driver) =>
        new Proxy(driver, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name);
            if (name === 'supports') return { ...target.supports, visibility: 'eventual' };
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          },
        }),
    ]);
    await withStore(eventual, async (store) => {
      await expect(store.collect({ live: () => [] })).rejects.toSatisfy((error) => CollectError.is(error));
    });
  });

  test('deletes nothing when what is live cannot be told, or something is unreadable', async () => {
    const { ref } = await step('one');
    await step('two');
    const before = (await keysOf('')).filter((key) => !key.startsWith('writers/'));
    let calls = 0;
    const failing = async function* (): AsyncGenerator<Ref> {
      calls += 1;
      if (calls % 2 === 0) throw new CollectError('test', 'no journal');
      yield await Promise.resolve(ref);
    };
    await withStore(blobs, async (store) => {
      await expect(store.collect({ live: failing })).rejects.toSatisfy((error) => CollectError.is(error));
      const after = (await keysOf('')).filter((key) => !/^(writers|gc)\//.test(key));
      expect(after).toEqual(before);
      expect((await keysOf('gc/')).every((key) => key.endsWith('/decision'))).toBe(true);
      // The next one is not in its way.
      expect((await store.collect({ live: () => [ref] })).deleted.records).toBe(1);
    });
  });

  test('ends what another collector left behind at any step', async () => {
    const { ref } = await step('keep');
    await step('drop');
    const start = await contents(blobs);
    let operations = 0;
    for (let limit = 1; limit < 200; limit += 1) {
      blobs = memoryBlobs();
      for (const [key, bytes] of start) await blobs.put(key, bytes);
      let used = 0;
      const dying = layerBlobs(
        blobs,
        [
          (driver) => ({
            ...bound(driver),
            put: async (...call) => {
              if ((used += 1) > limit) throw new Error('killed');
              return await driver.put(...call);
            },
            delete: async (...call) => {
              if ((used += 1) > limit) throw new Error('killed');
              await driver.delete(...call);
            },
          }),
        ],
        { keepOpen: true },
      );
      const outcome = await withStore(dying, {}, (store) => store.collect({ live: () => [ref] })).then(
        () => 'done',
        () => 'killed',
      );
      await withStore(blobs, async (store) => {
        await store.collect({ live: () => [ref] });
        expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
        expect(await keysOf('snapshots/')).toHaveLength(1);
        expect(await keysOf('archives/')).toHaveLength(1);
        expect((await keysOf('gc/')).every((key) => key.endsWith('/decision'))).toBe(true);
      });
      operations = limit;
      if (outcome === 'done') break;
    }
    expect(operations).toBeGreaterThan(8);
    expect(operations).toBeLessThan(100);
  });
});

function bound(driver: Parameters<Parameters<typeof layerBlobs>[1][number]>[0]): typeof driver {
  return {
    contract: 'blobs/1',
    supports: driver.supports,
    storagePaths: () => driver.storagePaths(),
    put: (...call) => driver.put(...call),
    get: (...call) => driver.get(...call),
    stat: (...call) => driver.stat(...call),
    list: (...call) => driver.list(...call),
    delete: (...call) => driver.delete(...call),
    close: () => driver.close(),
  };
}

describe('retain', () => {
  const ref = (n: number): Ref => `v1:sha256:${String(n).padStart(64, '0')}` as Ref;

  test('keeps the newest of every session, the young, and the pinned', () => {
    const candidates = [
      { ref: ref(1), session: 'a', time: 10 },
      { ref: ref(2), session: 'a', time: 20, pinned: true },
      { ref: ref(3), session: 'a', time: 30 },
      { ref: ref(4), session: 'a', time: 40 },
      { ref: ref(5), session: 'b', time: 5 },
    ];
    expect([...retain(candidates, {}, 100)].sort()).toEqual([ref(2), ref(4), ref(5)]);
    expect([...retain(candidates, { keepLast: 2 }, 100)].sort()).toEqual([ref(2), ref(3), ref(4), ref(5)]);
    expect([...retain(candidates, { keepWithinMs: 95 }, 100)].sort()).toEqual([1, 2, 3, 4, 5].map(ref));
    expect([...retain([], {}, 100)]).toEqual([]);
  });
});
