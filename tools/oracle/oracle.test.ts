import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { compareTrees, listTree } from './oracle.mjs';

const script = fileURLToPath(new URL('oracle.mjs', import.meta.url));
const pythonScript = fileURLToPath(new URL('oracle.py', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

let directory = '';

beforeEach(() => {
  process.umask(0o022);
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-oracle-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A tree with every kind of node and name that an unprivileged process can make. */
function makeTree(root: string): void {
  mkdirSync(path.join(root, 'd', 'empty'), { recursive: true });
  chmodSync(path.join(root, 'd'), 0o750);
  writeFileSync(path.join(root, 'a.txt'), 'one');
  writeFileSync(path.join(root, 'nothing'), '');
  writeFileSync(path.join(root, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(path.join(root, 'd', '公共 "函数"\n.cpp'), 'x');
  writeFileSync(
    Buffer.concat([Buffer.from(`${root}/bad`), Buffer.of(0xff, 0xe2, 0x82), Buffer.from('.bin')]),
    'y',
  );
  writeFileSync(path.join(root, 'sparse'), 'head');
  truncateSync(path.join(root, 'sparse'), 700_000);
  linkSync(path.join(root, 'a.txt'), path.join(root, 'b.txt'));
  symlinkSync('missing', path.join(root, 'dangling'));
  symlinkSync(Buffer.concat([Buffer.from('bad'), Buffer.of(0xff)]), path.join(root, 'odd'));
  symlinkSync('d', path.join(root, 'to-directory'));
  execFileSync('mkfifo', [path.join(root, 'pipe')]);
}

describe('listTree', () => {
  test('describes every entry, sorted by the bytes of its path', () => {
    makeTree(directory);
    const rows = listTree(directory).map((entry) => [entry.path, entry.kind, entry.mode, entry.size ?? null]);
    expect(rows).toEqual([
      ['a.txt', 'file', '0644', 3],
      ['b.txt', 'file', '0644', 3],
      ['bad\ufffd\ufffd.bin', 'file', '0644', 1],
      ['d', 'directory', '0750', null],
      ['d/empty', 'directory', '0755', null],
      ['d/公共 "函数"\n.cpp', 'file', '0644', 1],
      ['dangling', 'symlink', '', null],
      ['nothing', 'file', '0644', 0],
      ['odd', 'symlink', '', null],
      ['pipe', 'fifo', '0644', null],
      ['run.sh', 'file', '0755', 10],
      ['sparse', 'file', '0644', 700_000],
      ['to-directory', 'symlink', '', null],
    ]);
    const hash = listTree(directory).find((entry) => entry.path === 'nothing')?.sha256;
    expect(hash).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  test('sees a listening socket', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path.join(directory, 's.sock'), resolve));
    try {
      expect(listTree(directory).map((entry) => entry.kind)).toEqual(['socket']);
    } finally {
      server.close();
    }
  });

  test('leaves out what it is told to', () => {
    makeTree(directory);
    const paths = listTree(directory, { ignore: ['d', 'a.txt'] }).map((entry) => entry.path);
    expect(paths).not.toContain('a.txt');
    expect(paths.filter((entry) => entry === 'd' || entry.startsWith('d/'))).toEqual([]);
    expect(paths).toContain('dangling');
  });

  test('throws when the tree cannot be read', () => {
    expect(() => listTree(path.join(directory, 'absent'))).toThrow(/ENOENT/);
  });
});

describe('compareTrees', () => {
  const changes: readonly (readonly [string, (root: string) => void, string])[] = [
    ['content of the same size', (root) => writeFileSync(path.join(root, 'a.txt'), 'two'), 'sha256'],
    ['size', (root) => writeFileSync(path.join(root, 'nothing'), '1'), 'size'],
    ['mode', (root) => chmodSync(path.join(root, 'run.sh'), 0o700), 'mode'],
    ['mode of a directory', (root) => chmodSync(path.join(root, 'd'), 0o700), 'mode'],
    ['set-id bit', (root) => chmodSync(path.join(root, 'run.sh'), 0o4755), 'mode'],
    ['missing entry', (root) => rmSync(path.join(root, 'd', 'empty'), { recursive: true }), 'only-in-a'],
    ['additional entry', (root) => writeFileSync(path.join(root, 'new'), ''), 'only-in-b'],
    [
      'link target',
      (root) => {
        rmSync(path.join(root, 'dangling'));
        symlinkSync('Missing', path.join(root, 'dangling'));
      },
      'targetHex',
    ],
    [
      'kind',
      (root) => {
        rmSync(path.join(root, 'nothing'));
        mkdirSync(path.join(root, 'nothing'));
      },
      'kind',
    ],
    [
      'name that differs in one invalid byte',
      (root) => {
        const name = (byte: number): Buffer =>
          Buffer.concat([Buffer.from(`${root}/bad`), Buffer.of(byte, 0xe2, 0x82), Buffer.from('.bin')]);
        renameSync(name(0xff), name(0xfe));
      },
      'only-in-a',
    ],
  ];

  test.each(changes)('finds a change of %s', (_name, change, what) => {
    const a = path.join(directory, 'a');
    const b = path.join(directory, 'b');
    mkdirSync(a);
    mkdirSync(b);
    makeTree(a);
    makeTree(b);
    expect(compareTrees(a, b)).toEqual([]);
    change(b);
    expect(compareTrees(a, b).map((difference) => difference.what)).toContain(what);
    expect(compareTrees(b, a).length).toBe(compareTrees(a, b).length);
  });

  test('with facts also sees a file that was written again', () => {
    makeTree(directory);
    const before = listTree(directory, { facts: true });
    writeFileSync(path.join(directory, 'run.sh'), '#!/bin/sh\n');
    const after = listTree(directory, { facts: true });
    expect(before).not.toEqual(after);
    expect(before.map(({ facts: _, ...rest }) => rest)).toEqual(after.map(({ facts: _, ...rest }) => rest));
  });
});

describe('command', () => {
  test('exits 0 for equal, 1 for different, 2 for wrong usage and for a missing tree', () => {
    makeTree(directory);
    const other = path.join(directory, 'd');
    const status = (...args: string[]): number | null =>
      spawnSync(process.execPath, [script, ...args]).status;
    expect(status('compare', directory, directory)).toBe(0);
    expect(status('compare', directory, other)).toBe(1);
    expect(status('compare', directory)).toBe(2);
    expect(status('list')).toBe(2);
    expect(status('list', path.join(directory, 'absent'))).toBe(2);
  });

  test('agrees with the judge in Python', ({ skip }) => {
    skip(!hasPython, 'python3 is missing');
    makeTree(directory);
    const node = execFileSync(process.execPath, [script, 'list', directory, '--facts'], { encoding: 'utf8' });
    const python = execFileSync('python3', [pythonScript, 'list', directory, '--facts'], {
      encoding: 'utf8',
    });
    expect(JSON.parse(python)).toEqual(JSON.parse(node));

    const args = ['compare', directory, path.join(directory, 'd')];
    const first = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
    const second = spawnSync('python3', [pythonScript, ...args], { encoding: 'utf8' });
    expect(second.status).toBe(1);
    expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout));
  });
});
