import { mkdirSync, renameSync, writeFileSync } from 'node:fs';

import { EntryNameError, lstatHint } from '@holdfast/durable';
import { expect, it } from 'vitest';

import { onEveryDisk, onRealDisks, put, text } from './support/disks.js';

onEveryDisk('lstatHint', (disk) => {
  it('says what lstat says as long as nothing is moved', () => {
    const { dir, fileSystem, path } = disk();
    put(dir, 'a', 'x');
    dir.mkdir('d');
    dir.symlink('a', 'link');
    using child = dir.openDir('d');
    const odd = Uint8Array.of(0xff, 0x41);
    put(child, odd, 'yy');
    for (const name of ['a', 'd', 'link', 'none']) {
      expect(lstatHint(fileSystem, dir.handle(), text(name))).toEqual(dir.lstat(name));
    }
    expect(lstatHint(fileSystem, child.handle(), odd)).toEqual(child.lstat(odd));
    expect(lstatHint(fileSystem, child.handle(), odd)?.size).toBe(2);
    expect(() => lstatHint(fileSystem, child.handle(), text('../a'))).toThrow(EntryNameError);
    const root = fileSystem.openRoot('/');
    expect(lstatHint(fileSystem, root, text(path.split('/')[1] as string))?.kind).toBe('directory');
    fileSystem.close(root);
  });
});

onRealDisks('lstatHint after a move', (disk) => {
  it('gives no hint, or one that cannot be mistaken for the node that was there', () => {
    const { dir, fileSystem, path } = disk();
    dir.mkdir('d');
    using child = dir.openDir('d');
    put(child, 'a', 'x');
    const recorded = child.lstat('a');
    renameSync(`${path}/d`, `${path}/moved`);
    expect(lstatHint(fileSystem, child.handle(), text('a'))).toBeUndefined();
    mkdirSync(`${path}/d`);
    writeFileSync(`${path}/d/a`, 'y');
    expect(lstatHint(fileSystem, child.handle(), text('a'))?.ino).not.toBe(recorded?.ino);
  });
});
