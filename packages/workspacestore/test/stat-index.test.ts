import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { systemClock } from '@holdfast/base';
import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import { type FileSystemCall, ForwardingFileSystem, TracingFileSystem } from '@holdfast/durable/testing';
import { CacheDirectoryError, WorkspaceStore, type WorkspaceStoreOptions } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

let root: string;
let cacheDirectory: string;
/** Rows learned a moment ago count as settled. */
const clock = { ...systemClock, now: () => Date.now() + 10_000 };
/** The last change of the tree is after the start of every capture, however slow the machine is. */
const slowClock = { ...systemClock, now: () => Date.now() - 60_000 };

beforeEach(() => {
  const top = temporaryDirectory();
  root = path.join(top, 'root');
  cacheDirectory = path.join(top, 'cache');
  for (let i = 0; i < 20; i += 1) {
    fs.mkdirSync(path.join(root, `d${i % 4}`), { recursive: true });
    fs.writeFileSync(path.join(root, `d${i % 4}`, `f${i}`), `content ${i}`);
  }
  fs.symlinkSync('d0', path.join(root, 'link'));
});

async function snapshot(blobs: Blobs, options: WorkspaceStoreOptions = {}) {
  return await withStore(blobs, { cacheDirectory, clock, ...options }, (store) => store.snapshot(root));
}

describe('a saved stat index', () => {
  test('lets a new process read nothing that did not change', async () => {
    const blobs = memoryBlobs();
    const first = await snapshot(blobs);
    expect(first.stats.filesRead).toBe(20);
    fs.writeFileSync(path.join(root, 'd1/f1'), 'changed');
    const second = await snapshot(blobs);
    expect(second.stats.filesRead).toBe(1);
    await withStore(blobs, { cacheDirectory, clock }, async (store) => {
      const third = await store.snapshot(root, { base: second.ref });
      expect([third.ref, third.hold, third.stats.filesRead, third.stats.bytesStored]).toEqual([
        second.ref,
        second.hold,
        0,
        0,
      ]);
    });
  });

  test('is worth nothing to another store', async () => {
    await snapshot(memoryBlobs());
    expect((await snapshot(memoryBlobs())).stats.filesRead).toBe(20);
  });

  test('is worth nothing to another directory at the same path', async () => {
    const blobs = memoryBlobs();
    const first = await snapshot(blobs);
    fs.renameSync(root, `${root}-old`);
    fs.cpSync(`${root}-old`, root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    const second = await snapshot(blobs);
    expect([second.ref, second.stats.filesRead]).toEqual([first.ref, 20]);
  });

  test('may be damaged or gone: the ref is the same', async () => {
    const blobs = memoryBlobs();
    const first = await snapshot(blobs);
    const names = fs.readdirSync(cacheDirectory);
    expect(names.filter((name) => name.startsWith('root-'))).toHaveLength(1);
    const file = path.join(cacheDirectory, names.find((name) => name.startsWith('root-')) as string);
    const good = fs.readFileSync(file);
    for (let at = 0; at < good.length; at += 97) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] as number) ^ (1 << (at % 8));
      fs.writeFileSync(file, bad);
      const again = await snapshot(blobs);
      expect([again.ref, again.stats.filesRead]).toEqual([first.ref, 20]);
    }
    for (const length of [0, 1, 31, 32, 33, good.length - 1]) {
      fs.writeFileSync(file, good.subarray(0, length));
      expect((await snapshot(blobs)).ref).toBe(first.ref);
    }
    for (const name of fs.readdirSync(cacheDirectory)) fs.rmSync(path.join(cacheDirectory, name));
    expect((await snapshot(blobs)).ref).toBe(first.ref);
  });

  test('does not lead to archives that are gone', async () => {
    const blobs = memoryBlobs();
    const first = await snapshot(blobs);
    for await (const { key } of blobs.list('archives/')) await blobs.delete(key);
    const second = await snapshot(blobs);
    expect(second.ref).toBe(first.ref);
    await withStore(blobs, async (store) => {
      expect((await store.openTree(second.ref)).entries).toHaveLength(25);
      await store.materialize(second.ref, `${root}-copy`);
    });
  });

  test('is not kept in a directory that others can write to', async () => {
    fs.mkdirSync(cacheDirectory);
    fs.chmodSync(cacheDirectory, 0o777);
    const failure = await WorkspaceStore.open(memoryBlobs(), { cacheDirectory }).catch(
      (error: unknown) => error,
    );
    expect(CacheDirectoryError.is(failure) && failure.rule).toBe('writable-by-others');
  });
});

describe('a row is not trusted', () => {
  test('when its file was changed just before it was read', async () => {
    await withStore(memoryBlobs(), { clock: slowClock }, async (store) => {
      await store.snapshot(root);
      expect((await store.snapshot(root)).stats.filesRead).toBe(20);
    });
  });

  test('when its file is mapped by a process that writes to it', async () => {
    const mapped = path.join(root, 'd0/f0');
    fs.writeFileSync(mapped, Buffer.alloc(4096, 'a'));
    // The first store moves the ctime; later ones to the same page leave no trace.
    const writer = spawn('python3', [
      '-c',
      `import mmap, sys
f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 4096); m[0:1] = b"b"; print("ready", flush=True)
for line in sys.stdin: m[1:2] = b"c"; print("done", flush=True)`,
      mapped,
    ]);
    const answer = (): Promise<unknown> => new Promise((resolve) => writer.stdout.once('data', resolve));
    try {
      await answer();
      await withStore(memoryBlobs(), { clock }, async (store) => {
        const first = await store.snapshot(root);
        const before = fs.statSync(mapped, { bigint: true }).ctimeNs;
        writer.stdin.write('go\n');
        await answer();
        expect(fs.statSync(mapped, { bigint: true }).ctimeNs).toBe(before);
        const second = await store.snapshot(root, { base: first.ref });
        expect(second.ref).not.toBe(first.ref);
      });
    } finally {
      writer.stdin.end();
      await new Promise((resolve) => writer.once('close', resolve));
    }
  });
});

describe('a row is not trusted, although nothing is mapped any more when the capture ends,', () => {
  /** Lets a capture wait, where it has just read a file, for what another process does to it. */
  class AfterReading extends ForwardingFileSystem {
    readonly #file: string;
    readonly #act: () => void;
    left = 1;

    constructor(file: string, act: () => void) {
      super(nodeFileSystem());
      this.#file = file;
      this.#act = act;
    }

    protected override around<T>(call: FileSystemCall, run: () => T): T {
      const result = run();
      if (call.operation === 'read' && call.path === this.#file && this.left > 0) {
        this.left -= 1;
        this.#act();
      }
      return result;
    }
  }

  test('when its file was stored to after it was read, and let go', async () => {
    const mapped = path.join(root, 'd0/f0');
    const pipes = ['go', 'done'].map((name) => path.join(path.dirname(root), name));
    fs.writeFileSync(mapped, Buffer.alloc(4096, 'a'));
    const writer = spawn('python3', [
      '-c',
      `import mmap, os, sys
for pipe in sys.argv[2:]: os.mkfifo(pipe)
f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 4096); m[0:1] = b"b"; print("ready", flush=True)
open(sys.argv[2]).read()
m[1:2] = b"c"; m.close(); f.close()
open(sys.argv[3], "w").close()`,
      mapped,
      ...pipes,
    ]);
    const ended = new Promise((resolve) => writer.once('close', resolve));
    try {
      await new Promise((resolve) => writer.stdout.once('data', resolve));
      const fileSystem = new AfterReading(mapped, () => {
        const before = fs.statSync(mapped, { bigint: true }).ctimeNs;
        // The capture stands still meanwhile, and the end of a pipe is waited for in another process, which can be ended.
        execFileSync('sh', ['-c', ': > "$1"; cat "$2"', 'sh', ...pipes], { timeout: 120_000 });
        expect(fs.readFileSync(mapped, 'latin1').slice(0, 2)).toBe('bc');
        expect(fs.statSync(mapped, { bigint: true }).ctimeNs).toBe(before);
      });
      await withStore(memoryBlobs(), { clock, fileSystem }, async (store) => {
        const first = await store.snapshot(root);
        expect(fileSystem.left).toBe(0);
        await ended;
        const second = await store.snapshot(root, { base: first.ref });
        expect(second.ref).not.toBe(first.ref);
        expect(second.stats.filesRead).toBe(1);
        // Once it is read with nobody at it, it is trusted.
        expect((await store.snapshot(root, { base: second.ref })).stats.filesRead).toBe(0);
      });
    } finally {
      writer.kill();
      await ended;
    }
  });
});

describe('a directory is not listed again', () => {
  /** The directories whose names a snapshot asked the disk for. */
  async function listed(store: WorkspaceStore, disk: TracingFileSystem, options: { ignore?: string[] } = {}) {
    const before = disk.calls.length;
    const { ref } = await store.snapshot(root, options);
    // What a store without any memory says.
    const fresh = await withStore(memoryBlobs(), {}, (other) => other.snapshot(root, options));
    expect(ref).toBe(fresh.ref);
    const calls = disk.calls.slice(before).filter(({ operation }) => operation === 'readdir');
    return calls.map((call) => path.relative(root, call.path)).sort();
  }

  test('until its names may have changed', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    await withStore(memoryBlobs(), { clock, fileSystem: disk }, async (store) => {
      expect(await listed(store, disk)).toEqual(['', 'd0', 'd1', 'd2', 'd3']);
      expect(await listed(store, disk)).toEqual([]);
      fs.writeFileSync(path.join(root, 'd1/f1'), 'other content');
      expect(await listed(store, disk)).toEqual([]);
      fs.writeFileSync(path.join(root, 'd1/new'), '');
      fs.rmSync(path.join(root, 'd2/f2'));
      expect(await listed(store, disk)).toEqual(['d1', 'd2']);
      fs.renameSync(path.join(root, 'd3/f3'), path.join(root, 'd3/g3'));
      fs.rmSync(path.join(root, 'link'));
      expect(await listed(store, disk)).toEqual(['', 'd3']);
      fs.rmSync(path.join(root, 'd0'), { recursive: true });
      fs.mkdirSync(path.join(root, 'd0'));
      expect(await listed(store, disk)).toEqual(['', 'd0']);
      // A time that was set back does not hide that something was added.
      const { atime, mtime } = fs.statSync(path.join(root, 'd0'));
      fs.writeFileSync(path.join(root, 'd0/again'), 'x');
      fs.utimesSync(path.join(root, 'd0'), atime, mtime);
      expect(await listed(store, disk)).toEqual(['d0']);
      expect(await listed(store, disk)).toEqual([]);
    });
  });

  test('unless it had changed just before', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    await withStore(memoryBlobs(), { clock: slowClock, fileSystem: disk }, async (store) => {
      await listed(store, disk);
      expect(await listed(store, disk)).toEqual(['', 'd0', 'd1', 'd2', 'd3']);
    });
  });

  test('unless something in it was left out', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    await withStore(memoryBlobs(), { clock, fileSystem: disk }, async (store) => {
      await listed(store, disk, { ignore: ['f1'] });
      expect(await listed(store, disk)).toEqual(['d1']);
      expect(await listed(store, disk)).toEqual([]);
      expect(await listed(store, disk, { ignore: ['f1', 'd2/'] })).toEqual([]);
      expect(await listed(store, disk)).toEqual(['', 'd1', 'd2']);
    });
  });
});
