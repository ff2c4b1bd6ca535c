import { utimesSync } from 'node:fs';
import { ManualClock } from '@holdfast/base/testing';
import {
  copyFileContent,
  Dir,
  ensureChildDirectory,
  ensureChildDirectorySync,
  ensureDirectory,
  ensureDirectorySync,
  parseTemporaryName,
  StagedFile,
  sweepTemporaries,
  sweepTemporariesSync,
  syncTree,
  syncTreeSync,
  temporaryName,
} from '@holdfast/durable';
import { ModelFileSystem, readTree, TracingFileSystem, writeTree } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { onEveryDisk, onRealDisks, put, text } from './support/disks.js';

onEveryDisk('ensureDirectory', (disk) => {
  it('makes what is missing, owner only, and opens what is there', async () => {
    const first = await ensureDirectory(disk().fileSystem, `${disk().path}/a/b/c`);
    put(first, 'x', '1');
    first.close();
    const again = ensureDirectorySync(disk().fileSystem, `${disk().path}/a/b/c/`, { mode: 0o755 });
    expect(again.lstat('x')?.size).toBe(1);
    again.close();
    const wider = await ensureDirectory(disk().fileSystem, `${disk().path}/a/d`, { mode: 0o750 });
    wider.close();
    expect(readTree(disk().fileSystem, disk().path)).toMatchObject({
      a: 'directory 700',
      'a/b': 'directory 700',
      'a/b/c': 'directory 700',
      'a/d': 'directory 750',
    });
  });

  it('syncs each level before it makes the next', async () => {
    const tracing = new TracingFileSystem(disk().fileSystem);
    (await ensureDirectory(tracing, `${disk().path}/a/b`)).close();
    const changes = tracing.changes(disk().path);
    expect(changes.slice(-4)).toEqual(['mkdir /a', 'sync ', 'mkdir /a/b', 'sync /a']);
    // Before them: the parent of the deepest one that was there.
    expect(changes).toHaveLength(5);
    tracing.reset();
    (await ensureDirectory(tracing, `${disk().path}/a/b`)).close();
    expect(tracing.changes(disk().path)).toEqual(['sync /a']);
  });

  it('resolves symlinks in what exists and refuses them in what it makes', async () => {
    writeTree(disk().fileSystem, disk().path, {
      'real/': null,
      link: { link: 'real' },
      dangling: { link: 'none' },
      file: 'x',
    });
    (await ensureDirectory(disk().fileSystem, `${disk().path}/link/a`)).close();
    expect(disk().dir.lstat('real')).toBeDefined();
    expect(readTree(disk().fileSystem, `${disk().path}/real`)).toEqual({ a: 'directory 700' });
    await expect(ensureDirectory(disk().fileSystem, `${disk().path}/dangling/a`)).rejects.toMatchObject({
      errno: expect.stringMatching(/^(ENOTDIR|ELOOP)$/) as string,
    });
    await expect(ensureDirectory(disk().fileSystem, `${disk().path}/file/a`)).rejects.toMatchObject({
      errno: 'ENOTDIR',
    });
    await expect(ensureDirectory(disk().fileSystem, `${disk().path}/file`)).rejects.toMatchObject({
      errno: 'ENOTDIR',
    });
    await expect(ensureDirectory(disk().fileSystem, 'relative')).rejects.toBeInstanceOf(TypeError);
  });

  it('opens the root of the file system', async () => {
    const dir = await ensureDirectory(disk().fileSystem, '/');
    expect(dir.stat().kind).toBe('directory');
    dir.close();
  });

  it('makes nothing when aborted before', async () => {
    const reason = new Error('enough');
    const options = { signal: AbortSignal.abort(reason) };
    await expect(ensureDirectory(disk().fileSystem, `${disk().path}/a`, options)).rejects.toBe(reason);
    await expect(ensureChildDirectory(disk().dir, 'a', options)).rejects.toBe(reason);
    expect(disk().dir.list()).toEqual([]);
  });

  it('makes a child, also when somebody else was faster', async () => {
    (await ensureChildDirectory(disk().dir, 'a')).close();
    ensureChildDirectorySync(disk().dir, 'a').close();
    put(disk().dir, 'file', 'x');
    await expect(ensureChildDirectory(disk().dir, 'file')).rejects.toMatchObject({ errno: 'ENOTDIR' });
  });
});

onEveryDisk('syncTree', (disk) => {
  it('syncs every file and directory once and the root last', async () => {
    const plan: Record<string, string | { link: string } | null> = { link: { link: 'f0' }, 'empty/': null };
    for (let index = 0; index < 40; index += 1) plan[`f${index}`] = 'x';
    for (let index = 0; index < 20; index += 1) plan[`d${index}/f`] = 'x';
    writeTree(disk().fileSystem, disk().path, plan);
    const expected = Object.keys(plan)
      .filter((path) => path !== 'link')
      .map((path) => `sync /${path.replace(/\/$/, '')}`)
      .concat(Array.from({ length: 20 }, (_, index) => `sync /d${index}`))
      .sort();
    for (const variant of ['async', 'sync'] as const) {
      const tracing = new TracingFileSystem(disk().fileSystem);
      using dir = Dir.openRoot(tracing, disk().path);
      if (variant === 'async') await syncTree(dir);
      else syncTreeSync(dir);
      const changes = tracing.changes(disk().path);
      expect(changes.at(-1)).toBe('sync ');
      expect(changes.slice(0, -1).sort()).toEqual(expected);
      expect(tracing.count('close')).toBe(tracing.count('openFile') + tracing.count('openDir'));
    }
  });

  it('stops at an abort and closes what it opened', async () => {
    writeTree(disk().fileSystem, disk().path, { a: 'x', b: 'x' });
    const reason = new Error('enough');
    await expect(syncTree(disk().dir, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('temporary names', () => {
  it('carry their operation', () => {
    const name = temporaryName('file', { operation: 'restore-7f' });
    expect(Buffer.from(name).toString()).toMatch(/^\.holdfast-tmp-restore-7f-[0-9a-f]{16}$/);
    expect(parseTemporaryName(name)).toEqual({ kind: 'file', operation: 'restore-7f' });
    const trash = temporaryName('trash', { operation: 'a' });
    expect(parseTemporaryName(trash)).toEqual({ kind: 'trash', operation: 'a' });
  });

  it('have an operation of the process when none is given', () => {
    const first = parseTemporaryName(temporaryName('file', {}));
    expect(first).toEqual(parseTemporaryName(temporaryName('file', {})));
    expect(temporaryName('file', {})).not.toEqual(temporaryName('file', {}));
  });

  it.each([
    '.holdfast-tmp-',
    '.holdfast-tmp-a',
    '.holdfast-tmp-a-xyz',
    '.holdfast-0123-1',
    'a',
    `.${'x'.repeat(200)}`,
  ])('are not mistaken for %s', (other) => {
    expect(parseTemporaryName(text(other))).toBeUndefined();
    expect(parseTemporaryName(text(`${other}\xff`))).toBeUndefined();
  });
});

onEveryDisk('sweepTemporaries', (disk, kind) => {
  const leave = (operation: string): string => {
    const name = Buffer.from(temporaryName('file', { operation })).toString();
    put(disk().dir, name, 'half');
    return name;
  };

  it('deletes what dead operations left and keeps the rest', async () => {
    const live = leave('live');
    leave('dead');
    const trash = Buffer.from(temporaryName('trash', { operation: 'dead' })).toString();
    writeTree(disk().fileSystem, disk().path, {
      [`${trash}/a/b`]: 'x',
      ordinary: 'x',
      '.holdfast-other': 'x',
    });
    const swept = await sweepTemporaries(disk().dir, { isLive: (operation) => operation === 'live' });
    expect(swept).toEqual({ removed: 2, kept: 1 });
    expect(Object.keys(readTree(disk().fileSystem, disk().path)).sort()).toEqual(
      ['.holdfast-other', live, 'ordinary'].sort(),
    );
  });

  it('goes by age when nobody knows the operation', () => {
    const old = leave('unknown');
    const seconds = Number((disk().dir.lstat(old)?.mtimeNs ?? 0n) / 1_000_000_000n);
    const soon = new ManualClock(seconds * 1000 + 3_599_000);
    expect(sweepTemporariesSync(disk().dir, { clock: soon })).toEqual({ removed: 0, kept: 1 });
    const late = new ManualClock(seconds * 1000 + 3_602_000);
    expect(sweepTemporariesSync(disk().dir, { clock: late })).toEqual({ removed: 1, kept: 0 });
    expect(disk().dir.list()).toEqual([]);
  });

  it('makes a writer fail whose file it takes, and nothing else', async () => {
    using staged = StagedFile.create(disk().dir, { operation: 'slow' });
    staged.append(text('x'));
    await sweepTemporaries(disk().dir, { isLive: () => false });
    await expect(staged.publish('a')).rejects.toMatchObject({ errno: 'ENOENT' });
    expect(disk().dir.list()).toEqual([]);
  });

  it('syncs once, and only when it deleted something', async () => {
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    await sweepTemporaries(dir, { isLive: () => false });
    expect(tracing.count('sync')).toBe(0);
    leave('dead');
    leave('dead');
    await sweepTemporaries(dir, { isLive: () => false });
    expect(tracing.count('sync')).toBe(1);
  });

  if (kind.real) {
    it('believes a file that claims to come from the future', () => {
      const name = leave('unknown');
      utimesSync(`${disk().path}/${name}`, 4_000_000_000, 4_000_000_000);
      expect(sweepTemporariesSync(disk().dir)).toEqual({ removed: 0, kept: 1 });
    });
  }
});

onEveryDisk('copyFileContent', (disk) => {
  it('copies in pieces, to the byte', async () => {
    const content = Uint8Array.from({ length: 2_500_000 }, (_, index) => (index * 7) % 251);
    content.fill(0, 1_000_000, 2_200_000);
    put(disk().dir, 'from', content);
    using from = disk().dir.openFile('from');
    using to = disk().dir.createFile('to');
    expect(await copyFileContent(from, to)).toBe('copied');
    expect(Buffer.from(to.readAll({ maxBytes: 3_000_000 })).equals(content)).toBe(true);
  });

  it('keeps zeros at the end', async () => {
    put(disk().dir, 'from', new Uint8Array(3_000_000));
    using from = disk().dir.openFile('from');
    using to = disk().dir.createFile('to');
    await copyFileContent(from, to);
    expect(to.stat().size).toBe(3_000_000);
  });

  it('refuses a copy where only a clone is wanted, and stops at an abort', async () => {
    put(disk().dir, 'from', 'x');
    using from = disk().dir.openFile('from');
    using to = disk().dir.createFile('to');
    await expect(copyFileContent(from, to, { how: 'clone-only' })).rejects.toMatchObject({
      code: 'DURABLE_FILE_SYSTEM',
    });
    const reason = new Error('enough');
    await expect(copyFileContent(from, to, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('clones where it can', async () => {
    using dir = Dir.openRoot(new ModelFileSystem({ clones: true }), '/');
    put(dir, 'from', 'x');
    using from = dir.openFile('from');
    using to = dir.createFile('to');
    expect(await copyFileContent(from, to)).toBe('cloned');
  });
});

onRealDisks('sparse files', (disk) => {
  it('stay sparse in both kinds of copy', async () => {
    using from = disk().dir.createFile('from');
    from.truncate(64 * 1024 * 1024);
    from.write(text('end'), 64 * 1024 * 1024 - 3);
    const allocated = async (name: string): Promise<number> => {
      const { statSync } = await import('node:fs');
      return statSync(`${disk().path}/${name}`).blocks * 512;
    };
    using first = disk().dir.createFile('first');
    first.copyFrom(from);
    using second = disk().dir.createFile('second');
    await copyFileContent(from, second);
    expect(first.stat().size).toBe(64 * 1024 * 1024);
    expect(second.stat().size).toBe(64 * 1024 * 1024);
    expect(await allocated('first')).toBeLessThan(4 * 1024 * 1024);
    expect(await allocated('second')).toBeLessThan(4 * 1024 * 1024);
  });
});
