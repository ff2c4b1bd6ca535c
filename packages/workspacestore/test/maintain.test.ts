import * as fs from 'node:fs';
import * as path from 'node:path';
import { systemClock } from '@holdfast/base';

import { seededRandom } from '@holdfast/base/testing';
import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { layerBlobs } from '@holdfast/blobs/layers';
import type { Ref, WorkspaceStoreOptions } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { decodeForward, encodeForward } from '../src/internal/record.js';
import { forwardKey } from '../src/internal/store-keys.js';
import { passOn } from './support/pass-on.js';
import { blobsOf, contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

let root: string;
let blobs: Blobs;

beforeEach(() => {
  root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(root);
  for (let i = 0; i < 30; i += 1) fs.writeFileSync(path.join(root, `f${i}`), `start ${i}`);
  blobs = memoryBlobs();
});

const archivesOf = async (ref: Ref): Promise<number> =>
  await withStore(blobs, async (store) =>
    Math.min(...(await store.explain(ref)).records.map((row) => row.archives)),
  );
const names = async (prefix: string): Promise<string[]> =>
  [...(await contents(blobs)).keys()].filter((key) => key.startsWith(prefix));

/** How many forwards lead from each archive that moved to the end. */
async function chainsOf(blobs: Blobs): Promise<number[]> {
  const forwards = new Map<string, string>();
  for (const [key, bytes] of await contents(blobs)) {
    if (key.startsWith('moved/')) forwards.set(key.slice(-64), decodeForward(bytes, key).name);
  }
  return [...forwards.keys()].map((name) => {
    let length = 0;
    for (let at = forwards.get(name); at !== undefined; at = forwards.get(at)) length += 1;
    return length;
  });
}

describe('merging', () => {
  test('keeps closures small; old snapshots are found through forwards, also after a collection', async () => {
    const refs: Ref[] = [];
    const trees: string[][] = [];
    await withStore(blobs, async (store) => {
      for (let step = 0; step < 40; step += 1) {
        fs.writeFileSync(path.join(root, `f${step % 30}`), `step ${step}`);
        const base = refs.at(-1);
        const { ref, hold } = await store.snapshot(root, base === undefined ? {} : { base });
        store.release(hold);
        refs.push(ref);
        trees.push(walk(root));
        if (step % 3 === 0) await store.maintain();
      }
      expect(await archivesOf(refs.at(-1) as Ref)).toBeLessThanOrEqual(15);
      expect((await names('moved/')).length).toBeGreaterThanOrEqual(32);
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
    const kept = [0, 7, 20, 39].map((step) => refs[step] as Ref);
    await withStore(blobs, async (store) => {
      const report = await store.collect({ live: () => kept });
      expect(report.deleted.archives).toBeGreaterThan(30);
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
    await withStore(blobs, async (store) => {
      for (const step of [0, 7, 20, 39]) {
        const dest = `${root}-${step}`;
        await store.materialize(refs[step] as Ref, dest, { sync: false });
        expect(walk(dest)).toEqual(trees[step]);
      }
    });
    // Another process that knows only the old archives goes on from where they went.
    await withStore(blobs, async (store) => {
      fs.writeFileSync(path.join(root, 'f1'), 'later');
      const { ref, stats } = await store.snapshot(root, { base: refs[39] as Ref });
      expect(stats.bytesStored).toBeLessThan(8000);
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
    });
  });

  test('makes chains of any length: the oldest snapshot is found at their end', async () => {
    const refs: Ref[] = [];
    const trees: string[][] = [];
    // So small that all of it together is still of the lowest tier.
    fs.rmSync(root, { recursive: true });
    fs.mkdirSync(root);
    let merged = 0;
    await withStore(blobs, {}, async (store) => {
      // Eight archives become one, and then seven with that one, whose objects are the oldest.
      for (let step = 0; step < 8 + 12 * 7; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        const base = refs.at(-1);
        const { ref, hold } = await store.snapshot(root, base === undefined ? {} : { base });
        store.release(hold);
        refs.push(ref);
        trees.push(walk(root));
        merged += (await store.maintain()).merged;
      }
    });
    expect(merged).toBe(13);
    const ends = [0, refs.length - 1];
    await withStore(blobs, {}, async (store) => {
      const report = await store.collect({ live: () => ends.map((step) => refs[step] as Ref) });
      expect(report.deleted.archives).toBeGreaterThanOrEqual(8 * 13);
    });
    expect((await chainsOf(blobs)).toSorted((a, b) => b - a)[0]).toBe(13);
    await withStore(blobs, {}, async (store) => {
      for (const step of ends) {
        const ref = refs[step] as Ref;
        await store.materialize(ref, `${root}-${step}`, { sync: false });
        expect(walk(`${root}-${step}`)).toEqual(trees[step]);
        expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
      }
    });
  });

  test('is damaged where forwards lead round in a circle, and whoever follows them says so', async () => {
    let ref: Ref | undefined;
    await withStore(blobs, {}, async (store) => {
      ref = (await store.snapshot(root)).ref;
    });
    const [key] = await names('archives/');
    const first = (key as string).slice(-64);
    const others = ['a', 'b'].map((digit) => digit.repeat(64));
    await blobs.delete(key as string);
    const circle = [first, ...others, first];
    for (const [at, name] of circle.slice(0, -1).entries()) {
      const target = { name: circle[at + 1] as string, size: 4096, tail: 1024 };
      await blobs.put(forwardKey(name), encodeForward(target));
    }
    await withStore(blobs, {}, async (store) => {
      await expect(store.openTree(ref as Ref)).rejects.toMatchObject({
        code: 'WORKSPACE_INTEGRITY',
        path: forwardKey(others[1] as string),
        got: `a way back to ${first}`,
      });
      const { problems } = await store.verify(ref as Ref, { deep: true });
      expect(problems.map(({ code }) => code)).toEqual(['WORKSPACE_INTEGRITY']);
    });
  });

  test('happens by itself when nobody maintains, and the bound holds', async () => {
    await withStore(blobs, async (store) => {
      let base: Ref | undefined;
      for (let step = 0; step < 90; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        base = (await store.snapshot(root, base === undefined ? {} : { base })).ref;
      }
      expect(await archivesOf(base as Ref)).toBeLessThanOrEqual(66);
      expect((await store.verify(base as Ref, { deep: true })).problems).toEqual([]);
    });
  });

  test('that dies at any step loses nothing', async () => {
    const refs: Ref[] = [];
    await withStore(blobs, async (store) => {
      for (let step = 0; step < 9; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        const { ref, hold } = await store.snapshot(root);
        store.release(hold);
        refs.push(ref);
      }
      const controller = new AbortController();
      const reason = new Error('enough');
      const maintaining = store.maintain({ signal: controller.signal });
      queueMicrotask(() => {
        controller.abort(reason);
      });
      await maintaining.catch((error: unknown) => {
        expect(error).toBe(reason);
      });
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
      await store.maintain();
      await store.collect({ live: () => refs });
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
  });
});

describe('maintaining', () => {
  /** Nine small archives of one root. */
  async function steps(options: WorkspaceStoreOptions = {}): Promise<Ref[]> {
    const refs: Ref[] = [];
    await withStore(blobs, options, async (store) => {
      for (let step = 0; step < 9; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        const { ref, hold } = await store.snapshot(root);
        store.release(hold);
        refs.push(ref);
      }
    });
    return refs;
  }

  test('knows the roots of earlier processes by the cache, on request', async () => {
    const cacheDirectory = `${root}-cache`;
    // Late enough that the last write of a step is not too young to be believed.
    const clock = { ...systemClock, now: () => Date.now() + 10_000 };
    const refs = await steps({ cacheDirectory, clock });
    await withStore(blobs, { cacheDirectory, clock }, async (store) => {
      expect(await store.maintain()).toEqual({ roots: 0, merged: 0, rebased: 0 });
      expect(await store.maintain({ saved: true, roots: [`${root}-other`] })).toMatchObject({ roots: 0 });
      const steps: number[] = [];
      const report = await store.maintain({
        saved: true,
        onProgress: ({ merged }) => {
          steps.push(merged);
        },
      });
      expect(report).toEqual({ roots: 1, merged: 1, rebased: 0 });
      expect(steps).toEqual([1, 1]);
    });
    // The next process builds on what was merged, and reads nothing that did not change.
    await withStore(blobs, { cacheDirectory, clock }, async (store) => {
      expect((await store.maintain({ saved: true })).merged).toBe(0);
      const { ref, stats } = await store.snapshot(root, { base: refs.at(-1) as Ref });
      expect([ref, stats.filesRead]).toEqual([refs.at(-1), 0]);
      fs.writeFileSync(path.join(root, 'f0'), 'last');
      expect(await archivesOf((await store.snapshot(root)).ref)).toBeLessThanOrEqual(3);
    });
    // The cache of another store says nothing.
    await withStore(memoryBlobs(), { cacheDirectory, clock }, async (store) => {
      expect(await store.maintain({ saved: true })).toEqual({ roots: 0, merged: 0, rebased: 0 });
    });
  });

  test('does no more than it may, and nothing beside a collection of the same store', async () => {
    await withStore(blobs, async (store) => {
      const refs: Ref[] = [];
      for (let step = 0; step < 20; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        const { ref, hold } = await store.snapshot(root);
        store.release(hold);
        refs.push(ref);
      }
      let beside: unknown;
      await store.collect({
        live: async function* () {
          beside = await store.maintain();
          yield* refs;
        },
      });
      expect(beside).toEqual({ roots: 0, merged: 0, rebased: 0 });
      expect((await store.maintain({ maxMerges: 0 })).merged).toBe(0);
      expect((await store.maintain({ maxMerges: 1 })).merged).toBe(1);
      expect((await store.maintain({ roots: [`${root}/../root`] })).merged).toBe(1);
    });
  });

  test('copies no damage: what it would give up for a copy is proved first', async () => {
    const cacheDirectory = `${root}-cache`;
    const refs = await steps({ cacheDirectory });
    const bad = await contents(blobs);
    // The oldest one, which is among those that will be merged.
    const ref = refs[0]?.slice(-64) as string;
    const commit = [...bad].find(([key]) => key.startsWith(`snapshots/${ref}/`))?.[1] as Uint8Array;
    const { archives } = JSON.parse(Buffer.from(commit).toString().split('\n')[0] as string) as {
      archives: readonly { readonly name: string }[];
    };
    const name = archives[0]?.name as string;
    const archive = `archives/${name.slice(0, 2)}/${name}`;
    const bytes = (bad.get(archive) as Uint8Array).slice();
    // The first byte of the data: nothing that is looked at when an archive is opened.
    bytes[1536] = (bytes[1536] as number) ^ 1;
    blobs = await blobsOf(bad.set(archive, bytes));
    await withStore(blobs, { cacheDirectory }, async (store) => {
      await expect(store.maintain({ saved: true })).rejects.toMatchObject({
        code: 'WORKSPACE_INTEGRITY',
        path: archive,
      });
      expect(await names('moved/')).toEqual([]);
      // A snapshot that would merge goes on without: what it was asked for is done.
      fs.writeFileSync(path.join(root, 'f0'), 'on');
      await store.snapshot(root, { base: refs.at(-1) as Ref });
    });
  });

  test('passes over a root whose archives were collected meanwhile', async () => {
    await withStore(blobs, async (store) => {
      for (let step = 0; step < 9; step += 1) {
        fs.writeFileSync(path.join(root, 'f0'), `step ${step}`);
        store.release((await store.snapshot(root)).hold);
      }
      await withStore(blobs, async (other) => {
        for (const key of (await contents(blobs)).keys())
          if (key.endsWith('/0000000000')) await other.forgetWriter(key.slice(8, 40));
        expect((await other.collect({ live: () => [] })).deleted.archives).toBe(9);
      });
      expect(await store.maintain()).toEqual({ roots: 1, merged: 0, rebased: 0 });
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
  });
});

/**
 * The bounds of a long run. Ten files of some hundred change at each step; the session is idle now and then.
 */
describe('500 checkpoints of ten files each', () => {
  const checkpoints = 500;
  const files = 400;

  test('stay within the bounds: archives of a restore, requests of a fresh host, bytes written again', async () => {
    const random = seededRandom(20_260_101);
    const content = (): string => Buffer.from(random.bytes(600)).toString('base64');
    for (let file = 0; file < files; file += 1) {
      if (file % 40 === 0) fs.mkdirSync(path.join(root, `d${file / 40}`));
      fs.writeFileSync(path.join(root, `d${Math.floor(file / 40)}/f${file}`), content());
    }
    const written = { archives: 0, merged: 0 };
    const counting = layerBlobs(blobs, [countWrites(written)], { keepOpen: true });
    let most = 0;
    let last: Ref | undefined;
    let expected: string[] = [];
    await withStore(counting, { threads: false }, async (store) => {
      for (let step = 0; step < checkpoints; step += 1) {
        for (let change = 0; change < 10; change += 1) {
          const file = random.below(files);
          fs.writeFileSync(path.join(root, `d${Math.floor(file / 40)}/f${file}`), content());
        }
        const { ref, hold } = await store.snapshot(root, last === undefined ? {} : { base: last });
        store.release(hold);
        last = ref;
        const before = written.archives;
        await store.maintain({ roots: [root], maxMerges: 4 });
        written.merged += written.archives - before;
        if (step % 25 === 24) most = Math.max(most, await archivesOf(ref));
      }
      expected = walk(root);
    });
    // 21 unsealed archives, the one of the step itself, and those above 8 MiB, of which there is none here.
    expect(most).toBeLessThanOrEqual(22);
    expect(written.merged).toBeLessThanOrEqual(4 * (written.archives - written.merged));
    expect(written.merged).toBeGreaterThan(0);
    const reads = { gets: 0 };
    await withStore(layerBlobs(blobs, [countReads(reads)], { keepOpen: true }), async (store) => {
      await store.materialize(last as Ref, `${root}-fresh`, { sync: false });
      expect(walk(`${root}-fresh`)).toEqual(expected);
    });
    // One read for the record, and for each archive one for its end and a few for what is needed of it.
    expect(reads.gets).toBeLessThanOrEqual(120);
    console.log(
      `500 checkpoints: at most ${most} archives, ${written.archives} bytes written, ` +
        `${written.merged} of them by merging, ${reads.gets} reads to restore`,
    );
  }, 240_000);
});

type Layer = Parameters<typeof layerBlobs>[1][number];

function countWrites(written: { archives: number }): Layer {
  return (driver) => ({
    ...passOn(driver),
    put: (key, source, options) => {
      if (key.startsWith('archives/')) written.archives += source.size;
      return driver.put(key, source, options);
    },
  });
}

function countReads(reads: { gets: number }): Layer {
  return (driver) => ({
    ...passOn(driver),
    get: (...call) => {
      reads.gets += 1;
      return driver.get(...call);
    },
  });
}

describe('rebasing', () => {
  test('leaves dead archives behind', async () => {
    const noise = (seed: number): Buffer => {
      const bytes = Buffer.alloc(400_000);
      for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32LE(Math.imul(i + seed, 2654435761) >>> 0, i);
      return bytes;
    };
    await withStore(blobs, async (store) => {
      let base: Ref | undefined;
      for (let step = 0; step < 6; step += 1) {
        fs.writeFileSync(path.join(root, 'large'), noise(step * 1000));
        base = (await store.snapshot(root, base === undefined ? {} : { base })).ref;
      }
      expect((await store.maintain()).rebased).toBe(1);
      // Another record of the same ref, with the new archive: a collection that keeps the ref keeps it too.
      expect((await store.explain(base as Ref)).records).toHaveLength(2);
      expect(await archivesOf(base as Ref)).toBeLessThanOrEqual(2);
      fs.writeFileSync(path.join(root, 'f0'), 'next');
      const { ref } = await store.snapshot(root, { base: base as Ref });
      expect(await archivesOf(ref)).toBeLessThanOrEqual(3);
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
      expect((await store.maintain()).rebased).toBe(0);
    });
  });
});
