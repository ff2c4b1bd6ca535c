import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { nodeFileSystem } from '@holdfast/durable';
import { ArchiveEntryError, ArchiveLimitError, type WorkspaceStoreOptions } from '@holdfast/workspacestore';
import { canonicalOrder, generateTree, writeTree } from '@holdfast/workspacestore/testing';
import { pack } from 'tar-stream';
import { beforeEach, describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
import { block, end, file, pax, symlink, tar } from './support/tar.js';
import { temporaryDirectory } from './support/temporary.js';
import { walk } from './support/walk.js';

let top: string;

beforeEach(() => {
  top = temporaryDirectory();
});

async function* stream(bytes: Uint8Array, size = 700): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** What import makes of a tar file: the reason for refusing it, or its rows. */
async function outcome(bytes: Uint8Array, options: WorkspaceStoreOptions = {}, blobs: Blobs = memoryBlobs()) {
  return await withStore(blobs, options, async (store) => {
    try {
      const { ref } = await store.importTar(stream(bytes));
      return (await store.list(ref)).map((row) => `${row.kind} ${row.mode.toString(8)} ${row.path}`);
    } catch (error) {
      if (ArchiveEntryError.is(error)) return error.reason;
      if (ArchiveLimitError.is(error)) return `limit ${error.limit}`;
      throw error;
    }
  });
}

describe('export', () => {
  test('is complete, deterministic, and what GNU tar and Python unpack', async () => {
    const root = path.join(top, 'root');
    fs.mkdirSync(root);
    const nodes = canonicalOrder(generateTree(11, { nodes: 80, largestFile: 5 * 2 ** 20 })).filter(
      ({ path: name }) => Buffer.from(Buffer.from(name).toString()).equals(name),
    );
    const names = new Set(nodes.map((node) => Buffer.from(node.path).toString()));
    const whole = nodes.filter((node) => {
      const parent = path.dirname(Buffer.from(node.path).toString());
      return parent === '.' || names.has(parent);
    });
    writeTree(nodeFileSystem(), root, whole);
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      const read = async (): Promise<Buffer> => {
        const parts: Uint8Array[] = [];
        for await (const part of await store.exportTar(ref)) parts.push(part);
        return Buffer.concat(parts);
      };
      const bytes = await read();
      expect((await read()).equals(bytes)).toBe(true);
      fs.writeFileSync(path.join(top, 'x.tar'), bytes);
      for (const [name, command] of [
        ['gnu', ['tar', '-xpf', path.join(top, 'x.tar'), '-C']],
        [
          'python',
          [
            'python3',
            '-c',
            'import sys,tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])',
            path.join(top, 'x.tar'),
          ],
        ],
      ] as const) {
        const dest = path.join(top, name);
        fs.mkdirSync(dest);
        const { status, stderr } = spawnSync(command[0], [...command.slice(1), dest], { encoding: 'utf8' });
        expect([status, stderr.replace(/.*DeprecationWarning.*\n.*\n/, '')]).toEqual([0, '']);
        if (name === 'gnu') expect(walk(dest)).toEqual(walk(root));
      }
      const imported = await store.importTar(stream(bytes, 65_536));
      expect((await store.diff(ref, imported.ref)).changes).toEqual([]);
    });
  });

  test('refuses names that a tar file cannot hold, before the first byte', async () => {
    const root = path.join(top, 'root');
    fs.mkdirSync(root);
    fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), 'x');
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      const consume = async (): Promise<void> => {
        for await (const part of await store.exportTar(ref)) expect(part).toBe(undefined);
      };
      await expect(consume()).rejects.toSatisfy(
        (error) => ArchiveEntryError.is(error) && error.reason === 'name-not-utf8',
      );
    });
  });
});

describe('import accepts', () => {
  test('what GNU tar writes, with links, long names and empty directories', async () => {
    const root = path.join(top, 'root');
    fs.mkdirSync(path.join(root, 'd/empty'), { recursive: true });
    fs.writeFileSync(path.join(root, 'd/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    fs.linkSync(path.join(root, 'd/run.sh'), path.join(root, 'd/zhard'));
    fs.symlinkSync('../../outside', path.join(root, 'link'));
    fs.writeFileSync(path.join(root, `${'long'.repeat(40)}.txt`), 'long');
    fs.writeFileSync(path.join(root, '公.txt'), 'x'.repeat(5_000_000));
    for (const format of ['gnu', 'posix', 'ustar']) {
      const made = spawnSync('tar', ['--sort=name', `--format=${format}`, '-cf', '-', '-C', root, '.'], {
        maxBuffer: 2 ** 26,
      });
      if (format === 'ustar' && made.status !== 0) continue;
      await withStore(memoryBlobs(), async (store) => {
        const { ref, coverage } = await store.importTar(stream(made.stdout, 10_000));
        expect(coverage.omitted).toEqual([]);
        const dest = path.join(top, `from-${format}`);
        await store.materialize(ref, dest, { sync: false });
        expect(walk(dest)).toEqual(walk(root));
      });
    }
  });

  test('what tar-stream writes', async () => {
    const made = pack();
    made.entry({ name: 'a', mode: 0o640, mtime: new Date(5) }, 'content');
    made.entry({ name: 'd', type: 'directory', mode: 0o700 });
    made.finalize();
    const parts: Uint8Array[] = [];
    for await (const part of made as AsyncIterable<Uint8Array>) parts.push(part);
    expect(await outcome(Buffer.concat(parts))).toEqual(['file 640 a', 'directory 700 d']);
  });

  test('parents that come late or never, set-id bits, vendor keys', async () => {
    const bytes = tar(
      pax({ 'SCHILY.xattr.user.x': 'y', mtime: '1700000000.25' }),
      file('a/b/c', 'x', { mode: 0o4755 }),
      block({ name: 'a/b/', type: '5', mode: 0o700 }),
      end,
    );
    expect(await outcome(bytes)).toEqual(['directory 755 a', 'directory 700 a/b', 'file 755 a/b/c']);
    await withStore(memoryBlobs(), async (store) => {
      expect((await store.importTar(stream(bytes))).coverage.dropped).toEqual([
        { path: 'a/b/c', what: 'setuid' },
        { path: 'a/b/c', what: 'metadata' },
      ]);
    });
  });

  test('links that lead anywhere: they are data', async () => {
    for (const target of ['/etc/passwd', '../../..', 'self', 'missing/x']) {
      expect(await outcome(tar(symlink('l', target), end))).toEqual(['symlink 0 l']);
    }
  });
});

const longPax = (bytes: number): Uint8Array => pax({ comment: 'x'.repeat(bytes) });

describe('import refuses, as a whole', () => {
  test.each([
    ['3', 'a character device'],
    ['4', 'a block device'],
    ['6', 'a FIFO'],
  ])('type %s, %s, by its whole name, and says what to do', async (type, what) => {
    const name = `${'directory/'.repeat(20)}it`;
    const bytes = tar(file('a', ''), pax({ path: name }), block({ name: 'cut', type }), end);
    await withStore(memoryBlobs(), async (store) => {
      const error = await store.importTar(stream(bytes)).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ entry: name, reason: 'type-unsupported' });
      expect((error as Error).message).toContain(
        `${what}, which no snapshot holds: make the archive without it`,
      );
    });
  });

  test.each([
    // Header arithmetic.
    ['malformed', 'a size of -1', () => tar(block({ name: 'a', sizeField: '-0000000001' }), end)],
    [
      'malformed',
      'a negative binary size',
      () => tar(block({ name: 'a', sizeField: Buffer.alloc(12, 0xff) }), end),
    ],
    [
      'malformed',
      'a huge binary size',
      () => tar(block({ name: 'a', sizeField: Buffer.from([0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]) }), end),
    ],
    ['truncated', 'a body that is not there', () => tar(block({ name: 'a', sizeField: '77777777 \0\0\0' }))],
    ['malformed', 'a digit 9', () => tar(block({ name: 'a', sizeField: '00000000009\0' }), end)],
    ['malformed', 'letters in a size', () => tar(block({ name: 'a', sizeField: '0000000005z\0' }), end)],
    ['malformed', 'a blank size', () => tar(block({ name: 'a', sizeField: '            ' }), end)],
    ['malformed', 'a wrong checksum', () => tar(block({ name: 'a', checksum: '000001\0 ' }), end)],
    ['malformed', 'a signed checksum', () => tar(block({ name: 'ä', signed: true }), end)],
    ['malformed', 'a magic of something else', () => tar(block({ name: 'a', magic: 'ustar\u000099' }), end)],
    [
      'malformed',
      'a prefix in the GNU format',
      () => tar(block({ name: 'a', magic: 'ustar  \0', prefix: 'p' }), end),
    ],
    ['malformed', 'a mode with type bits', () => tar(block({ name: 'a', modeField: '0104755\0' }), end)],
    [
      'metadata-range',
      'a time out of range',
      () => tar(block({ name: 'a', timeField: Buffer.alloc(12, 0xff) }), end),
    ],
    ['malformed', 'bytes behind the NUL of a name', () => tar(block({ name: 'good\0../evil' }), end)],
    // Extended headers.
    ['malformed', 'two sizes', () => tar(pax({ size: '0' }), file('a', 'hidden entries'), end)],
    ['malformed', 'another pair of sizes', () => tar(pax({ size: '3' }), file('a', 'hidden'), end)],
    ...['+5', '0x5', '5abc', '1e3', ' 5', '05', '-1', '99999999999999999999'].map(
      (size) =>
        ['malformed', `a size of ${size}`, () => tar(pax({ size }), block({ name: 'a' }), end)] as const,
    ),
    ['malformed', 'a global path', () => tar(pax({ path: 'x' }, 'g'), file('a', ''), end)],
    ['malformed', 'a global size', () => tar(pax({ size: '5' }, 'g'), file('a', ''), end)],
    ['name-invalid', 'a path with ..', () => tar(pax({ path: '../x' }), file('a', ''), end)],
    ['name-invalid', 'an absolute path', () => tar(pax({ path: '/x' }), file('a', ''), end)],
    ['name-invalid', 'a path with NUL', () => tar(pax({ path: 'good\0/../x' }), file('a', ''), end)],
    ['name-invalid', 'an empty path', () => tar(pax({ path: '' }), file('a', ''), end)],
    [
      'name-not-utf8',
      'a path that is not UTF-8',
      () => tar(pax({ path: Buffer.from([0x61, 0xff]) }), file('a', ''), end),
    ],
    ['name-not-utf8', 'another character set', () => tar(pax({ hdrcharset: 'BINARY' }), file('a', ''), end)],
    [
      'malformed',
      'a key twice',
      () =>
        tar(
          pax([
            ['path', 'a'],
            ['path', 'b'],
          ]),
          file('a', ''),
          end,
        ),
    ],
    [
      'malformed',
      'two extended headers',
      () => tar(pax({ path: 'a' }), pax({ path: 'b' }), file('a', ''), end),
    ],
    ...[
      '99 path=a\n',
      '5 path=abc\n',
      '0 path=a\n',
      '011 path=ab\n',
      '-9 path=a\n',
      '9 path=a',
      'path=a\n',
      '11 path=a\n\n\n',
      '7 =abc\n',
    ].map(
      (text) =>
        [
          'malformed',
          `the record ${JSON.stringify(text)}`,
          () => tar(pax(Buffer.from(text)), file('a', ''), end),
        ] as const,
    ),
    ...['__proto__', 'constructor', 'toString'].map(
      (key) =>
        ['malformed', `the key ${key}`, () => tar(pax({ [`${key}`]: 'x' }), file('a', ''), end)] as const,
    ),
    ['limit header', 'an extended header of 70 KiB', () => tar(longPax(70_000), file('a', ''), end)],
    [
      'malformed',
      'a long name without NUL',
      () => tar(block({ name: '././@LongLink', type: 'L' }, 'abc'), file('a', ''), end),
    ],
    [
      'malformed',
      'an empty long name',
      () => tar(block({ name: '././@LongLink', type: 'L' }), file('a', ''), end),
    ],
    [
      'malformed',
      'a long name with NUL inside',
      () => tar(block({ name: '././@LongLink', type: 'L' }, 'a\0b\0'), file('a', ''), end),
    ],
    [
      'malformed',
      'two long names',
      () =>
        tar(
          block({ name: 'L', type: 'L' }, 'a\0'),
          block({ name: 'L', type: 'L' }, 'b\0'),
          file('a', ''),
          end,
        ),
    ],
    [
      'malformed',
      'a long link name for a file',
      () => tar(block({ name: 'K', type: 'K' }, 'a\0'), file('a', ''), end),
    ],
    ['malformed', 'a link path for a file', () => tar(pax({ linkpath: 'x' }), file('a', ''), end)],
    ['malformed', 'an extended header at the end', () => tar(pax({ path: 'a' }), end)],
    ['metadata-range', 'a time of nan', () => tar(pax({ mtime: 'nan' }), file('a', ''), end)],
    ['metadata-range', 'a time of 1e400', () => tar(pax({ mtime: '1e400' }), file('a', ''), end)],
    ['type-unsupported', 'a sparse file', () => tar(pax({ 'GNU.sparse.major': '1' }), file('a', ''), end)],
    ...['N', 'X', 'A', 'I', 'V', 'M', 'D', 'S', '3', '4', '6', '7', '\u0080', '?'].map(
      (type) =>
        [
          'type-unsupported',
          `type ${JSON.stringify(type)}`,
          () => tar(block({ name: 'a', type }), end),
        ] as const,
    ),
    // Structure.
    [
      'malformed',
      'a directory with content',
      () => tar(block({ name: 'd/', type: '5' }, file('hidden', 'x')), end),
    ],
    [
      'malformed',
      'a symlink with content',
      () => tar(block({ name: 'l', type: '2', link: 'x' }, 'content'), end),
    ],
    ['name-invalid', 'a file with a slash behind', () => tar(file('d/', 'x'), end)],
    [
      'malformed',
      'one zero block between entries',
      () => tar(file('a', ''), Buffer.alloc(512), file('b', ''), end),
    ],
    ['malformed', 'entries after the end', () => tar(file('a', ''), end, file('b', ''), end)],
    ['truncated', 'half an end marker', () => tar(file('a', ''), Buffer.alloc(512))],
    ['truncated', 'no end marker', () => tar(file('a', 'x'))],
    ['malformed', 'garbage behind', () => tar(file('a', ''), end, Buffer.from('x'.repeat(512)))],
    ['truncated', 'a stream cut in a header', () => tar(file('a', '')).subarray(0, 300)],
    ['truncated', 'a stream cut in a body', () => tar(file('a', 'x'.repeat(1000))).subarray(0, 900)],
    ['malformed', 'gzip', () => Buffer.from('1f8b0800'.padEnd(1024 * 2, '0'), 'hex')],
    ['truncated', 'nothing', () => new Uint8Array(0)],
    // Names.
    ...[
      '../x',
      'a/../../x',
      'a/..',
      '..',
      '.',
      '/x',
      '//x',
      'a//b',
      'a/./b',
      'a/.',
      './/x',
      '././x',
      '..\\x',
      'C:\\x',
      'C:x',
      'a\\..\\b',
    ].map((name) => ['name-invalid', `the name ${name}`, () => tar(file(name, ''), end)] as const),
    ['limit nameBytes', 'a name of 256 bytes', () => tar(pax({ path: 'n'.repeat(256) }), file('a', ''), end)],
    [
      'limit depth',
      '300 levels',
      () => tar(pax({ path: Array(300).fill('x').join('/') }), file('a', ''), end),
    ],
    [
      'limit pathBytes',
      'a path of 5,000 bytes',
      () => tar(pax({ path: Array(20).fill('n'.repeat(249)).join('/') }), file('a', ''), end),
    ],
    // Links and types.
    ['link-forbidden', 'a file below a symlink', () => tar(symlink('d', '/etc'), file('d/x', 'x'), end)],
    ['collision', 'a file where a symlink is', () => tar(symlink('a', '/etc/passwd'), file('a', 'x'), end)],
    ['collision', 'a symlink where a file is', () => tar(file('a', ''), symlink('a', 'b'), end)],
    [
      'link-forbidden',
      'a directory below a symlink',
      () => tar(symlink('a', 'b'), block({ name: 'a/x/', type: '5' }), end),
    ],
    ['collision', 'a file below a file', () => tar(file('a', ''), file('a/b', ''), end)],
    ['collision', 'a file where a directory is', () => tar(file('a/b', ''), file('a', ''), end)],
    [
      'collision',
      'the same directory twice',
      () => tar(block({ name: 'a/', type: '5' }), block({ name: 'a/', type: '5' }), end),
    ],
    ['link-forbidden', 'an empty link', () => tar(symlink('l', ''), end)],
    ...['missing', 'later', 'd', 'l', 'h'].map(
      (link) =>
        [
          'link-forbidden',
          `a hard link to ${link}`,
          () =>
            tar(
              block({ name: 'd/', type: '5' }),
              symlink('l', 'x'),
              block({ name: 'h', type: '1', link }),
              file('later', ''),
              end,
            ),
        ] as const,
    ),
    ...['/etc/passwd', '../x'].map(
      (link) =>
        [
          'name-invalid',
          `a hard link to ${link}`,
          () => tar(block({ name: 'h', type: '1', link }), end),
        ] as const,
    ),
  ] as readonly (readonly [string, string, () => Uint8Array])[])('%s: %s', async (expected, _what, make) => {
    const blobs = memoryBlobs();
    expect(await outcome(make(), {}, blobs)).toBe(expected);
    expect([...(await contents(blobs)).keys()].filter((key) => key.startsWith('snapshots/'))).toEqual([]);
  });

  test('too many entries and too many bytes', async () => {
    const many = tar(...Array.from({ length: 11 }, (_, i) => file(`f${i}`, 'ab')), end);
    expect(await outcome(many, { limits: { entries: 11, bytes: 22 } })).toHaveLength(11);
    expect(await outcome(many, { limits: { entries: 10 } })).toBe('limit entries');
    expect(await outcome(many, { limits: { bytes: 21 } })).toBe('limit bytes');
  });

  test('random damage: refused with a typed error, or read exactly as Python and GNU tar read it', async () => {
    const good = tar(
      pax({ path: 'dir/long-name', mtime: '1' }),
      file('x', 'content'.repeat(100)),
      block({ name: 'dir/', type: '5', mode: 0o755 }),
      symlink('l', 'x'),
      block({ name: 'h', type: '1', link: 'dir/long-name' }),
      end,
    );
    let state = 12345;
    const next = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >> 8) % below;
    };
    const accepted: string[][] = [];
    await withStore(memoryBlobs(), { limits: { bytes: 2 ** 20 } }, async (store) => {
      for (let run = 0; run < 2000; run += 1) {
        const bad = Buffer.from(good);
        for (let change = next(3); change >= 0; change -= 1) {
          // Half of the damage leaves the checksum of its header right, so that it gets past it.
          const header = 512 * next(bad.length / 512);
          const at = next(2) === 0 ? header + next(512) : next(bad.length);
          bad[at] = next(4) === 0 ? next(256) : 0x30 + next(10);
          if (next(2) === 0) repair(bad, header);
        }
        try {
          const { ref } = await store.importTar(
            stream(run % 9 === 0 ? bad.subarray(0, next(bad.length)) : bad, 999),
          );
          fs.writeFileSync(path.join(top, `${accepted.length}.tar`), bad);
          accepted.push(
            (await store.list(ref))
              .map((row) => `${row.kind} ${row.path} ${row.size ?? 0} ${row.target ?? ''}`)
              .sort(),
          );
        } catch (error) {
          expect(ArchiveEntryError.is(error) || ArchiveLimitError.is(error)).toBe(true);
        }
      }
    });
    expect(accepted.length).toBeGreaterThan(100);
    expect(accepted.length).toBeLessThan(1900);
    const python = spawnSync('python3', ['-c', pythonList, top, String(accepted.length)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    expect(python.stderr).toBe('');
    const seen = JSON.parse(python.stdout) as string[][];
    for (const [position, rows] of accepted.entries()) {
      const implied = rows.filter((row) => !(seen[position] as string[]).includes(row));
      expect(
        implied.every((row) => row.startsWith('directory ')),
        `${position}: ${implied.join()}`,
      ).toBe(true);
      expect((seen[position] as string[]).filter((row) => !rows.includes(row))).toEqual([]);
    }
    for (let position = 0; position < accepted.length; position += 10) {
      const { status } = spawnSync('tar', ['-tf', path.join(top, `${position}.tar`)]);
      expect(status).toBe(0);
    }
  });
});

/** Makes the checksum of a header right again. */
function repair(bytes: Buffer, at: number): void {
  if (bytes.subarray(at, at + 512).every((byte) => byte === 0)) return;
  bytes.write('        ', at + 148);
  const sum = bytes.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
}

const pythonList = `
import json, sys, tarfile
out = []
for i in range(int(sys.argv[2])):
    rows, files = [], {}
    for m in tarfile.open("%s/%d.tar" % (sys.argv[1], i)):
        name = m.name[2:] if m.name.startswith("./") else m.name
        name = name.rstrip("/").replace("\\\\", "\\\\\\\\")
        if m.isdir():
            if name not in ("", "."): rows.append("directory %s 0 " % name)
        elif m.issym(): rows.append("symlink %s 0 %s" % (name, m.linkname))
        elif m.islnk(): rows.append("file %s %d " % (name, files[m.linkname.lstrip("./")]))
        else:
            files[name] = m.size
            rows.append("file %s %d " % (name, m.size))
    out.append(rows)
print(json.dumps(out))`;
