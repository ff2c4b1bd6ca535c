import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import type { Ref } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
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
  await withStore(blobs, {}, async (store) =>
    Math.min(...(await store.explain(ref)).records.map((row) => row.archives)),
  );
const names = async (prefix: string): Promise<string[]> =>
  [...(await contents(blobs)).keys()].filter((key) => key.startsWith(prefix));

describe('merging', () => {
  test('keeps closures small; old snapshots are found through forwards, also after a collection', async () => {
    const refs: Ref[] = [];
    const trees: string[][] = [];
    await withStore(blobs, {}, async (store) => {
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
    await withStore(blobs, {}, async (store) => {
      const report = await store.collect({ live: () => kept });
      expect(report.deleted.archives).toBeGreaterThan(30);
      expect((await store.verify('all', { deep: true })).problems).toEqual([]);
    });
    await withStore(blobs, {}, async (store) => {
      for (const step of [0, 7, 20, 39]) {
        const dest = `${root}-${step}`;
        await store.materialize(refs[step] as Ref, dest, { sync: false });
        expect(walk(dest)).toEqual(trees[step]);
      }
    });
    // Another process that knows only the old archives goes on from where they went.
    await withStore(blobs, {}, async (store) => {
      fs.writeFileSync(path.join(root, 'f1'), 'later');
      const { ref, stats } = await store.snapshot(root, { base: refs[39] as Ref });
      expect(stats.bytesStored).toBeLessThan(8000);
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
    });
  });

  test('happens by itself when nobody maintains, and the bound holds', async () => {
    await withStore(blobs, {}, async (store) => {
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
    await withStore(blobs, {}, async (store) => {
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

describe('rebasing', () => {
  test('leaves dead archives behind', async () => {
    const noise = (seed: number): Buffer => {
      const bytes = Buffer.alloc(400_000);
      for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32LE(Math.imul(i + seed, 2654435761) >>> 0, i);
      return bytes;
    };
    await withStore(blobs, {}, async (store) => {
      let base: Ref | undefined;
      for (let step = 0; step < 6; step += 1) {
        fs.writeFileSync(path.join(root, 'large'), noise(step * 1000));
        base = (await store.snapshot(root, base === undefined ? {} : { base })).ref;
      }
      expect((await store.maintain()).rebased).toBe(1);
      fs.writeFileSync(path.join(root, 'f0'), 'next');
      const { ref } = await store.snapshot(root, { base: base as Ref });
      expect(await archivesOf(ref)).toBeLessThanOrEqual(3);
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
      expect((await store.maintain()).rebased).toBe(0);
    });
  });
});
