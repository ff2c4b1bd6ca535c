import { execFileSync } from 'node:child_process';
import nodeFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';

import { findCause } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { FileSystemError } from '@holdfast/durable';
import { IntegrityError, MaterializeError } from '@holdfast/workspacestore';
import { beforeAll, describe, expect, test } from 'vitest';

import { mountFresh } from './support/mounts.js';
import { blobsOf, contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

/** Trees of which so much is stored that other threads unpack and write them. */

const files = 240;
const bytesOfFile = 48 * 1024;
const noise = seededRandom(3).bytes(files * bytesOfFile);
const contentOf = (file: number): Uint8Array => noise.subarray(file * bytesOfFile, (file + 1) * bytesOfFile);

let root: string;
let blobs: Blobs;
let ref: Awaited<ReturnType<typeof snapshot>>;

async function snapshot() {
  return await withStore(blobs, async (store) => (await store.snapshot(root)).ref);
}

beforeAll(async () => {
  // These tests run the built thread: `tsc -b` first.
  expect(fs.existsSync(new URL('../dist/internal/engine/engine-worker.js', import.meta.url))).toBe(true);
  root = path.join(temporaryDirectory(), 'root');
  for (let file = 0; file < files; file += 1) {
    const directory = path.join(root, `d${file % 7}`, `e${file % 60}`);
    fs.mkdirSync(directory, { recursive: true });
    const name = Buffer.concat([Buffer.from(`${directory}/f${file}-`), Buffer.of(0xff, 0x80 + (file % 64))]);
    fs.writeFileSync(name, contentOf(file));
    fs.chmodSync(name, [0o644, 0o755, 0o400, 0o000, 0o666][file % 5] as number);
  }
  fs.writeFileSync(path.join(root, 'empty'), '');
  fs.writeFileSync(path.join(root, 'large'), seededRandom(4).bytes(9 * 2 ** 20));
  fs.chmodSync(path.join(root, 'd3'), 0o550);
  blobs = memoryBlobs();
  ref = await snapshot();
});

describe('a tree that other threads write', () => {
  test.each([{ sync: true }, { sync: false }])('is the tree, synced: $sync', async (options) => {
    const copy = path.join(temporaryDirectory(), 'copy');
    await withStore(blobs, async (store) => {
      const { stats } = await store.materialize(ref, copy, options);
      expect(walk(copy)).toEqual(walk(root));
      expect(stats).toMatchObject({ files: files + 2, bytesWritten: files * bytesOfFile + 9 * 2 ** 20 });
      expect((await store.scan(copy)).treeKey).toBe((await store.openTree(ref)).treeKey);
    });
  });

  test('is written by them: this one makes the few files that do not lie whole in a frame', async () => {
    const made = async (threads: boolean): Promise<number> => {
      let count = 0;
      const open = nodeFs.openSync;
      nodeFs.openSync = (...call) => {
        if ((Number(call[1]) & fs.constants.O_CREAT) !== 0) count += 1;
        return open(...call);
      };
      // Seen by this thread alone: every thread has its own modules.
      syncBuiltinESMExports();
      try {
        const copy = path.join(temporaryDirectory(), 'copy');
        await withStore(blobs, { threads }, (store) => store.materialize(ref, copy, { sync: false }));
      } finally {
        nodeFs.openSync = open;
        syncBuiltinESMExports();
      }
      return count;
    };
    expect(await made(false)).toBe(files + 2);
    expect(await made(true)).toBe(2);
  });

  test('is refused when a frame is damaged, and nothing stays', async () => {
    const sound = await contents(blobs);
    const damaged = contentOf(files - 1).subarray(1000, 1064);
    const broken = new Map(sound);
    for (const [key, value] of sound) {
      const at = Buffer.from(value).indexOf(damaged);
      if (at !== -1) broken.set(key, value.with(at, (value[at] as number) ^ 1));
    }
    expect(broken).not.toEqual(sound);
    const place = temporaryDirectory();
    await withStore(await blobsOf(broken), async (store) => {
      const failure = await store.materialize(ref, path.join(place, 'copy')).catch((error: unknown) => error);
      expect(findCause(failure, IntegrityError)).toBeDefined();
    });
    expect(fs.readdirSync(place)).toEqual([]);
  });

  test('is taken away when the caller aborts, whatever is being written', async () => {
    const place = temporaryDirectory();
    const reason = new Error('enough');
    const controller = new AbortController();
    await withStore(blobs, async (store) => {
      const running = store.materialize(ref, path.join(place, 'copy'), {
        signal: controller.signal,
        onProgress: () => {
          controller.abort(reason);
        },
      });
      await expect(running).rejects.toBe(reason);
      expect(fs.readdirSync(place)).toEqual([]);
    });
  });

  test('is made durable on the disk it is on, whatever its path leads to by then', async () => {
    const top = temporaryDirectory();
    const place = path.join(top, 'place');
    const moved = path.join(top, 'moved');
    fs.mkdirSync(place);
    await withStore(blobs, async (store) => {
      await store.materialize(ref, path.join(place, 'copy'), {
        onProgress: ({ phase }) => {
          if (phase !== 'syncing' || fs.existsSync(moved)) return;
          fs.renameSync(place, moved);
          fs.symlinkSync('nowhere', place);
        },
      });
    });
    expect(walk(path.join(moved, 'copy'))).toEqual(walk(root));
  });

  test('is taken away when the disk is full, and comes when there is room', async (context) => {
    const disk = await mountFresh(temporaryDirectory(), 'tmpfs');
    if (typeof disk === 'string') return context.skip(disk);
    try {
      const resize = (size: string): void => {
        execFileSync('mount', ['-o', `remount,size=${size}`, disk.path], { stdio: 'pipe' });
      };
      const copy = path.join(disk.path, 'copy');
      await withStore(blobs, async (store) => {
        resize('5m');
        const failure = await store.materialize(ref, copy).catch((error: unknown) => error);
        expect(MaterializeError.is(failure)).toBe(true);
        expect(findCause(failure, FileSystemError)?.errno).toBe('ENOSPC');
        expect(fs.readdirSync(disk.path)).toEqual([]);
        resize('64m');
        await store.materialize(ref, copy);
        expect(walk(copy)).toEqual(walk(root));
      });
    } finally {
      await disk.remove();
    }
    return undefined;
  });
});
