import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { chdir, cwd } from 'node:process';

import { compareBytes } from '@holdfast/base';
import {
  Dir,
  type FileSystemError,
  removeTree,
  removeTreeSync,
  sweepTemporaries,
  type WalkEntry,
  walkTree,
  walkTreeSync,
} from '@holdfast/durable';
import {
  FaultFileSystem,
  ModelFileSystem,
  readTree,
  TracingFileSystem,
  writeTree,
} from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, onEveryDisk, onRealDisks, put, text } from './support/disks.js';

const pathText = (entry: WalkEntry): string => Buffer.from(entry.path()).toString();

onEveryDisk('walkTree', (disk) => {
  const plant = (): void => {
    writeTree(disk().fileSystem, disk().path, {
      'b/x': '1',
      'b/c/y': '22',
      'a/': null,
      link: { link: 'b' },
      z: '333',
    });
  };

  it('meets every node once, parents first, and follows no symlink', async () => {
    plant();
    const seen: string[] = [];
    const left: string[] = [];
    await walkTree(
      disk().dir,
      {
        visit: (entry) => {
          seen.push(`${entry.depth} ${entry.stat.kind} ${pathText(entry)}`);
          return undefined;
        },
        leave: (entry) => left.push(pathText(entry)),
      },
      { sorted: true },
    );
    expect(seen).toEqual([
      '0 directory a',
      '0 directory b',
      '1 directory b/c',
      '2 file b/c/y',
      '1 file b/x',
      '0 symlink link',
      '0 file z',
    ]);
    expect(left).toEqual(['a', 'b/c', 'b']);
  });

  it('leaves out what it is told to skip', () => {
    plant();
    const seen: string[] = [];
    walkTreeSync(disk().dir, {
      visit: (entry) => {
        seen.push(pathText(entry));
        return pathText(entry) === 'b' ? 'skip' : undefined;
      },
    });
    expect(seen.sort()).toEqual(['a', 'b', 'link', 'z']);
  });

  it('sorts by unsigned bytes when asked', () => {
    for (const name of [[0xff], [0x41], [0x41, 0x00 + 1], [0x80], [0x7f]])
      put(disk().dir, Uint8Array.from(name), 'x');
    const seen: Uint8Array[] = [];
    walkTreeSync(disk().dir, { visit: ({ name }) => void seen.push(name) }, { sorted: true });
    expect(seen).toEqual([...seen].sort(compareBytes));
    expect(seen).toHaveLength(5);
  });

  it('gives the holding directory, open during the call', () => {
    plant();
    const contents: string[] = [];
    walkTreeSync(disk().dir, {
      visit: ({ dir, name, stat }) => {
        if (stat.kind !== 'file') return undefined;
        using file = dir.openFile(name);
        contents.push(Buffer.from(file.readAll({ maxBytes: 9 })).toString());
        return undefined;
      },
    });
    expect(contents.sort()).toEqual(['1', '22', '333']);
  });

  it.each([2, 3, 5])('needs at most %i open directories, whatever the depth', (maxOpen) => {
    const path = Array.from({ length: 30 }, (_, index) => `d${index}`).join('/');
    writeTree(disk().fileSystem, disk().path, { [`${path}/deepest`]: 'x' });
    for (let depth = 1; depth <= 30; depth += 1) {
      const up = path.split('/').slice(0, depth).join('/');
      writeTree(disk().fileSystem, disk().path, { [`${up}/z-file`]: String(depth), [`${up}/z/w`]: 'x' });
    }
    let open = 0;
    let most = 0;
    class Counting extends TracingFileSystem {
      override openDir(
        ...args: Parameters<TracingFileSystem['openDir']>
      ): ReturnType<TracingFileSystem['openDir']> {
        open += 1;
        most = Math.max(most, open);
        return super.openDir(...args);
      }
      override close(...args: Parameters<TracingFileSystem['close']>): void {
        open -= 1;
        super.close(...args);
      }
    }
    const counting = new Counting(disk().fileSystem);
    const root = Dir.openRoot(counting, disk().path);
    const seen: string[] = [];
    const left: string[] = [];
    walkTreeSync(
      root,
      {
        visit: (entry) => void seen.push(pathText(entry)),
        leave: (entry) => void left.push(pathText(entry)),
      },
      { maxOpen, sorted: true },
    );
    root.close();
    expect(seen).toHaveLength(30 + 30 + 30 + 30 + 1);
    expect(new Set(seen).size).toBe(seen.length);
    expect(left).toHaveLength(60);
    expect(most).toBeLessThanOrEqual(maxOpen);
  });

  it('leaves out what vanishes between being listed and being looked at', () => {
    plant();
    const seen: string[] = [];
    walkTreeSync(
      disk().dir,
      {
        visit: (entry) => {
          if (seen.length === 0) {
            using b = disk().dir.openDir('b');
            b.unlink('x');
          }
          seen.push(pathText(entry));
          return undefined;
        },
      },
      { sorted: true },
    );
    expect(seen).not.toContain('b/x');
    expect(seen).toContain('z');
  });

  it('reports a directory that is replaced before it is opened', () => {
    plant();
    const failures: [string, string][] = [];
    const visitor = {
      visit: (entry: WalkEntry): undefined => {
        if (pathText(entry) === 'a') {
          disk().dir.rmdir('a');
          disk().dir.symlink('b', 'a');
        }
      },
      failed: (entry: WalkEntry, error: FileSystemError): void => {
        failures.push([pathText(entry), error.errno]);
      },
    };
    walkTreeSync(disk().dir, visitor, { sorted: true });
    expect(failures).toEqual([['a', expect.stringMatching(/^(ENOTDIR|ELOOP)$/) as string]]);
    disk().dir.unlink('a');
    disk().dir.mkdir('a');
    expect(() => walkTreeSync(disk().dir, { visit: visitor.visit }, { sorted: true })).toThrow(/open/);
  });

  it('notices that a directory it closed is another one when it comes back', () => {
    writeTree(disk().fileSystem, disk().path, { 'a/b/c/d/e': 'x', 'a/z': 'x', outside: 'x' });
    const seen: string[] = [];
    const failures: string[] = [];
    walkTreeSync(
      disk().dir,
      {
        visit: (entry) => {
          seen.push(pathText(entry));
          if (pathText(entry) === 'a/b/c/d/e') {
            disk().dir.rename('a', disk().dir, 'moved');
            writeTree(disk().fileSystem, disk().path, { 'a/z': 'other', 'a/y': 'other' });
          }
          return undefined;
        },
        failed: (entry, error) => void failures.push(`${pathText(entry)} ${error.errno}`),
      },
      { maxOpen: 2, sorted: true },
    );
    expect(failures).toEqual(['a ESTALE']);
    expect(seen).toEqual(['a', 'a/b', 'a/b/c', 'a/b/c/d', 'a/b/c/d/e', 'outside']);
  });

  it('stops at an abort and at what a visitor throws, closing what it opened', async () => {
    plant();
    const tracing = new TracingFileSystem(disk().fileSystem);
    const root = Dir.openRoot(tracing, disk().path);
    const reason = new Error('enough');
    await expect(
      walkTree(root, { visit: () => undefined }, { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    const thrown = new Error('visitor');
    await expect(
      walkTree(root, {
        visit: (entry) => {
          if (entry.depth > 1) throw thrown;
          return undefined;
        },
      }),
    ).rejects.toBe(thrown);
    root.close();
    expect(tracing.count('close')).toBe(tracing.count('openDir') + tracing.count('openRoot'));
  });

  it('notices an abort in the middle of a large directory', async () => {
    for (let index = 0; index < 500; index += 1) put(disk().dir, `f${index}`, '');
    const controller = new AbortController();
    const reason = new Error('enough');
    let seen = 0;
    const walking = walkTree(
      disk().dir,
      {
        visit: () => {
          seen += 1;
          if (seen === 100) controller.abort(reason);
          return undefined;
        },
      },
      { signal: controller.signal },
    );
    await expect(walking).rejects.toBe(reason);
    expect(seen).toBeLessThan(200);
  });
});

onEveryDisk('removeTree', (disk, kind) => {
  it('removes whatever has the name, and only that', async () => {
    writeTree(disk().fileSystem, disk().path, {
      'tree/a/b/c': 'x',
      'tree/.1': 'a name like those it uses itself',
      'tree/.2/x': 'likewise',
      'tree/link': { link: '../kept' },
      'tree/a/link': { link: '../../kept' },
      'kept/x': 'kept',
      file: 'x',
      link: { link: 'kept' },
    });
    expect(await removeTree(disk().dir, 'tree')).toBe(true);
    expect(await removeTree(disk().dir, 'file')).toBe(true);
    expect(removeTreeSync(disk().dir, 'link')).toBe(true);
    expect(await removeTree(disk().dir, 'none')).toBe(false);
    expect(readTree(disk().fileSystem, disk().path)).toEqual({
      kept: 'directory 700',
      'kept/x': 'file 600 "kept"',
    });
  });

  it('renames first, inside the parent, and syncs before it deletes', async () => {
    writeTree(disk().fileSystem, disk().path, { 'tree/a': 'x' });
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    await removeTree(dir, 'tree');
    const changes = tracing.changes(disk().path);
    expect(changes.slice(0, 2)).toEqual(['rename /tree → /.holdfast-trash-*', 'sync ']);
    expect(changes.at(-2)).toBe('rmdir /.holdfast-trash-*');
    expect(changes.at(-1)).toBe('sync ');
  });

  it('leaves the rest of an aborted deletion to the sweep', async () => {
    const plan: Record<string, string> = {};
    for (let index = 0; index < 200; index += 1) plan[`tree/f${index}`] = 'x';
    writeTree(disk().fileSystem, disk().path, plan);
    const reason = new Error('enough');
    await expect(removeTree(disk().dir, 'tree', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(disk().dir.lstat('tree')).toBeDefined();
    const controller = new AbortController();
    class Aborting extends TracingFileSystem {
      override unlink(...args: Parameters<TracingFileSystem['unlink']>): void {
        super.unlink(...args);
        controller.abort(reason);
      }
    }
    using dir = Dir.openRoot(new Aborting(disk().fileSystem), disk().path);
    await expect(removeTree(dir, 'tree', { signal: controller.signal, operation: 'op' })).rejects.toBe(
      reason,
    );
    expect(disk().dir.lstat('tree')).toBeUndefined();
    expect(disk().dir.list()).toHaveLength(1);
    await sweepTemporaries(disk().dir, { isLive: () => false });
    expect(disk().dir.list()).toHaveLength(0);
  });

  it('deletes what somebody adds meanwhile', async () => {
    writeTree(disk().fileSystem, disk().path, { 'tree/a/x': 'x', 'tree/b': 'x' });
    let added = 0;
    class Adding extends TracingFileSystem {
      override unlink(...args: Parameters<TracingFileSystem['unlink']>): void {
        super.unlink(...args);
        if (added >= 5) return;
        added += 1;
        put(Dir.adopt(disk().fileSystem, args[0]), `late-${added}`, 'x');
      }
    }
    using dir = Dir.openRoot(new Adding(disk().fileSystem), disk().path);
    if (kind.name === 'guarded') return;
    await removeTree(dir, 'tree');
    expect(added).toBe(5);
    expect(disk().dir.list()).toEqual([]);
  });

  it('gives up a directory into which somebody never stops writing', async () => {
    writeTree(disk().fileSystem, disk().path, { 'tree/x': 'x' });
    let count = 0;
    class Flooding extends TracingFileSystem {
      override unlink(...args: Parameters<TracingFileSystem['unlink']>): void {
        super.unlink(...args);
        count += 1;
        using file = Dir.adopt(disk().fileSystem, args[0]).createFile(`flood-${count}`);
        file.write(text('x'), 0);
      }
    }
    using dir = Dir.openRoot(new Flooding(disk().fileSystem), disk().path);
    await expect(removeTree(dir, 'tree')).rejects.toMatchObject({
      code: 'DURABLE_OUTCOME_UNCERTAIN',
      cause: { errno: expect.stringMatching(/^(ENOTEMPTY|EEXIST)$/) as string },
    });
  });
});

describe('removeTree when calls fail', () => {
  it('reports a refused rename as definite and a later failure as uncertain', async () => {
    for (const [operation, code] of [
      ['rename', 'DURABLE_FILE_SYSTEM'],
      ['sync', 'DURABLE_OUTCOME_UNCERTAIN'],
    ] as const) {
      const model = new ModelFileSystem();
      writeTree(model, '/', { 'tree/a': 'x' });
      using dir = Dir.openRoot(new FaultFileSystem(model, [{ operation, nth: 1, errno: 'EBUSY' }]), '/');
      await expect(removeTree(dir, 'tree')).rejects.toMatchObject({ code });
      expect(readTree(model, '/')['tree'] !== undefined).toBe(operation === 'rename');
    }
  });
});

onRealDisks('large trees', (disk, kind) => {
  it('of a thousand levels are walked and removed', async () => {
    const start = cwd();
    mkdirSync(`${disk().path}/deep`);
    chdir(`${disk().path}/deep`);
    for (let depth = 0; depth < 1000; depth += 1) {
      mkdirSync('directory');
      writeFileSync('file', 'x');
      chdir('directory');
    }
    chdir(start);
    if (kind.name === 'anchored') {
      let nodes = 0;
      let longest = 0;
      await walkTree(disk().dir, {
        visit: (entry) => {
          nodes += 1;
          longest = Math.max(longest, entry.path().length);
          return undefined;
        },
      });
      expect(nodes).toBe(2001);
      expect(longest).toBeGreaterThan(9000);
    }
    await removeTree(disk().dir, 'deep');
    expect(readdirSync(disk().path)).toEqual([]);
  });

  it('of five thousand names in one directory are removed while the event loop turns', async () => {
    mkdirSync(`${disk().path}/wide`);
    for (let index = 0; index < 5000; index += 1) writeFileSync(`${disk().path}/wide/${index}`, '');
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    await removeTree(disk().dir, 'wide');
    running = false;
    expect(turns).toBeGreaterThan(5);
    expect(readdirSync(disk().path)).toEqual([]);
  });

  it('with every kind of node are walked and removed without blocking', async () => {
    execFileSync('mkfifo', [`${disk().path}/fifo`]);
    writeTree(disk().fileSystem, disk().path, { 'tree/x': 'x' });
    execFileSync('mkfifo', [`${disk().path}/tree/fifo`]);
    const kinds: string[] = [];
    await walkTree(disk().dir, { visit: ({ stat }) => void kinds.push(stat.kind) });
    expect(kinds.sort()).toEqual(['directory', 'fifo', 'fifo', 'file']);
    using fifo = disk().dir.openFile('fifo');
    expect(fifo.stat().kind).toBe('fifo');
    expect(errnoOf(() => fifo.read(new Uint8Array(1), 0))).toBe('ESPIPE');
    await removeTree(disk().dir, 'tree');
    await removeTree(disk().dir, 'fifo');
    expect(existsSync(`${disk().path}/tree`)).toBe(false);
  });
});
