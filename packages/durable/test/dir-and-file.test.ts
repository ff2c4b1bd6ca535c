import { readdirSync } from 'node:fs';

import { Dir, type File, FileTooLargeError, HandleClosedError, SyncFailedError } from '@holdfast/durable';
import { FaultFileSystem, ModelFileSystem, TracingFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, isA, onEveryDisk, onRealDisks, put, text } from './support/disks.js';

onEveryDisk('owners', (disk) => {
  it('refuses every use after close, and closes twice as once', () => {
    const dir = disk().dir.retain();
    put(dir, 'a', 'x');
    const file = dir.openFile('a', 'read-write');
    dir.close();
    dir.close();
    file.close();
    file[Symbol.dispose]();
    expect(dir.isOpen).toBe(false);
    expect(file.isOpen).toBe(false);
    const other = disk().dir;
    const uses: (() => unknown)[] = [
      () => dir.list(),
      () => dir.stat(),
      () => dir.lstat('a'),
      () => dir.openDir('a'),
      () => dir.openFile('a'),
      () => dir.createFile('b'),
      () => dir.mkdir('b'),
      () => dir.rmdir('b'),
      () => dir.unlink('a'),
      () => dir.symlink('a', 'b'),
      () => dir.readlink('a'),
      () => dir.link('a', other, 'b'),
      () => other.link('a', dir, 'b'),
      () => dir.rename('a', other, 'b'),
      () => other.rename('a', dir, 'b'),
      () => dir.chmod(0o700),
      () => dir.chmodAt('a', 0o700),
      () => dir.mountId(),
      () => dir.sync(),
      () => dir.retain(),
      () => dir.handle(),
      () => file.stat(),
      () => file.read(new Uint8Array(1), 0),
      () => file.readAll({ maxBytes: 1 }),
      () => file.write(text('y'), 0),
      () => file.truncate(0),
      () => file.chmod(0o600),
      () => file.sync(),
      () => file.retain(),
      () => file.handle(),
    ];
    for (const use of uses) expect(use).toThrow(HandleClosedError);
  });

  it('rejects asynchronous uses after close', async () => {
    const dir = disk().dir.retain();
    const file = dir.createFile('a');
    dir.close();
    file.close();
    await expect(dir.syncLater()).rejects.toSatisfy(isA(HandleClosedError));
    await expect(file.syncLater()).rejects.toSatisfy(isA(HandleClosedError));
  });

  it('keeps the descriptor as long as one owner is left', () => {
    const first = disk().dir.retain();
    const second = first.retain();
    first.close();
    put(second, 'a', 'x');
    second.close();
    expect(disk().dir.lstat('a')?.size).toBe(1);
  });

  it('may be closed during a sync', async () => {
    const file = disk().dir.createFile('a');
    file.write(text('x'), 0);
    const syncing = file.syncLater();
    file.close();
    await syncing;
    expect(file.isOpen).toBe(false);
  });

  it('reads a file that is larger than its announced size, up to the limit', () => {
    using file = disk().dir.createFile('a');
    const content = new Uint8Array(50_000).fill(7);
    file.write(content, 0);
    expect(file.readAll({ maxBytes: 50_000 })).toEqual(content);
    expect(() => file.readAll({ maxBytes: 49_999 })).toThrow(FileTooLargeError);
    using empty = disk().dir.createFile('b');
    expect(empty.readAll({ maxBytes: 0 })).toEqual(new Uint8Array(0));
  });
});

describe('a file that grows while it is read', () => {
  it('is read to its end, or refused at the limit', () => {
    const model = new ModelFileSystem();
    class Growing extends TracingFileSystem {
      override fstat(
        ...args: Parameters<TracingFileSystem['fstat']>
      ): ReturnType<TracingFileSystem['fstat']> {
        return { ...super.fstat(...args), size: 3 };
      }
    }
    using dir = Dir.openRoot(new Growing(model), '/');
    using file = dir.createFile('a');
    const content = new Uint8Array(40_000).fill(9);
    file.write(content, 0);
    expect(file.readAll({ maxBytes: 40_000 })).toEqual(content);
    expect(() => file.readAll({ maxBytes: 39_999 })).toThrow(FileTooLargeError);
  });
});

describe('a failed close', () => {
  it('hides no other failure and keeps nothing open', () => {
    const faults = new FaultFileSystem(new ModelFileSystem(), [
      { operation: 'close', nth: 1, errno: 'EIO', times: 'forever' },
    ]);
    const dir = Dir.openRoot(faults, '/');
    const file = dir.createFile('a');
    file.close();
    expect(() => file.stat()).toThrow(HandleClosedError);
    const failure = new Error('the one that matters');
    expect(() => {
      using again = dir.openFile('a');
      expect(again.isOpen).toBe(true);
      throw failure;
    }).toThrow(failure);
    dir.close();
    expect(faults.fired).toBe(3);
  });
});

describe('a failed sync', () => {
  const failing = (): { dir: Dir; file: File } => {
    const faults = new FaultFileSystem(new ModelFileSystem(), [
      { operation: 'sync', pathEnd: 'a', nth: 1, errno: 'EIO' },
      { operation: 'sync', pathEnd: 'd', nth: 1, errno: 'ENOSPC' },
    ]);
    using root = Dir.openRoot(faults, '/');
    root.mkdir('d');
    const dir = root.openDir('d');
    return { dir, file: dir.createFile('a') };
  };

  it('is final for a file: every later change and sync is refused with the same error', async () => {
    const { dir, file } = failing();
    file.write(text('x'), 0);
    let first: unknown;
    try {
      file.sync();
    } catch (error) {
      first = error;
    }
    expect(SyncFailedError.is(first) && first).toMatchObject({ errno: 'EIO', effect: 'unknown' });
    for (const use of [
      () => file.sync(),
      () => file.write(text('y'), 0),
      () => file.truncate(0),
      () => file.chmod(0o600),
    ]) {
      let again: unknown;
      try {
        use();
      } catch (error) {
        again = error;
      }
      expect(again).toBe(first);
    }
    await expect(file.syncLater()).rejects.toBe(first);
    const second = file.retain();
    await expect(second.syncLater()).rejects.toBe(first);
    expect(file.readAll({ maxBytes: 9 })).toEqual(text('x'));
    dir.close();
  });

  it('is final for a directory, also when it failed off the event loop', async () => {
    const { dir } = failing();
    await expect(dir.syncLater()).rejects.toSatisfy(isA(SyncFailedError));
    for (const use of [
      () => dir.sync(),
      () => dir.createFile('b'),
      () => dir.mkdir('b'),
      () => dir.unlink('a'),
      () => dir.rename('a', dir, 'b'),
      () => dir.link('a', dir, 'b'),
      () => dir.symlink('a', 'b'),
      () => dir.rmdir('b'),
      () => dir.chmodAt('a', 0o600),
      () => dir.chmod(0o600),
    ]) {
      expect(use).toThrow(SyncFailedError);
    }
    expect(dir.list()).toHaveLength(1);
  });
});

onRealDisks('descriptors', (disk) => {
  const count = (): number => readdirSync('/proc/self/fd').length;

  it('are all given back', async () => {
    const before = count();
    for (let round = 0; round < 50; round += 1) {
      using dir = disk().dir.retain();
      put(dir, `f${round}`, 'x');
      dir.mkdir(`d${round}`);
      using child = dir.openDir(`d${round}`);
      using file = child.createFile('x');
      const syncing = file.syncLater();
      file.close();
      await syncing;
      errnoOf(() => child.openFile('none'));
      errnoOf(() => child.openDir('x'));
    }
    expect(count()).toBe(before);
  });

  it('never address another directory after close, even when the number is used again', () => {
    disk().dir.mkdir('a');
    disk().dir.mkdir('b');
    const { fileSystem } = disk();
    const first = fileSystem.openDir(disk().dir.handle(), text('a'));
    fileSystem.close(first);
    // The kernel hands out the lowest free number: this is the one that was just closed.
    const second = fileSystem.openDir(disk().dir.handle(), text('b'));
    expect(errnoOf(() => fileSystem.mkdir(first, text('x'), 0o700))).toBe('EBADF');
    expect(fileSystem.readdir(second)).toEqual([]);
    fileSystem.close(second);
  });
});
