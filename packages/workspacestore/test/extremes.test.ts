import * as fs from 'node:fs';
import * as path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { Dir, nodeFileSystem, removeTree } from '@holdfast/durable';
import { ArchiveLimitError } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

/** Trees at the edge: a success or a typed refusal, in bounded memory, and cleaning up works. */

/** Files of one directory. A million, tried by hand, takes two minutes of a processor and two million inodes. */
const manyFiles = Number(process.env['HOLDFAST_MANY_FILES'] ?? 20_000);

let top: string;
let root: string;

beforeEach(() => {
  top = temporaryDirectory();
  root = path.join(top, 'root');
  fs.mkdirSync(root);
});

async function removeTop(name: 'root' | 'copy'): Promise<void> {
  using parent = Dir.openRoot(nodeFileSystem(), top);
  expect(await removeTree(parent, name)).toBe(true);
  expect(fs.existsSync(path.join(top, name))).toBe(false);
}

async function refusal(limits: object, names: readonly string[] = []): Promise<unknown> {
  const blobs = memoryBlobs();
  return await withStore(blobs, { limits }, async (store) => {
    const failure = await store.snapshot(root).catch((error: unknown) => error);
    if (!ArchiveLimitError.is(failure)) throw failure;
    const left: string[] = [];
    for await (const { key } of blobs.list('snapshots/')) left.push(key);
    expect(left).toEqual([...names]);
    return { limit: failure.limit, cap: failure.cap, observed: failure.observed };
  });
}

describe('a sparse file of 16 TiB', () => {
  test('is refused by its apparent size before a byte of it is read, or left out by the limit of a file', async () => {
    const size = 16 * 2 ** 40 - 4096;
    fs.writeFileSync(path.join(root, 'small'), 'small');
    try {
      fs.truncateSync(path.join(root, 'small'), 5);
      fs.closeSync(fs.openSync(path.join(root, 'sparse'), 'w'));
      fs.truncateSync(path.join(root, 'sparse'), size);
    } catch (error) {
      // ext4 with small blocks ends below: the largest file that there can be here does as well.
      expect((error as NodeJS.ErrnoException).code).toBe('EFBIG');
      fs.truncateSync(path.join(root, 'sparse'), 2 ** 43);
    }
    const { size: observed } = fs.statSync(path.join(root, 'sparse'));
    const before = process.memoryUsage().rss;
    expect(await refusal({})).toEqual({ limit: 'bytes', cap: 8 * 2 ** 30, observed: observed + 5 });
    await withStore(memoryBlobs(), { limits: { fileBytes: 2 ** 20 } }, async (store) => {
      const { coverage, stats } = await store.snapshot(root);
      expect(coverage.omitted).toEqual([{ path: 'sparse', reason: 'limit' }]);
      expect(stats.bytesRead).toBe(5);
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
    await removeTop('root');
  });
});

describe(`${manyFiles} files in one directory`, () => {
  test(
    'are captured and come back, or are refused at the limit, one by one exactly',
    async () => {
      for (let file = 0; file < manyFiles; file += 1) fs.writeFileSync(path.join(root, `file-${file}`), '');
      expect(await refusal({ entries: manyFiles - 1 })).toEqual({
        limit: 'entries',
        cap: manyFiles - 1,
        observed: manyFiles,
      });
      await withStore(memoryBlobs(), { limits: { entries: manyFiles } }, async (store) => {
        const { ref, stats } = await store.snapshot(root);
        expect(stats.files).toBe(manyFiles);
        const copy = path.join(top, 'copy');
        await store.materialize(ref, copy, { sync: false });
        expect((await store.snapshot(copy)).ref).toBe(ref);
      });
      await removeTop('root');
      // Here, as everything that grows with the files: the hook that tidies up afterwards has a fixed time.
      await removeTop('copy');
      countForCampaign('files of one directory', manyFiles);
    },
    60_000 + manyFiles * 4,
  );
});

describe('a tree that is 1,000 levels deep', () => {
  test('is refused by the limit of levels, captured where that allows it, and comes back and goes like any other', async () => {
    const levels = 1_000;
    {
      // By handles: the path of the deepest one is longer than a call takes.
      let dir = Dir.openRoot(nodeFileSystem(), root);
      for (let level = 1; level <= levels; level += 1) {
        dir.mkdir('level', 0o755);
        const child = dir.openDir('level');
        dir.close();
        dir = child;
      }
      using file = dir.createFile('bottom', 0o600);
      file.write(Buffer.from('the bottom'), 0);
      dir.close();
    }
    expect(await refusal({})).toEqual({ limit: 'depth', cap: 256, observed: 257 });
    const limits = { depth: levels + 1, pathBytes: 10 * levels };
    expect(await refusal({ ...limits, depth: levels })).toEqual({
      limit: 'depth',
      cap: levels,
      observed: levels + 1,
    });
    // A path that is longer than any call takes has a limit of its own.
    expect(await refusal({ depth: levels + 1 })).toMatchObject({ limit: 'pathBytes', cap: 4095 });
    await withStore(memoryBlobs(), { limits }, async (store) => {
      const { ref, stats } = await store.snapshot(root);
      expect([stats.entries, stats.files]).toEqual([levels + 1, 1]);
      const copy = path.join(top, 'copy');
      await store.materialize(ref, copy);
      expect((await store.snapshot(copy)).ref).toBe(ref);
      const bottom = (await store.list(ref)).at(-1)?.path as string;
      expect(bottom.split('/')).toHaveLength(levels + 1);
      const parts: Uint8Array[] = [];
      for await (const part of await store.read(ref, bottom)) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('the bottom');
      expect((await store.verify(ref, { deep: true })).problems).toEqual([]);
      await removeTop('copy');
    });
    await removeTop('root');
  });
});

describe('content over the limit', () => {
  test('is refused by one byte, and passes at the cap', async () => {
    fs.writeFileSync(path.join(root, 'a'), Buffer.alloc(600_000, 1));
    fs.writeFileSync(path.join(root, 'b'), Buffer.alloc(400_001, 2));
    expect(await refusal({ bytes: 1_000_000 })).toEqual({
      limit: 'bytes',
      cap: 1_000_000,
      observed: 1_000_001,
    });
    await withStore(memoryBlobs(), { limits: { bytes: 1_000_001 } }, async (store) => {
      const { ref } = await store.snapshot(root);
      // The same numbers hold on the way back.
      expect((await store.materialize(ref, path.join(top, 'copy'))).stats.bytes).toBe(1_000_001);
    });
  });
});
