import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { memoryBlobs } from '@holdfast/blobs';
import {
  DestNotEmptyError,
  MaterializeError,
  NotDirectoryError,
  PersistencePathError,
  WorkspaceClosedError,
  WorkspaceStore,
} from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

let top: string;
let root: string;

beforeEach(() => {
  top = temporaryDirectory();
  root = path.join(top, 'root');
  fs.mkdirSync(root);
});

const at = (...parts: string[]): string => path.join(root, ...parts);

describe('trees that break real products', () => {
  test('an empty repository inside, and a directory that becomes a link', async () => {
    fs.writeFileSync(at('file.txt'), 'v1');
    fs.mkdirSync(at('skills'));
    fs.writeFileSync(at('skills/S.md'), 'v1');
    await withStore(memoryBlobs(), async (store) => {
      const first = await store.snapshot(root);
      fs.writeFileSync(at('file.txt'), 'v2');
      spawnSync('git', ['init', '-q', at('sub')]);
      fs.renameSync(at('skills'), at('canonical'));
      fs.symlinkSync('canonical', at('skills'));
      const second = await store.snapshot(root, { base: first.ref });
      await store.materialize(second.ref, path.join(top, 'second'));
      expect(walk(path.join(top, 'second'))).toEqual(walk(root));
      expect(fs.readFileSync(path.join(top, 'second/file.txt'), 'utf8')).toBe('v2');
      await store.materialize(first.ref, path.join(top, 'first'));
      expect(fs.readdirSync(path.join(top, 'first'))).toEqual(['file.txt', 'skills']);
    });
  });

  test('repositories and pointer files are ordinary content, usable afterwards', async () => {
    spawnSync('git', ['init', '-q', at('vendor/lib')]);
    fs.writeFileSync(at('vendor/lib/a.txt'), 'v1');
    const git = (...args: string[]) =>
      spawnSync('git', ['-C', at('vendor/lib'), '-c', 'user.name=n', '-c', 'user.email=e', ...args], {
        encoding: 'utf8',
      });
    git('add', '.');
    git('commit', '-q', '-m', 'one');
    fs.mkdirSync(at('mod'));
    fs.writeFileSync(at('mod/.git'), 'gitdir: ../.meta/mod\n');
    fs.mkdirSync(at('.meta/mod'), { recursive: true });
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      const dest = path.join(top, 'dest');
      await store.materialize(ref, dest);
      expect(walk(dest)).toEqual(walk(root));
      const check = spawnSync('git', ['-C', path.join(dest, 'vendor/lib'), 'fsck', '--strict'], {
        encoding: 'utf8',
      });
      expect(check.status).toBe(0);
      const status = spawnSync('git', ['-C', path.join(dest, 'vendor/lib'), 'status', '--porcelain'], {
        encoding: 'utf8',
      });
      expect(status.stdout).toBe('');
    });
  });

  test('names of every kind', async () => {
    const names = [
      '公共函数.cpp',
      'a"b.txt',
      'new\nline.txt',
      ' lead.txt ',
      '-rf',
      'é.txt',
      'e\u0301.txt',
      'Logo.png',
      'logo.png',
      'n'.repeat(255),
    ];
    for (const name of names) fs.writeFileSync(at(name), 'x');
    fs.writeFileSync(
      Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff]), Buffer.from('.bin')]),
      'x',
    );
    const deep = Array(11).fill('d'.repeat(99)).join('/');
    fs.mkdirSync(at(deep), { recursive: true });
    fs.writeFileSync(at(deep, 'f'), 'x');
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      await store.materialize(ref, path.join(top, 'dest'));
      expect(walk(path.join(top, 'dest'))).toEqual(walk(root));
      const rows = (await store.list(ref)).map((row) => row.path);
      expect(rows).toContain('bad\\xFF.bin');
      // The text of a path is accepted where it came from.
      expect((await store.stat(ref, 'bad\\xFF.bin')).size).toBe(1);
      expect(rows).toHaveLength(names.length + 1 + 11 + 1);
    });
  });

  test('skipped is not absent', async () => {
    fs.writeFileSync(at('small.txt'), '1');
    fs.writeFileSync(at('big.bin'), '');
    fs.truncateSync(at('big.bin'), 3 * 2 ** 20);
    await withStore(memoryBlobs(), async (store) => {
      const limits = { fileBytes: 2 ** 20 };
      const { ref, coverage } = await store.snapshot(root, { limits });
      expect(coverage.omitted).toEqual([{ path: 'big.bin', reason: 'limit' }]);
      fs.appendFileSync(at('big.bin'), 'changed');
      expect((await store.diffLive(root, ref, { limits })).changes).toEqual([]);
      // Equal but for what was left out: nothing to do, nothing touched.
      expect((await store.materialize(ref, root)).stats.bytesWritten).toBe(0);
      fs.writeFileSync(at('small.txt'), '2');
      await expect(store.materialize(ref, root)).rejects.toSatisfy((error) => DestNotEmptyError.is(error));
      expect(fs.statSync(at('big.bin')).size).toBe(3 * 2 ** 20 + 7);
    });
  });

  test('a thousand old files, one changed: one is read and stored', async () => {
    for (let i = 0; i < 1000; i += 1) {
      fs.writeFileSync(at(`f${i}`), `content ${i}`);
      fs.utimesSync(at(`f${i}`), 1577836800.123, 1577836800.123);
    }
    fs.writeFileSync(at('run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    fs.writeFileSync(at('secret'), 's', { mode: 0o600 });
    fs.writeFileSync(at('ro'), 'r', { mode: 0o444 });
    fs.mkdirSync(at('d'), { mode: 0o700 });
    fs.mkdirSync(at('e'));
    fs.symlinkSync('run.sh', at('l'));
    const clock = { ...(await import('@holdfast/base')).systemClock, now: () => Date.now() + 10_000 };
    await withStore(memoryBlobs(), { clock }, async (store) => {
      const first = await store.snapshot(root);
      fs.writeFileSync(at('f7'), 'changed');
      fs.chmodSync(at('run.sh'), 0o644);
      const second = await store.snapshot(root, { base: first.ref });
      // A chmod moves the ctime, so that file is looked into as well.
      expect(second.stats.filesRead).toBe(2);
      const { changes } = await store.diff(first.ref, second.ref);
      expect(changes.map(({ change, path: where }) => [change, where])).toEqual([
        ['modified', 'f7'],
        ['mode', 'run.sh'],
      ]);
    });
  });
});

describe('materialize', () => {
  test('leaves a destination that differs as it is, and names the differences', async () => {
    fs.writeFileSync(at('a'), 'a');
    const dest = path.join(top, 'dest');
    fs.mkdirSync(dest);
    fs.writeFileSync(path.join(dest, 'other'), 'o');
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      const failure = await store.materialize(ref, dest).catch((error: unknown) => error);
      expect(DestNotEmptyError.is(failure) && failure.differences).toEqual(['a', 'other']);
      expect(fs.readdirSync(dest)).toEqual(['other']);
      expect(fs.readdirSync(top).sort()).toEqual(['dest', 'root']);
    });
  });

  test('refuses files, links and missing parents as destinations', async () => {
    fs.writeFileSync(at('a'), 'a');
    fs.symlinkSync('root', path.join(top, 'link'));
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      for (const dest of [at('a'), path.join(top, 'link'), path.join(top, 'no/such')]) {
        await expect(store.materialize(ref, dest)).rejects.toSatisfy((error) => NotDirectoryError.is(error));
      }
      await expect(store.materialize(ref, '')).rejects.toThrow(TypeError);
      await expect(store.materialize(ref, path.join(top, 'x'), { paths: ['nope'] })).rejects.toThrow(
        'no entry',
      );
    });
    await withStore(memoryBlobs(), { cacheDirectory: path.join(top, 'cache') }, async (store) => {
      const { ref } = await store.snapshot(root);
      const inside = path.join(top, 'cache/inside');
      await expect(store.materialize(ref, inside)).rejects.toSatisfy((error) =>
        PersistencePathError.is(error),
      );
    });
  });

  test('leaves nothing behind when it is aborted or the disk is full', async () => {
    for (let i = 0; i < 50; i += 1) fs.writeFileSync(at(`f${i}`), `${i}`);
    fs.mkdirSync(path.join(top, 'empty'));
    const { nodeFileSystem } = await import('@holdfast/durable');
    const { FaultFileSystem } = await import('@holdfast/durable/testing');
    const blobs = memoryBlobs();
    const { ref } = await withStore(blobs, {}, (store) => store.snapshot(root));
    for (const dest of ['missing', 'empty']) {
      const full = new FaultFileSystem(nodeFileSystem(), [{ operation: 'write', nth: 20, errno: 'ENOSPC' }]);
      await withStore(blobs, { fileSystem: full }, async (store) => {
        const failure = await store.materialize(ref, path.join(top, dest)).catch((error: unknown) => error);
        expect(MaterializeError.is(failure) && failure.ref).toBe(ref);
      });
      const reason = new Error('enough');
      await withStore(blobs, async (store) => {
        const dying = store.materialize(ref, path.join(top, dest), { signal: AbortSignal.abort(reason) });
        await expect(dying).rejects.toBe(reason);
      });
    }
    expect(fs.readdirSync(top).sort()).toEqual(['empty', 'root']);
    expect(fs.readdirSync(path.join(top, 'empty'))).toEqual([]);
  });

  test('builds inside a destination whose parent it may not write to', async () => {
    fs.mkdirSync(at('d'));
    fs.writeFileSync(at('d/a'), 'a');
    fs.mkdirSync(path.join(top, 'fixed'));
    const { nodeFileSystem } = await import('@holdfast/durable');
    const { FaultFileSystem } = await import('@holdfast/durable/testing');
    const denied = (pathEnd: string | undefined) =>
      new FaultFileSystem(nodeFileSystem(), [
        { operation: 'mkdir', nth: 1, errno: 'EROFS' },
        ...(pathEnd === undefined ? [] : [{ operation: 'write' as const, pathEnd, nth: 1, errno: 'EIO' }]),
      ]);
    const blobs = memoryBlobs();
    const { ref } = await withStore(blobs, {}, (store) => store.snapshot(root));
    await withStore(blobs, { fileSystem: denied('/a') }, async (store) => {
      await expect(store.materialize(ref, path.join(top, 'fixed'))).rejects.toSatisfy((error) =>
        MaterializeError.is(error),
      );
      expect(fs.readdirSync(path.join(top, 'fixed'))).toEqual([]);
    });
    await withStore(blobs, { fileSystem: denied(undefined) }, async (store) => {
      await store.materialize(ref, path.join(top, 'fixed'));
      expect(walk(path.join(top, 'fixed'))).toEqual(walk(root));
    });
  });
});

describe('refs', () => {
  test('are found by a unique prefix of eight digits', async () => {
    fs.writeFileSync(at('a'), 'a');
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      for (const text of [ref, ref.slice(10, 18), ref.slice(0, 20), ref.slice(10)])
        expect(await store.resolve(text)).toBe(ref);
      await expect(store.resolve(ref.slice(10, 17))).rejects.toThrow('breaks rule digits');
      await expect(store.resolve('../../..')).rejects.toThrow('breaks rule digits');
      await expect(store.resolve('ffffffffff')).rejects.toThrow('not in this store');
    });
  });

  test('that share a prefix are ambiguous', async () => {
    const blobs = memoryBlobs();
    for (const end of ['1', '2']) {
      await blobs.put(`snapshots/${'a'.repeat(63)}${end}/${'0'.repeat(32)}-0000000001`, Buffer.from('x'));
    }
    await withStore(blobs, async (store) => {
      await expect(store.resolve('a'.repeat(10))).rejects.toMatchObject({ code: 'WORKSPACE_AMBIGUOUS_REF' });
    });
  });

  test('in a format of the future are not damage', async () => {
    const blobs = memoryBlobs();
    const { createHash } = await import('node:crypto');
    const body = '{"format":"holdfast-record/2"}\n';
    const sealed = `${body}sha256 ${createHash('sha256').update(body).digest('hex')}\n`;
    const ref = `v1:sha256:${'b'.repeat(64)}`;
    await blobs.put(`snapshots/${'b'.repeat(64)}/${'0'.repeat(32)}-0000000001`, Buffer.from(sealed));
    await withStore(blobs, async (store) => {
      await expect(store.openTree(ref as never)).rejects.toMatchObject({
        code: 'WORKSPACE_UNSUPPORTED_FORMAT',
      });
    });
  });
});

test('a closed store refuses everything, and closing twice is closing once', async () => {
  const store = await WorkspaceStore.open(memoryBlobs());
  await Promise.all([store.close(), store.close()]);
  await expect(store.snapshot(root)).rejects.toSatisfy((error) => WorkspaceClosedError.is(error));
  await expect(store.verify('all')).rejects.toSatisfy((error) => WorkspaceClosedError.is(error));
  expect(store.storagePaths()).toEqual([]);
});
