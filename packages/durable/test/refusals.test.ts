import { once } from 'node:events';
import { createServer } from 'node:net';

import {
  appendDurably,
  Dir,
  ensureDirectory,
  nodeFileSystem,
  publishFileSync,
  readFile,
  removeTree,
  removeTreeSync,
  SyncFailedError,
  sweepTemporaries,
  syncTreeSync,
} from '@holdfast/durable';
import { type Fault, FaultFileSystem, ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, onRealDisks, put, text } from './support/disks.js';

/** A model disk with a tree, on which planned calls fail. */
function faulty(
  faults: readonly Fault[],
  plan: Parameters<typeof writeTree>[2] = {},
): { model: ModelFileSystem; dir: Dir } {
  const model = new ModelFileSystem();
  writeTree(model, '/', plan);
  return { model, dir: Dir.openRoot(new FaultFileSystem(model, faults), '/') };
}

describe('a deletion that is refused', () => {
  const plan = { 'tree/a/b': 'x' };

  it.each<[string, readonly Fault[]]>([
    ['opening a directory', [{ operation: 'openDir', pathEnd: '/a', nth: 1, errno: 'EACCES' }]],
    ['opening a directory moved up', [{ operation: 'openDir', nth: 1, errno: 'EACCES' }]],
    ['moving a directory up', [{ operation: 'rename', nth: 2, errno: 'EACCES' }]],
  ])('tries again with more rights after %s', async (_what, faults) => {
    const { model, dir } = faulty(faults, { 'tree/a/c/b': 'x' });
    expect(await removeTree(dir, 'tree')).toBe(true);
    expect(readTree(model, '/')).toEqual({});
  });

  it('opens up a read-only directory, and only once', async () => {
    const { model, dir } = faulty([{ operation: 'unlink', pathEnd: '/b', nth: 1, errno: 'EACCES' }], plan);
    using tree = dir.openDir('tree');
    tree.chmodAt('a', 0o500);
    expect(await removeTree(dir, 'tree')).toBe(true);
    expect(readTree(model, '/')).toEqual({});
    const again = faulty(
      [{ operation: 'unlink', pathEnd: '/b', nth: 1, errno: 'EPERM', times: 'forever' }],
      plan,
    );
    await expect(removeTree(again.dir, 'tree')).rejects.toMatchObject({ cause: { errno: 'EPERM' } });
  });

  it('takes EPERM for "is a directory" where a system says so', async () => {
    const { model, dir } = faulty([{ operation: 'unlink', pathEnd: '/a', nth: 1, errno: 'EPERM' }], plan);
    expect(await removeTree(dir, 'tree')).toBe(true);
    expect(readTree(model, '/')).toEqual({});
  });

  it('says who refused when rights cannot be had', async () => {
    const faults: Fault[] = [
      { operation: 'unlink', pathEnd: '/b', nth: 1, errno: 'EACCES' },
      { operation: 'chmod', nth: 1, errno: 'EPERM' },
    ];
    const { dir } = faulty(faults, plan);
    using tree = dir.openDir('tree');
    tree.chmodAt('a', 0o500);
    await expect(removeTree(dir, 'tree')).rejects.toMatchObject({
      cause: { operation: 'unlink', errno: 'EACCES' },
    });
  });

  it.each<[string, Fault, string]>([
    ['unlink', { operation: 'unlink', pathEnd: '/b', nth: 1, errno: 'EIO' }, 'EIO'],
    ['openDir', { operation: 'openDir', nth: 2, errno: 'EMFILE' }, 'EMFILE'],
    ['rmdir of a directory', { operation: 'rmdir', nth: 1, errno: 'EBUSY' }, 'EBUSY'],
    ['rename of a mount point', { operation: 'rename', nth: 2, errno: 'EBUSY' }, 'EBUSY'],
  ])('passes on a failed %s', async (_what, fault, errno) => {
    const { dir } = faulty([fault], { 'tree/a/c/b': 'x' });
    await expect(removeTree(dir, 'tree')).rejects.toMatchObject({ cause: { errno } });
  });

  it('is content when somebody else deletes at the same time', async () => {
    for (const operation of ['unlink', 'rmdir'] as const) {
      const pathEnd = operation === 'unlink' ? '/b' : '/a';
      const { model, dir } = faulty([{ operation, pathEnd, nth: 1, errno: 'ENOENT', when: 'after' }], plan);
      expect(await removeTree(dir, 'tree')).toBe(true);
      expect(readTree(model, '/')).toEqual({});
    }
  });

  it('does not change the mode of the directory that holds the tree', () => {
    const { model, dir } = faulty([{ operation: 'unlink', nth: 1, errno: 'EACCES', times: 'forever' }], {
      'p/file': 'x',
    });
    using parent = dir.openDir('p');
    parent.chmod(0o500);
    expect(() => removeTreeSync(parent, 'file')).toThrow();
    expect(readTree(model, '/')['p']).toBe('directory 500');
  });
});

describe('other refusals', () => {
  it('of a sync are thrown by the synchronous recipes as well', () => {
    const { dir } = faulty([{ operation: 'sync', nth: 1, errno: 'EIO' }]);
    expect(() => publishFileSync(dir, 'a', text('x'))).toThrow(SyncFailedError);
    const tree = faulty([{ operation: 'sync', nth: 2, errno: 'EIO' }], { a: 'x', b: 'x' });
    expect(() => {
      syncTreeSync(tree.dir);
    }).toThrow(SyncFailedError);
  });

  it('of a sweep are passed on, except that somebody else was faster', async () => {
    const name = '.holdfast-tmp-op-0123456789abcdef';
    const refused = faulty([{ operation: 'unlink', nth: 1, errno: 'EIO' }], { [name]: 'x' });
    await expect(sweepTemporaries(refused.dir, { isLive: () => false })).rejects.toMatchObject({
      errno: 'EIO',
    });
    const trash = '.holdfast-trash-op-0123456789abcdef';
    const faster = faulty([{ operation: 'rmdir', nth: 1, errno: 'ENOENT', when: 'after' }], {
      [`${trash}/`]: null,
    });
    expect(await sweepTemporaries(faster.dir, { isLive: () => false })).toEqual({ removed: 0, kept: 0 });
  });

  it('of opening are passed on by readFile and ensureDirectory', async () => {
    const { dir } = faulty([{ operation: 'openFile', nth: 1, errno: 'EMFILE' }], { a: 'x' });
    expect(errnoOf(() => readFile(dir, 'a', { maxBytes: 9 }))).toBe('EMFILE');
    const loop = faulty([{ operation: 'openFile', nth: 1, errno: 'ELOOP' }], { a: 'x' });
    expect(errnoOf(() => readFile(loop.dir, 'a', { maxBytes: 9 }))).toBe('ELOOP');
    const blocked = faulty([{ operation: 'mkdir', nth: 1, errno: 'EROFS' }]);
    await expect(ensureDirectory(blocked.dir.fileSystem, '/a/b')).rejects.toMatchObject({ errno: 'EROFS' });
    const unlisted = faulty([{ operation: 'openRoot', pathEnd: '/a', nth: 1, errno: 'EACCES' }], {
      'a/b/': null,
    });
    (await ensureDirectory(unlisted.dir.fileSystem, '/a/b/c')).close();
    const broken = faulty([{ operation: 'openRoot', pathEnd: '/a', nth: 1, errno: 'EIO' }], { 'a/b/': null });
    await expect(ensureDirectory(broken.dir.fileSystem, '/a/b/c')).rejects.toMatchObject({ errno: 'EIO' });
  });

  it('of a closed file are not called uncertain by an append', async () => {
    using dir = Dir.openRoot(new ModelFileSystem(), '/');
    const file = dir.createFile('log');
    file.close();
    await expect(appendDurably(file, text('x'), { position: 0 })).rejects.toMatchObject({
      code: 'DURABLE_HANDLE_CLOSED',
    });
  });
});

onRealDisks('nodes of every kind', (disk) => {
  it('are told apart', async () => {
    const server = createServer().listen(`${disk().path}/socket`);
    await once(server, 'listening');
    expect(disk().dir.lstat('socket')?.kind).toBe('socket');
    expect(() => readFile(disk().dir, 'socket', { maxBytes: 9 })).toThrow(/is a socket/);
    server.close();
    using devices = Dir.openRoot(disk().fileSystem, '/dev');
    expect(devices.lstat('null')?.kind).toBe('char-device');
    expect(() => readFile(devices, 'null', { maxBytes: 9 })).toThrow(/is a char-device/);
  });

  it('are refused at once when a directory of them was replaced', () => {
    if (disk().fileSystem.grade !== 'guarded') return;
    disk().dir.mkdir('d');
    using child = disk().dir.openDir('d');
    put(child, 'x', 'x');
    disk().dir.rename('d', disk().dir, 'moved');
    disk().dir.mkdir('d');
    for (const use of [
      () => child.list(),
      () => child.lstat('x'),
      () => child.openFile('x'),
      () => child.unlink('x'),
    ]) {
      expect(errnoOf(use)).toBe('ESTALE');
    }
    expect(child.stat().kind).toBe('directory');
  });
});

describe('nodeFileSystem', () => {
  it('refuses the anchored grade where there is none', () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
    Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
    try {
      expect(() => nodeFileSystem({ grade: 'anchored' })).toThrow(RangeError);
      expect(nodeFileSystem().grade).toBe('guarded');
    } finally {
      Object.defineProperty(process, 'platform', platform);
    }
  });
});
