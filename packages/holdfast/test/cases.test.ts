import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { command, holdfast, temporaryDirectory } from './run-command.js';
import { treeRows } from './tree-rows.js';

/*
 * Small trees that broke other products, driven through the real command. Each test names the kind of failure it stands
 * for; the packages test the variants.
 */

interface SnapshotJson {
  readonly ref: string;
  readonly coverage: { readonly omitted: readonly { readonly path: string; readonly reason: string }[] };
}

interface ReceiptJson {
  readonly created: number;
  readonly replaced: number;
  readonly chmodded: number;
  readonly deleted: number;
  readonly retyped: number;
  readonly exact: boolean;
  readonly omitted: readonly { readonly path: string; readonly reason: string }[];
}

let temporary: ReturnType<typeof temporaryDirectory>;
let root: string;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  root = join(temporary.path, 'ws');
  home = join(temporary.path, 'home');
  fs.mkdirSync(root);
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

const write = (path: string, text: string, mode = 0o644): void => {
  fs.mkdirSync(join(root, path, '..'), { recursive: true });
  fs.writeFileSync(join(root, path), text, { mode });
};
const read = (path: string): string => fs.readFileSync(join(root, path), 'utf8');
const snapshot = async (...options: string[]): Promise<SnapshotJson> =>
  (await holdfast(['snapshot', root, '--home', home, '--json', ...options])).json();
const restore = async (ref: string, ...options: string[]): Promise<ReceiptJson> =>
  (await holdfast(['restore', ref, root, '--home', home, '--json', '--yes', ...options])).json();

describe('what is printed can be used as it is', () => {
  it('a ref alone on standard output, and what was left out on standard error', async () => {
    write('a', '1');
    execFileSync('mkfifo', [join(root, 'fifo')]);
    fs.chmodSync(root, 0o1755);
    const taken = await holdfast(['snapshot', root, '--home', home]);
    expect(taken.stdout.toString()).toMatch(/^v1:sha256:[0-9a-f]{64}\n$/);
    expect(taken.stderr).toContain('not captured (special): fifo\n');
    expect(taken.stderr).toContain('metadata not captured (sticky): .\n');
    const tar = await holdfast(['export', taken.stdout.toString().trim(), '--home', home]);
    const imported = await holdfast(['import', '--home', home], { input: tar.stdout });
    expect(imported.stdout.toString()).toMatch(/^v1:sha256:[0-9a-f]{64}\n$/);
    expect(imported.stderr).toContain('1 entry, ');
    const place = join(temporary.path, 'copy');
    const built = await holdfast(['materialize', taken.stdout.toString().trim(), place, '--home', home]);
    expect(built.stdout.toString()).toBe(`${place}\n`);
  });

  it('a command that undoes the restore: in the same home, of any name, and all of it', async () => {
    home = join(temporary.path, "a home's");
    fs.renameSync(root, join(temporary.path, 'some root'));
    root = join(temporary.path, 'some root');
    write('made/file', '1');
    fs.mkdirSync(join(root, 'made/empty'));
    fs.symlinkSync('nowhere', join(root, 'link'));
    const { ref } = await snapshot();
    fs.rmSync(join(root, 'made'), { recursive: true });
    fs.unlinkSync(join(root, 'link'));
    write('other', '2');
    const before = treeRows(root);
    const restored = await holdfast(['restore', ref, root, '--home', home, '--yes']);
    const [, undo = ''] = / to undo: holdfast (.*)\n/.exec(restored.stdout.toString()) ?? [];
    execFileSync('sh', ['-c', `"$0" "$1" ${undo} --yes`, process.execPath, command]);
    expect(treeRows(root)).toEqual(before);
  });
});

describe('a failed capture must not mint an id', () => {
  it('captures an empty nested repository with the new content beside it', async () => {
    write('file.txt', 'v1');
    const first = await snapshot();
    write('file.txt', 'v2');
    execFileSync('git', ['init', '-q', join(root, 'sub')]);
    const second = await snapshot();
    expect(second.ref).not.toBe(first.ref);
    const shown = await holdfast(['cat', second.ref, 'file.txt', '--home', home]);
    expect(shown.stdout.toString()).toBe('v2');
    const rows: { path: string }[] = (await holdfast(['ls', second.ref, '--home', home, '--json'])).json();
    expect(rows.map((row) => row.path)).toEqual(
      expect.arrayContaining(['file.txt', 'sub', 'sub/.git', 'sub/.git/HEAD']),
    );
  });

  it('captures a directory that became a link to its new name', async () => {
    write('skills/S.md', 'v1');
    write('b.txt', 'v1');
    const first = await snapshot();
    fs.renameSync(join(root, 'skills'), join(root, 'canonical'));
    fs.symlinkSync('canonical', join(root, 'skills'));
    write('b.txt', 'v2');
    const second = await snapshot();
    const rows: { path: string; kind: string; target?: string }[] = (
      await holdfast(['ls', second.ref, '--home', home, '--json'])
    ).json();
    expect(rows).toContainEqual(
      expect.objectContaining({ path: 'skills', kind: 'symlink', target: 'canonical' }),
    );
    expect((await holdfast(['cat', second.ref, 'b.txt', '--home', home])).stdout.toString()).toBe('v2');
    await restore(first.ref, '--prune', 'exact');
    expect(fs.lstatSync(join(root, 'skills')).isDirectory()).toBe(true);
    expect(read('skills/S.md')).toBe('v1');
    expect(read('b.txt')).toBe('v1');
    expect(fs.existsSync(join(root, 'canonical'))).toBe(false);
  });
});

describe('names are bytes', () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  const names: readonly Buffer[] = [
    bytes('公共函数.cpp'),
    bytes('a"b.txt'),
    bytes('new\nline.txt'),
    bytes(' lead.txt '),
    bytes('-rf'),
    Buffer.concat([bytes('bad'), Buffer.from([0xff]), bytes('.bin')]),
    bytes('é.txt'.normalize('NFC')),
    bytes('é.txt'.normalize('NFD')),
    bytes('Logo.png'),
    bytes('logo.png'),
    bytes('back\\slash'),
    bytes('esc\u001b[31m'),
    bytes('n'.repeat(255)),
  ];
  const deep = Array.from({ length: 10 }, (_, level) => `${level}`.padEnd(109, 'd')).join('/');

  it('round-trips every legal name exactly', async () => {
    for (const [index, name] of names.entries()) {
      fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), String(index % 10));
    }
    write(`${deep}/x`, 'x');
    const before = treeRows(root);
    const { ref } = await snapshot();
    const copy = join(temporary.path, 'copy');
    await holdfast(['materialize', ref, copy, '--home', home]);
    expect(treeRows(copy)).toEqual(before);

    fs.rmSync(root, { recursive: true });
    fs.mkdirSync(root);
    await restore(ref);
    expect(treeRows(root)).toEqual(before);
    const listing = await holdfast(['ls', ref, '--home', home]);
    expect(listing.status).toBe(0);
    // One line per entry and no control byte: a hostile name can neither forge a line nor drive the terminal.
    expect(listing.stdout.toString().trimEnd().split('\n')).toHaveLength(before.length);
    expect(listing.stdout.includes(0x1b)).toBe(false);
    const file = await holdfast(['cat', ref, 'bad\\xFF.bin', '--home', home]);
    expect(file.stdout.toString()).toBe('5');
  });
});

describe('nodes that are not plain files', () => {
  it('captures at once, keeps links verbatim, lists what it left out, and restores around it', async () => {
    write('a.txt', 'hello');
    fs.linkSync(join(root, 'a.txt'), join(root, 'b.txt'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 's.sock'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      fs.symlinkSync('missing', join(root, 'dangling'));
      fs.symlinkSync(join(root, 'a.txt'), join(root, 'abs'));
      fs.mkdirSync(join(root, 'venv/bin'), { recursive: true });
      fs.symlinkSync('/usr/bin/python3', join(root, 'venv/bin/python'));
      fs.symlinkSync('loop', join(root, 'loop'));
      write('locked', 'secret');
      fs.chmodSync(join(root, 'locked'), 0o000);

      const { ref, coverage } = await snapshot();
      expect(coverage.omitted).toEqual(
        expect.arrayContaining([
          { path: 'pipe', reason: 'special' },
          { path: 's.sock', reason: 'special' },
        ]),
      );
      for (const [path, target] of [
        ['dangling', 'missing'],
        ['abs', join(root, 'a.txt')],
        ['loop', 'loop'],
        ['venv/bin/python', '/usr/bin/python3'],
      ] as const) {
        const [row]: { target: string }[] = (
          await holdfast(['ls', ref, path, '--home', home, '--json'])
        ).json();
        expect(row?.target).toBe(target);
      }
      fs.unlinkSync(join(root, 'a.txt'));
      execFileSync('mkfifo', [join(root, 'a.txt')]);
      const receipt = await restore(ref);
      expect(read('a.txt')).toBe('hello');
      expect(fs.lstatSync(join(root, 'pipe')).isFIFO()).toBe(true);
      expect(fs.lstatSync(join(root, 's.sock')).isSocket()).toBe(true);
      expect(receipt.retyped).toBe(1);
      expect(receipt.omitted.map(({ path }) => path)).toEqual(expect.arrayContaining(['pipe', 's.sock']));
    } finally {
      server.close();
    }
  });

  it.skipIf(process.getuid?.() !== 0)(
    'an unprivileged capture fails on an unreadable file, or omits it when asked',
    async () => {
      write('a.txt', 'hello');
      write('locked', 'secret');
      fs.chmodSync(join(root, 'locked'), 0o000);
      fs.chmodSync(temporary.path, 0o755);
      fs.mkdirSync(home);
      fs.chownSync(home, 65534, 65534);
      for (const path of ['', 'a.txt']) fs.chownSync(join(root, path), 65534, 65534);
      const refused = await holdfast(['snapshot', root, '--home', home, '--json'], { uid: 65534 });
      expect(refused.status).toBe(1);
      expect(refused.stdout.toString()).toBe('');
      expect(refused.error()).toMatchObject({ code: expect.stringMatching(/^WORKSPACE_/) as string });
      expect(refused.stderr).toContain('locked');
      const omitted: SnapshotJson = (
        await holdfast(['snapshot', root, '--home', home, '--json', '--on-unreadable', 'omit'], {
          uid: 65534,
        })
      ).json();
      expect(omitted.coverage.omitted).toEqual([{ path: 'locked', reason: 'unreadable' }]);
    },
  );
});

describe('a planted link cannot redirect a restore', () => {
  it('replaces a directory that became a link out of the root, and leaves the outside alone', async () => {
    write('cfg/f.txt', 'good');
    const outside = join(temporary.path, 'outside');
    fs.mkdirSync(outside);
    fs.writeFileSync(join(outside, 'f.txt'), 'host');
    const { ref } = await snapshot();
    fs.rmSync(join(root, 'cfg'), { recursive: true });
    fs.symlinkSync('../outside', join(root, 'cfg'));
    await restore(ref);
    expect(fs.readFileSync(join(outside, 'f.txt'), 'utf8')).toBe('host');
    expect(fs.lstatSync(join(root, 'cfg')).isDirectory()).toBe(true);
    expect(read('cfg/f.txt')).toBe('good');
    expect(fs.readdirSync(outside)).toEqual(['f.txt']);
  });
});

describe('only what differs is written', () => {
  it('keeps inode, mtime and ctime of everything else', async () => {
    const old = new Date('2020-01-01T00:00:00.123Z');
    for (let index = 0; index < 1000; index += 1)
      write(`files/${index % 10}/f${index}.txt`, `content ${index}`);
    write('run.sh', '#!/bin/sh\n', 0o755);
    write('secret', 's', 0o600);
    write('ro', 'r', 0o444);
    fs.mkdirSync(join(root, 'd'), { mode: 0o700 });
    fs.mkdirSync(join(root, 'e'));
    fs.symlinkSync('run.sh', join(root, 'l'));
    for (const row of treeRows(root)) if (row.kind === 'file') fs.utimesSync(join(root, row.path), old, old);
    fs.chmodSync(join(root, 'run.sh'), 0o755);
    const { ref } = await snapshot();
    const before = treeRows(root);

    write('files/7/f7.txt', 'changed!!');
    fs.chmodSync(join(root, 'run.sh'), 0o644);
    const touched = new Set(['files/7/f7.txt', 'run.sh']);
    const stamps = stampsOf(
      root,
      before.map((row) => row.path),
    );
    const receipt = await restore(ref);
    expect(receipt).toMatchObject({
      created: 0,
      replaced: 1,
      chmodded: 1,
      deleted: 0,
      retyped: 0,
      exact: true,
    });
    expect(treeRows(root)).toEqual(before);
    const after = stampsOf(
      root,
      before.map((row) => row.path),
    );
    for (const { path } of before) {
      if (touched.has(path) || path === 'files/7') continue;
      expect(after.get(path), path).toBe(stamps.get(path));
    }
    // Only the mode of run.sh was to change: its inode and its mtime stay.
    expect(after.get('run.sh')?.split(' ').slice(0, 2)).toEqual(stamps.get('run.sh')?.split(' ').slice(0, 2));
    expect(after.get('files/7/f7.txt')).not.toBe(stamps.get('files/7/f7.txt'));
  });
});

describe('a damaged copy of what is about to be overwritten', () => {
  it('keeps a restore from removing the last good one', async () => {
    write('a', `first ${'x'.repeat(5000)}`);
    await snapshot();
    const archives = filesBelow(join(home, 'blobs')).filter((file) => file.includes('+archives'));
    write('a', 'second');
    const { ref: second } = await snapshot();
    write('a', `first ${'x'.repeat(5000)}`);
    for (const file of archives) {
      // An archive is a tar: `meta` first, then the frames of file content. One bit in the middle of the first frame.
      const bytes = fs.readFileSync(file);
      const sizeAt = (header: number): number =>
        Number.parseInt(bytes.toString('latin1', header + 124, header + 135), 8);
      const frame = 512 + Math.ceil(sizeAt(0) / 512) * 512;
      const middle = frame + 512 + Math.floor(sizeAt(frame) / 2);
      bytes[middle] = (bytes[middle] as number) ^ 1;
      fs.chmodSync(file, 0o600);
      fs.writeFileSync(file, bytes);
    }
    const before = treeRows(root);
    const refused = await holdfast(['restore', second, root, '--home', home, '--json']);
    expect(refused.status).toBe(1);
    expect(refused.error()).toMatchObject({ code: 'RESTORE_FAILED', kind: 'safety-failed' });
    expect(treeRows(root)).toEqual(before);
    await restore(second, '--no-safety');
    expect(read('a')).toBe('second');
  });
});

describe('a restore that leaves out what the snapshot has', () => {
  it('says so by its exit status', async () => {
    write('small', '1');
    write('big', 'x'.repeat(3000));
    const { ref } = await snapshot();
    write('small', '2');
    write('big', 'y'.repeat(3000));
    const partial = await holdfast(['restore', ref, root, '--home', home, '--json', '--max-file-size', '1k']);
    expect(partial.status).toBe(1);
    const receipt = JSON.parse(partial.stdout.toString()) as ReceiptJson;
    expect(receipt.omitted).toContainEqual({ path: 'big', reason: 'limit' });
    expect([read('small'), read('big')]).toEqual(['1', 'y'.repeat(3000)]);
    expect((await restore(ref)).exact).toBe(true);
  });

  it('names what the snapshot never held, and what an undo would not bring back', async () => {
    write('small', '1');
    write('big', 'x'.repeat(3000));
    write('lost', 'z'.repeat(3000));
    const { ref } = await snapshot('--max-file-size', '1k');
    const full = await snapshot();
    fs.rmSync(join(root, 'lost'));
    write('small', '2');
    const shown = await holdfast(['restore', ref, root, '--home', home, '--yes', '--max-file-size', '1k']);
    expect(shown.status).toBe(0);
    expect(shown.stdout.toString()).toMatch(/cannot be brought back .*: lost\n/);
    write('big', 'y'.repeat(3000));
    const forced = ['--max-file-size', '1k', '--force', 'big'];
    const words = ['restore', full.ref, root, '--home', home, '--yes', ...forced];
    const text = (await holdfast(words)).stdout.toString();
    expect(text).toMatch(/note: the safety checkpoint does not hold .*\n {4}big\n/);
    expect(read('big')).toBe('x'.repeat(3000));
  });
});

describe('directories of a person that have the names of scratch', () => {
  it('are neither moved nor cleaned, and do not keep a snapshot from being taken', async () => {
    write('file', 'one');
    fs.writeFileSync(join(temporary.path, '.ws.holdfast'), 'mine');
    write('.holdfast-scratch/notes/file', 'mine');
    fs.mkdirSync(join(root, '.holdfast-scratch/empty'));
    const before = treeRows(root);
    const { coverage } = await snapshot();
    expect(treeRows(root)).toEqual(before);
    expect(coverage.omitted).toEqual([{ path: '.holdfast-scratch', reason: 'reserved' }]);
    expect((await holdfast(['recover', root, '--home', home])).status).toBe(0);
    expect(treeRows(root)).toEqual(before);
    expect(fs.readFileSync(join(temporary.path, '.ws.holdfast'), 'utf8')).toBe('mine');
  });
});

describe('arguments that must be refused', () => {
  it('refuses missing, linked, non-directory and unreadable roots, and a home inside the root; nothing is touched', async () => {
    write('file', 'x');
    fs.symlinkSync('ws', join(temporary.path, 'link'));
    for (const [argument, kind] of [
      [join(temporary.path, 'absent'), 'missing'],
      [join(temporary.path, 'link'), 'symlink'],
      [join(root, 'file'), 'not-directory'],
    ] as const) {
      const refused = await holdfast(['snapshot', argument, '--home', home, '--json']);
      expect(refused.status).toBe(1);
      expect(refused.error()).toMatchObject({ code: 'CLI_ROOT', kind });
    }
    const inside = await holdfast(['snapshot', root, '--home', join(root, 'home'), '--json']);
    expect(inside.error()).toMatchObject({ code: 'CLI_ROOT', kind: 'contains-home' });
    fs.mkdirSync(join(home, 'roots/mine'), { recursive: true });
    for (const place of ['', 'roots', 'roots/mine']) {
      const within = await holdfast(['snapshot', join(home, place), '--home', home, '--json']);
      expect(within.error()).toMatchObject({ code: 'CLI_ROOT' });
    }
    expect(fs.readdirSync(root)).toEqual(['file']);
  });

  it('refuses unknown and malformed refs and a restore nobody confirmed; the tree is unchanged', async () => {
    write('file', 'x');
    const { ref } = await snapshot();
    write('file', 'y');
    const unknown = `v1:sha256:${'0'.repeat(64)}`;
    expect((await holdfast(['restore', unknown, root, '--home', home, '--json'])).error()).toMatchObject({
      code: 'WORKSPACE_REF_NOT_FOUND',
    });
    expect((await holdfast(['ls', 'not-a-ref', '--home', home, '--json'])).error()).toMatchObject({
      code: 'WORKSPACE_INVALID_REF',
    });
    const unasked = await holdfast(['restore', ref, root, '--home', home]);
    expect(unasked.status).toBe(1);
    expect(unasked.stderr).toContain('CLI_CONFIRMATION');
    const dry = await holdfast(['restore', ref, root, '--home', home, '--dry-run', '--json']);
    expect(dry.status).toBe(0);
    expect(JSON.parse(dry.stdout.toString())).toMatchObject({
      ref,
      replace: [expect.objectContaining({ path: 'file' })],
    });
    expect(read('file')).toBe('y');
  });

  it('accepts a unique prefix of a ref', async () => {
    write('file', 'x');
    const { ref } = await snapshot();
    const rows = (
      await holdfast(['ls', ref.slice('v1:sha256:'.length).slice(0, 12), '--home', home, '--json'])
    ).json();
    expect(rows).toHaveLength(1);
  });
});

const mayMount = process.platform === 'linux' && process.getuid?.() === 0 && canMount();

describe.runIf(mayMount)('a root that is a mount point (left out without the privilege to mount)', () => {
  it('is refused before anything is touched, and restored with scratch inside it when asked', async () => {
    execFileSync('mount', ['-t', 'tmpfs', 'holdfast-test', root]);
    try {
      write('file', 'one');
      const before = treeRows(root);
      const { ref } = await snapshot();
      write('file', 'two');
      const refused = await holdfast(['restore', ref, root, '--home', home, '--json']);
      expect(refused.status).toBe(1);
      expect(refused.error()).toMatchObject({ code: 'RESTORE_SCRATCH_UNAVAILABLE' });
      expect(refused.stderr).toContain('inside');
      expect(read('file')).toBe('two');
      await restore(ref, '--scratch', 'inside');
      expect(treeRows(root)).toEqual(before);
    } finally {
      execFileSync('umount', [root]);
    }
  });
});

describe('an interrupted command', () => {
  it('stops cleanly with 130 and leaves no ref', async () => {
    for (let index = 0; index < 3000; index += 1) write(`many/${index}`, String(index).repeat(500));
    const bin = new URL('../bin/holdfast.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [bin, 'snapshot', root, '--home', home, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    // The home appears once the work has begun: no clock is needed to hit the middle of it.
    const watcher = fs.watch(temporary.path, () => {
      if (fs.existsSync(home)) child.kill('SIGINT');
    });
    const status = await new Promise((resolve) =>
      child.once('close', (code, signal) => resolve(code ?? signal)),
    );
    watcher.close();
    expect([130, 'SIGINT', 0]).toContain(status);
    if (status === 130) expect(Buffer.concat(output).toString()).toBe('');
    expect((await snapshot()).ref).toMatch(/^v1:sha256:[0-9a-f]{64}$/);
  });
});

function filesBelow(directory: string): string[] {
  return fs
    .readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function stampsOf(directory: string, paths: readonly string[]): Map<string, string> {
  return new Map(
    paths.map((path) => {
      const stat = fs.lstatSync(join(directory, path), { bigint: true });
      return [path, `${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs}`] as const;
    }),
  );
}

/** Mounting needs more than being root: a container may forbid it. */
function canMount(): boolean {
  const place = temporaryDirectory();
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'holdfast-probe', place.path], { stdio: 'ignore' });
    execFileSync('umount', [place.path]);
    return true;
  } catch {
    return false;
  } finally {
    place[Symbol.dispose]();
  }
}
