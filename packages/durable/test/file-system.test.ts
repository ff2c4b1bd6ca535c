import { Dir, EntryNameError, nodeFileSystem } from '@holdfast/durable';
import { ModelFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, onEveryDisk, put, text } from './support/disks.js';

const contentOf = (dir: Dir, name: string): string => {
  using file = dir.openFile(name);
  return Buffer.from(file.readAll({ maxBytes: 1000 })).toString();
};

onEveryDisk('file system', (disk, kind) => {
  it('creates a file once', () => {
    put(disk().dir, 'a', 'one');
    expect(errnoOf(() => disk().dir.createFile('a'))).toBe('EEXIST');
    expect(contentOf(disk().dir, 'a')).toBe('one');
  });

  it('refuses to create where a dangling symlink stands', () => {
    disk().dir.symlink('nowhere', 'a');
    expect(errnoOf(() => disk().dir.createFile('a'))).toBe('EEXIST');
    expect(disk().dir.lstat('nowhere')).toBeUndefined();
  });

  it('reads and writes at positions and fills holes with zeros', () => {
    using file = disk().dir.createFile('a');
    file.write(text('end'), 5);
    file.write(text('x'), 0);
    const buffer = new Uint8Array(20);
    expect(file.read(buffer, 0)).toBe(8);
    expect([...buffer.subarray(0, 8)]).toEqual([120, 0, 0, 0, 0, 101, 110, 100]);
    expect(file.read(buffer, 6)).toBe(2);
    expect(file.read(buffer, 8)).toBe(0);
    expect(file.read(buffer, 100)).toBe(0);
  });

  it('truncates in both directions', () => {
    using file = disk().dir.createFile('a');
    file.write(text('abcdef'), 0);
    file.truncate(2);
    file.truncate(4);
    expect([...file.readAll({ maxBytes: 10 })]).toEqual([97, 98, 0, 0]);
  });

  it('refuses to write through a handle opened for reading', () => {
    put(disk().dir, 'a', 'one');
    using file = disk().dir.openFile('a');
    expect(errnoOf(() => file.write(text('x'), 0))).toBe('EBADF');
    using writable = disk().dir.openFile('a', 'read-write');
    writable.write(text('X'), 0);
    expect(contentOf(disk().dir, 'a')).toBe('Xne');
  });

  it('keeps names apart that differ only in bytes that are no text', () => {
    const names = [
      [0xff],
      [0xfe],
      [0xc3, 0xa9],
      [0x65, 0xcc, 0x81],
      [0x0a, 0x20],
      [0x2d, 0x72, 0x66],
      [0x5c],
    ];
    for (const [index, bytes] of names.entries()) put(disk().dir, Uint8Array.from(bytes), String(index));
    const listed = disk()
      .dir.list()
      .map((name) => Buffer.from(name).toString('hex'))
      .sort();
    expect(listed).toEqual(names.map((bytes) => Buffer.from(bytes).toString('hex')).sort());
    for (const [index, bytes] of names.entries()) {
      using file = disk().dir.openFile(Uint8Array.from(bytes));
      expect(Buffer.from(file.readAll({ maxBytes: 9 })).toString()).toBe(String(index));
    }
  });

  it('takes names of 255 bytes and no longer ones', () => {
    put(disk().dir, 'n'.repeat(255), 'x');
    expect(disk().dir.lstat('n'.repeat(255))?.size).toBe(1);
    expect(errnoOf(() => disk().dir.createFile('n'.repeat(256)))).toBe('ENAMETOOLONG');
  });

  it.each([
    ['', 'empty'],
    ['.', 'dot'],
    ['..', 'dot'],
    ['a/b', 'slash'],
    ['/', 'slash'],
    ['a\0b', 'nul'],
  ] as const)('refuses %j as a name', (name, rule) => {
    const { dir } = disk();
    const attempts = [
      () => dir.openDir(name),
      () => dir.openFile(name),
      () => dir.createFile(name),
      () => dir.lstat(name),
      () => dir.readlink(name),
      () => dir.mkdir(name),
      () => dir.rmdir(name),
      () => dir.unlink(name),
      () => dir.symlink('target', name),
      () => dir.link('a', dir, name),
      () => dir.link(name, dir, 'a'),
      () => dir.rename('a', dir, name),
      () => dir.rename(name, dir, 'a'),
      () => dir.chmodAt(name, 0o600),
    ];
    put(dir, 'a', 'x');
    for (const attempt of attempts) {
      let thrown: unknown;
      try {
        attempt();
      } catch (error) {
        thrown = error;
      }
      expect(EntryNameError.is(thrown) && thrown.rule).toBe(rule);
    }
  });

  it('reports what is not there', () => {
    const { dir } = disk();
    expect(dir.lstat('none')).toBeUndefined();
    expect(errnoOf(() => dir.openFile('none'))).toBe('ENOENT');
    expect(errnoOf(() => dir.openDir('none'))).toBe('ENOENT');
    expect(errnoOf(() => dir.unlink('none'))).toBe('ENOENT');
    expect(errnoOf(() => dir.rmdir('none'))).toBe('ENOENT');
    expect(errnoOf(() => dir.readlink('none'))).toBe('ENOENT');
    expect(errnoOf(() => dir.rename('none', dir, 'b'))).toBe('ENOENT');
    expect(errnoOf(() => dir.link('none', dir, 'b'))).toBe('ENOENT');
    expect(errnoOf(() => dir.chmodAt('none', 0o600))).toBe('ENOENT');
  });

  it('never follows a symlink in the last component', () => {
    const { dir } = disk();
    dir.mkdir('real');
    put(dir, 'file', 'x');
    dir.symlink('real', 'to-directory');
    dir.symlink('file', 'to-file');
    expect(errnoOf(() => dir.openDir('to-directory'))).toMatch(/^(ENOTDIR|ELOOP)$/);
    expect(errnoOf(() => dir.openFile('to-file'))).toBe('ELOOP');
    expect(errnoOf(() => dir.openFile('to-file', 'read-write'))).toBe('ELOOP');
    expect(errnoOf(() => dir.chmodAt('to-file', 0o777))).toBe('ELOOP');
    expect(errnoOf(() => dir.chmodAt('file', 0o777, 'directory'))).toBe('ENOTDIR');
    dir.chmodAt('real', 0o750, 'directory');
    expect(dir.lstat('real')?.mode).toBe(0o750);
    expect(dir.lstat('file')?.mode).toBe(0o600);
    expect(dir.lstat('to-file')?.kind).toBe('symlink');
    expect(Buffer.from(dir.readlink('to-file')).toString()).toBe('file');
    dir.link('to-file', dir, 'second');
    expect(dir.lstat('second')?.kind).toBe('symlink');
    dir.unlink('to-directory');
    expect(dir.lstat('real')?.kind).toBe('directory');
  });

  it('keeps symlink targets as bytes', () => {
    const target = Uint8Array.of(0x2e, 0x2e, 0x2f, 0xff, 0x0a);
    disk().dir.symlink(target, 'link');
    expect([...disk().dir.readlink('link')]).toEqual([...target]);
    put(disk().dir, 'file', 'x');
    expect(errnoOf(() => disk().dir.readlink('file'))).toBe('EINVAL');
  });

  it('opens a root by absolute path, refusing a symlink however it is written', () => {
    const { dir, fileSystem, path } = disk();
    dir.mkdir('real');
    dir.symlink('real', 'link');
    Dir.openRoot(fileSystem, `${path}/real`).close();
    Dir.openRoot(fileSystem, `${path}/real//`).close();
    expect(errnoOf(() => Dir.openRoot(fileSystem, `${path}/link`))).toMatch(/^(ENOTDIR|ELOOP)$/);
    expect(errnoOf(() => Dir.openRoot(fileSystem, `${path}/link/`))).toMatch(/^(ENOTDIR|ELOOP)$/);
    expect(errnoOf(() => Dir.openRoot(fileSystem, `${path}/none`))).toBe('ENOENT');
    put(dir, 'file', 'x');
    expect(errnoOf(() => Dir.openRoot(fileSystem, `${path}/file`))).toBe('ENOTDIR');
    for (const wrong of ['relative', '', `${path}/link/.`, `${path}/real/..`, `${path}/a\0b`]) {
      expect(() => Dir.openRoot(fileSystem, wrong)).toThrow(TypeError);
    }
  });

  it('resolves every symlink of a path', () => {
    const { dir, fileSystem, path } = disk();
    dir.mkdir('real');
    dir.symlink('real', 'link');
    dir.symlink(`${path}/link`, 'absolute');
    using real = dir.openDir('real');
    put(real, 'file', 'x');
    expect(Buffer.from(fileSystem.canonicalPath(`${path}/absolute/file`)).toString()).toBe(
      `${path}/real/file`,
    );
    expect(errnoOf(() => fileSystem.canonicalPath(`${path}/none`))).toBe('ENOENT');
    expect(errnoOf(() => fileSystem.canonicalPath(`${path}/real/file/x`))).toBe('ENOTDIR');
    dir.symlink('loop', 'loop');
    expect(errnoOf(() => fileSystem.canonicalPath(`${path}/loop`))).toBe('ELOOP');
  });

  it('tells kinds, sizes, modes, link counts and identity', () => {
    const { dir } = disk();
    put(dir, 'a', 'one', 0o640);
    dir.chmodAt('a', 0o4751);
    dir.link('a', dir, 'b');
    const a = dir.lstat('a');
    expect(a).toMatchObject({ kind: 'file', size: 3, mode: 0o4751, nlink: 2 });
    expect(dir.lstat('b')?.ino).toBe(a?.ino);
    using file = dir.openFile('b');
    expect(file.stat().ino).toBe(a?.ino);
    dir.mkdir('d', 0o750);
    using child = dir.openDir('d');
    expect(child.stat()).toMatchObject({ kind: 'directory', mode: 0o750 });
    expect(child.stat().ino).toBe(dir.lstat('d')?.ino);
    child.chmod(0o711);
    expect(dir.lstat('d')?.mode).toBe(0o711);
    const before = file.stat().ctimeNs;
    dir.chmodAt('a', 0o600);
    expect(file.stat().ctimeNs).toBeGreaterThanOrEqual(before);
    expect(typeof file.stat().mtimeNs).toBe('bigint');
  });

  it('renames as the kernel does', () => {
    const { dir } = disk();
    put(dir, 'a', 'one');
    put(dir, 'b', 'two');
    dir.mkdir('empty');
    dir.mkdir('full');
    using full = dir.openDir('full');
    put(full, 'x', 'x');
    dir.mkdir('moved');
    expect(errnoOf(() => dir.rename('a', dir, 'empty'))).toBe('EISDIR');
    expect(errnoOf(() => dir.rename('moved', dir, 'a'))).toBe('ENOTDIR');
    expect(errnoOf(() => dir.rename('moved', dir, 'full'))).toMatch(/^(ENOTEMPTY|EEXIST)$/);
    expect(errnoOf(() => dir.rename('full', full, 'inside'))).toBe('EINVAL');
    dir.rename('moved', dir, 'empty');
    dir.rename('a', dir, 'b');
    expect(contentOf(dir, 'b')).toBe('one');
    dir.rename('b', full, 'y');
    expect(contentOf(full, 'y')).toBe('one');
    expect(dir.list().map(String).length).toBe(2);
    full.link('y', full, 'z');
    full.rename('y', full, 'z');
    expect(full.lstat('y')).toBeDefined();
  });

  it('removes directories only when empty and files only as files', () => {
    const { dir } = disk();
    dir.mkdir('d');
    put(dir, 'f', 'x');
    using child = dir.openDir('d');
    put(child, 'x', 'x');
    expect(errnoOf(() => dir.rmdir('d'))).toMatch(/^(ENOTEMPTY|EEXIST)$/);
    expect(errnoOf(() => dir.rmdir('f'))).toBe('ENOTDIR');
    expect(errnoOf(() => dir.unlink('d'))).toMatch(/^(EISDIR|EPERM)$/);
    expect(errnoOf(() => dir.mkdir('f'))).toBe('EEXIST');
    expect(errnoOf(() => dir.link('d', dir, 'e'))).toBe('EPERM');
    child.unlink('x');
    dir.rmdir('d');
    expect(dir.lstat('d')).toBeUndefined();
  });

  it('creates nothing in a directory that was removed', () => {
    const { dir } = disk();
    dir.mkdir('d');
    using child = dir.openDir('d');
    dir.rmdir('d');
    const expected = kind.name === 'guarded' ? 'ESTALE' : 'ENOENT';
    expect(errnoOf(() => child.createFile('x'))).toBe(expected);
    expect(errnoOf(() => child.mkdir('x'))).toBe(expected);
  });

  it('keeps an unlinked file readable for those who have it open', () => {
    put(disk().dir, 'a', 'one');
    using file = disk().dir.openFile('a');
    disk().dir.unlink('a');
    expect(Buffer.from(file.readAll({ maxBytes: 9 })).toString()).toBe('one');
    expect(file.stat().nlink).toBe(0);
  });

  it('copies content into an empty file and keeps the target mode', () => {
    const { dir } = disk();
    put(dir, 'from', 'content', 0o644);
    using from = dir.openFile('from');
    using to = dir.createFile('to', 0o600);
    expect(to.copyFrom(from)).toMatch(/^(copied|cloned)$/);
    expect(contentOf(dir, 'to')).toBe('content');
    expect(dir.lstat('to')?.mode).toBe(0o600);
  });

  it('syncs files and directories, blocking and not', async () => {
    using file = disk().dir.createFile('a');
    file.write(text('x'), 0);
    file.sync();
    file.sync('content');
    await file.syncLater();
    await file.syncLater('content');
    disk().dir.sync();
    await disk().dir.syncLater();
  });

  it('refuses handles after close and handles of another file system', () => {
    const { fileSystem, dir } = disk();
    const handle = fileSystem.createFile(dir.handle(), text('a'), 0o600);
    fileSystem.close(handle);
    fileSystem.close(handle);
    expect(errnoOf(() => fileSystem.fstat(handle))).toBe('EBADF');
    expect(errnoOf(() => fileSystem.write(handle, text('x'), 0))).toBe('EBADF');
    const other = kind.real ? new ModelFileSystem() : nodeFileSystem();
    const foreign = other.openRoot('/');
    expect(() => fileSystem.readdir(foreign)).toThrow(TypeError);
    other.close(foreign);
  });

  it('names mounts equally inside one and never by accident', () => {
    disk().dir.mkdir('d');
    using child = disk().dir.openDir('d');
    expect(child.mountId()).toBe(disk().dir.mountId());
    if (kind.name === 'guarded') expect(child.mountId()).toBeUndefined();
    else expect(child.mountId()).toBeDefined();
  });
});

describe('nodeFileSystem', () => {
  it('is anchored on Linux unless asked otherwise', () => {
    expect(nodeFileSystem().grade).toBe(process.platform === 'linux' ? 'anchored' : 'guarded');
    expect(nodeFileSystem({ grade: 'guarded' }).grade).toBe('guarded');
  });
});

describe('model options', () => {
  it('can be without hard links and with clones', () => {
    const fileSystem = new ModelFileSystem({ links: false, clones: true });
    using dir = Dir.openRoot(fileSystem, '/');
    put(dir, 'a', 'one');
    expect(errnoOf(() => dir.link('a', dir, 'b'))).toBe('EPERM');
    using from = dir.openFile('a');
    using to = dir.createFile('c');
    expect(to.copyFrom(from, 'clone-only')).toBe('cloned');
  });
});
