import {
  appendDurably,
  appendDurablySync,
  Dir,
  FileTooLargeError,
  NotAFileError,
  OutcomeUncertainError,
  readFile,
  removeDurably,
  removeDurablySync,
  SyncFailedError,
} from '@holdfast/durable';
import { FaultFileSystem, ModelFileSystem, readTree, TracingFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, isA, onEveryDisk, put, text } from './support/disks.js';

onEveryDisk('appendDurably', (disk) => {
  it('adds at the end and tells where', async () => {
    using file = disk().dir.createFile('log');
    expect(await appendDurably(file, text('one'))).toEqual({ position: 0, end: 3 });
    expect(appendDurablySync(file, text('two'))).toEqual({ position: 3, end: 6 });
    expect(await appendDurably(file, text('TWO'), { position: 3 })).toEqual({ position: 3, end: 6 });
    expect(readTree(disk().fileSystem, disk().path)).toEqual({ log: 'file 600 "oneTWO"' });
  });

  it('makes one write and one sync', async () => {
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    using file = dir.createFile('log');
    tracing.reset();
    await appendDurably(file, new Uint8Array(100_000));
    expect(tracing.changes(disk().path)).toEqual(['write /log', 'sync /log']);
  });

  it('has no effect when aborted before', async () => {
    using file = disk().dir.createFile('log');
    const reason = new Error('enough');
    await expect(appendDurably(file, text('x'), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(file.stat().size).toBe(0);
  });
});

describe('appendDurably when calls fail', () => {
  it.each(['write', 'sync'] as const)('reports a failed %s as uncertain', async (operation) => {
    const faults = new FaultFileSystem(new ModelFileSystem(), [{ operation, nth: 1, errno: 'ENOSPC' }]);
    using dir = Dir.openRoot(faults, '/');
    using file = dir.createFile('log');
    await expect(appendDurably(file, text('x'))).rejects.toSatisfy(isA(OutcomeUncertainError));
    if (operation === 'sync') expect(() => file.write(text('y'), 1)).toThrow(SyncFailedError);
    else expect(appendDurablySync(file, text('y'), { position: 0 })).toEqual({ position: 0, end: 1 });
  });
});

onEveryDisk('removeDurably', (disk) => {
  it('removes a name, and is content when it is gone', async () => {
    put(disk().dir, 'a', 'x');
    put(disk().dir, 'b', 'x');
    disk().dir.symlink('b', 'link');
    expect(await removeDurably(disk().dir, 'a')).toBe(true);
    expect(await removeDurably(disk().dir, 'a')).toBe(false);
    expect(removeDurablySync(disk().dir, 'link')).toBe(true);
    expect(readTree(disk().fileSystem, disk().path)).toEqual({ b: 'file 600 "x"' });
  });

  it('syncs the directory also when the name was gone already', async () => {
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    expect(await removeDurably(dir, 'a')).toBe(false);
    expect(tracing.changes(disk().path)).toEqual(['unlink /a ENOENT', 'sync ']);
  });

  it('refuses a directory', async () => {
    disk().dir.mkdir('d');
    await expect(removeDurably(disk().dir, 'd')).rejects.toMatchObject({ code: 'DURABLE_FILE_SYSTEM' });
    expect(disk().dir.lstat('d')).toBeDefined();
  });

  it('has no effect when aborted before', async () => {
    put(disk().dir, 'a', 'x');
    const reason = new Error('enough');
    await expect(removeDurably(disk().dir, 'a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(disk().dir.lstat('a')).toBeDefined();
  });
});

describe('removeDurably when calls fail', () => {
  it('reports a failed sync, or an unlink that may have happened, as uncertain', async () => {
    for (const operation of ['unlink', 'sync'] as const) {
      const model = new ModelFileSystem();
      using dir = Dir.openRoot(new FaultFileSystem(model, [{ operation, nth: 1, errno: 'EIO' }]), '/');
      put(dir, 'a', 'x');
      await expect(removeDurably(dir, 'a')).rejects.toMatchObject({
        code: 'DURABLE_OUTCOME_UNCERTAIN',
        operation: 'remove',
      });
    }
  });
});

onEveryDisk('readFile', (disk, kind) => {
  it('reads whole files and tells absent ones', () => {
    put(disk().dir, 'a', 'content');
    expect(readFile(disk().dir, 'a', { maxBytes: 7 })).toEqual(text('content'));
    expect(readFile(disk().dir, 'none', { maxBytes: 7 })).toBeUndefined();
    expect(() => readFile(disk().dir, 'a', { maxBytes: 6 })).toThrow(FileTooLargeError);
  });

  it('refuses what is no regular file', () => {
    disk().dir.mkdir('d');
    put(disk().dir, 'file', 'x');
    disk().dir.symlink('file', 'link');
    for (const [name, found] of [
      ['d', 'directory'],
      ['link', 'symlink'],
    ] as const) {
      let thrown: unknown;
      try {
        readFile(disk().dir, name, { maxBytes: 7 });
      } catch (error) {
        thrown = error;
      }
      expect(NotAFileError.is(thrown) && thrown).toMatchObject({ entryName: name, kind: found });
    }
  });

  if (!kind.real) {
    it('never blocks on a FIFO, and names a socket', () => {
      const model = disk().fileSystem as ModelFileSystem;
      model.plantSpecial('/base/fifo', 'fifo');
      model.plantSpecial('/base/socket', 'socket');
      expect(() => readFile(disk().dir, 'fifo', { maxBytes: 7 })).toThrow(NotAFileError);
      expect(() => readFile(disk().dir, 'socket', { maxBytes: 7 })).toThrow(NotAFileError);
      expect(errnoOf(() => disk().dir.openFile('socket'))).toBe('ENXIO');
    });
  }
});
