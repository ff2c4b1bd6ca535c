import { mkdirSync, renameSync, writeFileSync } from 'node:fs';

import {
  type DirHandle,
  EntryNameError,
  type FileSystem,
  hintWord,
  hintWords,
  lstatHint,
  type Stat,
  typeBits,
} from '@holdfast/durable';
import { expect, it } from 'vitest';

import { onEveryDisk, onRealDisks, put, text } from './support/disks.js';

type Hint = Pick<Stat, 'dev' | 'ino' | 'kind' | 'mode' | 'nlink' | 'size' | 'mtimeNs' | 'ctimeNs'>;

function hintOf(fileSystem: FileSystem, dir: DirHandle, name: Uint8Array): Hint | undefined {
  const words = new BigInt64Array(hintWords);
  if (!lstatHint(fileSystem, dir, name, words)) return undefined;
  const word = (at: keyof typeof hintWord): bigint => words[hintWord[at]] as bigint;
  const mode = Number(word('mode'));
  const type = Object.entries(typeBits).find(([, bits]) => bits === (mode & 0o170000));
  return {
    kind: type?.[0] as Hint['kind'],
    mode: mode & 0o7777,
    dev: word('dev'),
    ino: word('ino'),
    nlink: Number(word('nlink')),
    size: Number(word('size')),
    mtimeNs: word('mtimeNs'),
    ctimeNs: word('ctimeNs'),
  };
}

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
      const hint = hintOf(fileSystem, dir.handle(), text(name));
      const stat = dir.lstat(name);
      if (stat === undefined) expect(hint).toBeUndefined();
      else expect(stat).toMatchObject(hint as Hint);
    }
    expect(child.lstat(odd)).toMatchObject(hintOf(fileSystem, child.handle(), odd) as Hint);
    expect(hintOf(fileSystem, child.handle(), odd)?.size).toBe(2);
    expect(() => hintOf(fileSystem, child.handle(), text('../a'))).toThrow(EntryNameError);
    const root = fileSystem.openRoot('/');
    expect(hintOf(fileSystem, root, text(path.split('/')[1] as string))?.kind).toBe('directory');
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
    expect(hintOf(fileSystem, child.handle(), text('a'))).toBeUndefined();
    mkdirSync(`${path}/d`);
    writeFileSync(`${path}/d/a`, 'y');
    expect(hintOf(fileSystem, child.handle(), text('a'))?.ino).not.toBe(recorded?.ino);
  });
});
