import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';

import { FileSystemError, nodeFileSystem, openSharedDirectory, shareDirectory } from '@holdfast/durable';
import { expect, it } from 'vitest';

import { onRealDisks, put } from './support/disks.js';

onRealDisks('shareDirectory', (disk) => {
  it('names the directory that is open, wherever it stands by then, or has no name for it', () => {
    const { dir, fileSystem, path } = disk();
    dir.mkdir('d');
    using child = dir.openDir('d');
    put(child, 'a', 'x');
    const shared = shareDirectory(child);
    if (shared === undefined) {
      expect(fileSystem.grade).toBe('guarded');
      expect(() => openSharedDirectory(fileSystem, '/proc/self/fd/0')).toThrow(TypeError);
      return;
    }
    renameSync(`${path}/d`, `${path}/moved`);
    mkdirSync(`${path}/elsewhere`);
    writeFileSync(`${path}/elsewhere/b`, '');
    symlinkSync('elsewhere', `${path}/d`);
    using opened = openSharedDirectory(fileSystem, shared);
    expect(opened.stat().ino).toBe(child.stat().ino);
    expect(opened.list().map(String)).toEqual(child.list().map(String));
    put(opened, 'b', 'y');
    expect(child.lstat('b')?.size).toBe(1);
  });
});

it('is over when the handle is closed', () => {
  const fileSystem = nodeFileSystem();
  if (fileSystem.grade !== 'anchored') return;
  expect(() => openSharedDirectory(fileSystem, `/proc/${process.pid}/fd/99999`)).toThrow(FileSystemError);
});
