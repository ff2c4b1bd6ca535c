import * as fs from 'node:fs';
import * as path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import { type FileSystem, nodeFileSystem, type WholeSync } from '@holdfast/durable';
import {
  CrashCounterexampleError,
  exploreCrashes,
  type ModelFileSystem,
  MutantFileSystem,
  readTree,
  writeTree,
} from '@holdfast/durable/testing';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { beforeAll, describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

const blobs = memoryBlobs();
let ref: Ref;
let wanted: Record<string, string>;

beforeAll(async () => {
  const root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(path.join(root, 'd/empty'), { recursive: true });
  fs.writeFileSync(path.join(root, 'a'), 'content of a', { mode: 0o600 });
  fs.writeFileSync(path.join(root, 'd/b'), 'content of b', { mode: 0o755 });
  fs.chmodSync(path.join(root, 'd'), 0o555);
  fs.symlinkSync('d/b', path.join(root, 'l'));
  await withStore(blobs, async (store) => {
    ref = (await store.snapshot(root)).ref;
  });
  wanted = { ...readTree(nodeFileSystem(), root) };
  fs.chmodSync(path.join(root, 'd'), 0o755);
});

/** Crashes while a tree is built at `/work/dest`, everywhere, losing anything that was not synced. */
async function explore(
  startEmpty: boolean,
  wrap: (fileSystem: ModelFileSystem) => FileSystem,
  wholeSyncOf: (fileSystem: ModelFileSystem) => WholeSync | false = () => false,
) {
  return await exploreCrashes<'built'>(
    {
      setup: (fileSystem) => {
        writeTree(fileSystem, '/', { 'work/': null, ...(startEmpty ? { 'work/dest/': null } : {}) });
      },
      run: async (fileSystem, { ack }) => {
        const store = await WorkspaceStore.open(blobs, {
          fileSystem: wrap(fileSystem),
          wholeSync: wholeSyncOf(fileSystem),
        });
        await store.materialize(ref, '/work/dest');
        ack('built');
      },
      check: (fileSystem, { acked }) => {
        const found = readTree(fileSystem, '/work');
        const dest = Object.entries(found).filter(([name]) => name.startsWith('dest/'));
        const built = Object.fromEntries(dest.map(([name, what]) => [name.slice(5), what]));
        // Nothing is there, or all of it; all of it once that was said.
        if (acked.length > 0 || dest.length > 0) expect(built).toEqual(wanted);
        const others = Object.keys(found).filter((name) => !/^(dest|\.holdfast-trash-)/.test(name));
        expect(others).toEqual([]);
      },
    },
    { samples: 60, exhaustiveUpTo: 8 },
  );
}

describe('materialize on a disk that loses what was not synced', () => {
  test.each([false, true])(
    'leaves nothing or the whole tree (destination empty before: %s)',
    async (startEmpty) => {
      const report = await explore(startEmpty, (fileSystem) => fileSystem);
      expect(report.operations.length).toBeGreaterThan(15);
      expect(report.states[0]).toBeGreaterThan(90);
    },
  );

  const atOnce =
    (sync: (fileSystem: ModelFileSystem) => void, every?: number) => (fileSystem: ModelFileSystem) => ({
      from: 1,
      every,
      sync: async () => {
        sync(fileSystem);
        await Promise.resolve();
      },
    });

  test.each([false, true])(
    'the same with one sync for all (destination empty before: %s)',
    async (startEmpty) => {
      const whole = atOnce((fileSystem) => {
        fileSystem.settle();
      });
      const report = await explore(startEmpty, (fileSystem) => fileSystem, whole);
      // One sync is left: that of the directory that holds the destination.
      expect(report.operations.filter((operation) => operation.startsWith('sync'))).toHaveLength(1);
    },
  );

  test('the same when the disk was given work early', async () => {
    let syncs = 0;
    const settling = (fileSystem: ModelFileSystem): void => {
      syncs += 1;
      fileSystem.settle();
    };
    await explore(false, (fileSystem) => fileSystem, atOnce(settling, 1));
    expect(syncs).toBeGreaterThan(1);
    // An early sync is no replacement for the last.
    const once = new WeakSet<ModelFileSystem>();
    const early = (fileSystem: ModelFileSystem): void => {
      if (!once.has(fileSystem)) fileSystem.settle();
      once.add(fileSystem);
    };
    const explored = explore(false, (fileSystem) => fileSystem, atOnce(early, 1));
    await expect(explored).rejects.toBeInstanceOf(CrashCounterexampleError);
  });

  test('a tree fails with an early sync, whatever the last one says', async () => {
    const top = temporaryDirectory();
    const lost = new Error('a write was lost');
    let syncs = 0;
    const failingOnce = {
      from: 1,
      every: 1,
      sync: async () => {
        syncs += 1;
        await Promise.resolve();
        if (syncs === 1) throw lost;
      },
    };
    await withStore(blobs, { wholeSync: failingOnce }, async (store) => {
      const failure = await store.materialize(ref, path.join(top, 'copy')).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'WORKSPACE_MATERIALIZE', cause: lost });
      expect(fs.readdirSync(top)).toEqual([]);
      await store.materialize(ref, path.join(top, 'copy'));
    });
    expect(readTree(nodeFileSystem(), path.join(top, 'copy'))).toEqual(wanted);
  });

  test('the exploration notices when the one sync does nothing', async () => {
    const nothing = explore(
      false,
      (fileSystem) => fileSystem,
      atOnce(() => undefined),
    );
    await expect(nothing).rejects.toBeInstanceOf(CrashCounterexampleError);
  });

  // The third one is that of an empty directory, which has nothing to lose.
  test.each([1, 2, 4, 5, 6])('the exploration notices when sync %d is left out', async (nth) => {
    const mutant = (fileSystem: ModelFileSystem): FileSystem =>
      new MutantFileSystem(fileSystem, { kind: 'drop', operation: 'sync', nth });
    await expect(explore(false, mutant)).rejects.toBeInstanceOf(CrashCounterexampleError);
  });
});

test('a guarded file system gives the same trees', async () => {
  const top = temporaryDirectory();
  await withStore(blobs, { fileSystem: nodeFileSystem({ grade: 'guarded' }) }, async (store) => {
    await store.materialize(ref, path.join(top, 'copy'));
    expect(readTree(nodeFileSystem(), path.join(top, 'copy'))).toEqual(wanted);
    const again = await store.snapshot(path.join(top, 'copy'));
    expect((await store.openTree(again.ref)).treeKey).toBe((await store.openTree(ref)).treeKey);
  });
});
