import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { type BlobsLayer, layerBlobs } from '@holdfast/blobs/layers';
import { type Ref, type TreeEntry, WorkspaceStore } from '@holdfast/workspacestore';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { passOn } from './support/pass-on.js';
import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

const steps = 8;
let root: string;
let blobs: Blobs;
/** Eight snapshots, each with one file more and an archive of its own. */
let refs: Ref[];
let writer: WorkspaceStore;

beforeEach(async () => {
  root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(root);
  blobs = memoryBlobs();
  refs = [];
  // In several frames and chunks, no two of them alike, and yet small where it is stored.
  const blocks = Array.from({ length: 1536 }, (_, block) => Buffer.alloc(4096, `${block} `));
  fs.writeFileSync(path.join(root, 'large'), Buffer.concat(blocks));
  writer = await WorkspaceStore.open(blobs);
  for (let step = 0; step < steps; step += 1) {
    fs.writeFileSync(path.join(root, `f${step}`), `content of step ${step}\n`);
    fs.writeFileSync(path.join(root, 'changing'), `step ${step}\n`);
    const base = refs.at(-1);
    const { ref, hold } = await writer.snapshot(root, base === undefined ? {} : { base });
    writer.release(hold);
    refs.push(ref);
  }
});

afterEach(async () => {
  await writer.close();
});

/** Merges the eight archives and collects, as a process beside the reader would. */
async function moveArchives(): Promise<void> {
  expect((await writer.maintain()).merged).toBe(1);
  expect((await writer.collect({ live: () => refs })).deleted.archives).toBe(steps);
}

const last = (): Ref => refs.at(-1) as Ref;

/** A comparison of megabytes that takes no longer than it must. */
const isLike = (bytes: Buffer, name: string): boolean => bytes.equals(fs.readFileSync(path.join(root, name)));

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts);
}

/** Moves the archives when one of them is asked for again: its end has been read, and the snapshot is open. */
function movesOnceOpened(moved: { done: boolean }): BlobsLayer {
  const asked = new Set<string>();
  return (driver) => ({
    ...passOn(driver),
    get: async (key, ...rest) => {
      if (!moved.done && asked.has(key)) {
        moved.done = true;
        await moveArchives();
      }
      if (key.startsWith('archives/')) asked.add(key);
      return await driver.get(key, ...rest);
    },
  });
}

describe('archives that move while a reader has their snapshot open', () => {
  test('are followed by read', async () => {
    await withStore(blobs, {}, async (reader) => {
      expect(await reader.list(last())).toHaveLength(steps + 2);
      await moveArchives();
      const text = await bytesOf(await reader.read(last(), 'f0'));
      expect(text.toString()).toBe('content of step 0\n');
      expect((await bytesOf(await reader.read(last(), 'f7'))).toString()).toBe('content of step 7\n');
      expect(isLike(await bytesOf(await reader.read(last(), 'large')), 'large')).toBe(true);
    });
  });

  test('are followed in the middle of a file', async () => {
    await withStore(blobs, {}, async (reader) => {
      const parts: Uint8Array[] = [];
      for await (const piece of await reader.read(last(), 'large')) {
        if (parts.length === 0) await moveArchives();
        parts.push(piece.slice());
      }
      expect(parts.length).toBeGreaterThan(1);
      expect(isLike(Buffer.concat(parts), 'large')).toBe(true);
    });
  });

  test('are followed by diff, on both sides', async () => {
    await withStore(blobs, {}, async (reader) => {
      const before = refs[0] as Ref;
      await reader.list(before);
      await reader.list(last());
      await moveArchives();
      const { changes } = await reader.diff(before, last(), { text: true });
      const changed = changes.find((change) => change.path === 'changing');
      expect(JSON.stringify(changed?.text)).toContain('step 7');
      // The same once more the other way round, with both tables as they are now.
      expect((await reader.diff(last(), before, { text: true })).changes).toHaveLength(changes.length);
    });
  });

  test('are followed by fetch', async () => {
    await withStore(blobs, {}, async (reader) => {
      const { entries } = await reader.openTree(last());
      await moveArchives();
      const files = entries.filter(({ kind }) => kind === 'file');
      const found = new Map<string, Buffer>();
      await reader.fetch(files, async (entry: TreeEntry, pieces) => {
        found.set(Buffer.from(entry.path).toString(), await bytesOf(pieces));
      });
      expect([...found.keys()].sort()).toEqual(fs.readdirSync(root).sort());
      for (const [name, bytes] of found) expect([name, isLike(bytes, name)]).toEqual([name, true]);
    });
  });

  const long: Record<string, (reader: WorkspaceStore) => Promise<void>> = {
    materialize: async (reader) => {
      await reader.materialize(last(), `${root}-copy`, { sync: false });
      expect(walk(`${root}-copy`)).toEqual(walk(root));
    },
    copy: async (reader) => {
      await withStore(memoryBlobs(), {}, async (target) => {
        await reader.copy(last(), target);
        expect((await target.verify(last(), { deep: true })).problems).toEqual([]);
      });
    },
    exportTar: async (reader) => {
      const bytes = await bytesOf(await reader.exportTar(last()));
      expect(bytes.includes('content of step 7\n')).toBe(true);
    },
    verify: async (reader) => {
      expect((await reader.verify(last(), { deep: true })).problems).toEqual([]);
    },
  };
  test.each(Object.entries(long))('are followed by %s, which began before they moved', async (_name, use) => {
    const moved = { done: false };
    await withStore(layerBlobs(blobs, [movesOnceOpened(moved)], { keepOpen: true }), {}, use);
    expect(moved.done).toBe(true);
  });

  test('are missing when they went nowhere, which is said at once and each time', async () => {
    let gets = 0;
    const counting: BlobsLayer = (driver) => ({
      ...passOn(driver),
      get: (...call) => {
        gets += 1;
        return driver.get(...call);
      },
    });
    await withStore(layerBlobs(blobs, [counting], { keepOpen: true }), {}, async (reader) => {
      const { entries } = await reader.openTree(last());
      await moveArchives();
      for (const key of (await contents(blobs)).keys())
        if (key.startsWith('archives/')) await blobs.delete(key);
      gets = 0;
      for (const entry of entries.filter(({ size }) => size > 0)) {
        const reading = reader.fetch([entry], async (_entry, pieces) => {
          await bytesOf(pieces);
        });
        await expect(reading).rejects.toMatchObject({ code: 'WORKSPACE_INTEGRITY' });
      }
      const failed = async (): Promise<void> => {
        await bytesOf(await reader.read(last(), 'f0'));
      };
      await expect(failed()).rejects.toMatchObject({ code: 'WORKSPACE_INTEGRITY' });
      // A look at every archive's forward for every file, and nothing without end.
      expect(gets).toBeLessThan(1000);
    });
  });
});
