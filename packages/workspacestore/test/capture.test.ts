import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';

import { findCause, systemClock } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { type FileSystem, FileSystemError, nodeFileSystem } from '@holdfast/durable';
import {
  FaultFileSystem,
  type FileSystemCall,
  ForwardingFileSystem,
  TracingFileSystem,
} from '@holdfast/durable/testing';
import {
  ArchiveLimitError,
  ignorePresets,
  NotDirectoryError,
  PersistencePathError,
  SnapshotError,
  TreeChangedError,
  UnreadableError,
  WorkspaceStore,
} from '@holdfast/workspacestore';
import { beforeEach, describe, expect, test } from 'vitest';

import { contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

let root: string;
let outside: string;

beforeEach(() => {
  outside = temporaryDirectory();
  root = path.join(outside, 'root');
  fs.mkdirSync(root);
});

function write(name: string, content: string | Buffer = name): void {
  const full = path.join(root, name);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, content);
}

describe('the root', () => {
  const makers = {
    missing: () => undefined,
    file: () => {
      fs.writeFileSync(path.join(outside, 'file'), '');
    },
    symlink: () => {
      fs.symlinkSync('root', path.join(outside, 'symlink'));
    },
    special: () => {
      spawnSync('mkfifo', [path.join(outside, 'special')]);
    },
  };

  test.each(['missing', 'file', 'symlink', 'special'] as const)('is refused when it is %s', async (found) => {
    makers[found]();
    const wrong = path.join(outside, found);
    const blobs = memoryBlobs();
    await withStore(blobs, async (store) => {
      const failure = await store.snapshot(wrong).catch((error: unknown) => error);
      expect(NotDirectoryError.is(failure) && failure.found).toBe(found);
      await expect(store.scan(wrong)).rejects.toSatisfy((error) => NotDirectoryError.is(error));
    });
    expect(await contents(blobs)).toEqual(new Map());
  });

  test('may lie behind symlinks and end in a slash', async () => {
    write('a');
    fs.symlinkSync(outside, path.join(outside, 'way'));
    await withStore(memoryBlobs(), async (store) => {
      const { ref } = await store.snapshot(root);
      expect((await store.snapshot(`${path.join(outside, 'way', 'root')}/`)).ref).toBe(ref);
    });
  });

  test('is refused when it cannot be read', async () => {
    const fileSystem = new FaultFileSystem(nodeFileSystem(), [
      { operation: 'openRoot', nth: 1, errno: 'EACCES' },
    ]);
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      await expect(store.snapshot(root, { onUnreadable: 'omit' })).rejects.toSatisfy((error) =>
        UnreadableError.is(error),
      );
    });
  });

  test('must not contain the store, nor lie in it', async () => {
    const blobs = memoryBlobs();
    for (const cacheDirectory of [root, path.join(root, 'cache'), outside]) {
      await withStore(blobs, { cacheDirectory }, async (store) => {
        await expect(store.snapshot(root)).rejects.toSatisfy((error) => PersistencePathError.is(error));
      });
    }
  });
});

describe('what is captured', () => {
  test('special nodes are omitted and never opened; links are kept verbatim', async () => {
    write('a.txt');
    fs.linkSync(path.join(root, 'a.txt'), path.join(root, 'b.txt'));
    spawnSync('mkfifo', [path.join(root, 'pipe')]);
    const links = { dangling: 'missing', abs: path.join(root, 'a.txt'), loop: 'loop', up: '../..' };
    for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(root, name));
    const server = net.createServer().listen(path.join(root, 's.sock'));
    const traced = new TracingFileSystem(nodeFileSystem());
    try {
      await withStore(memoryBlobs(), { fileSystem: traced }, async (store) => {
        const { ref, coverage } = await store.snapshot(root);
        expect(coverage.omitted).toEqual([
          { path: 'pipe', reason: 'special' },
          { path: 's.sock', reason: 'special' },
        ]);
        expect(
          traced.calls.filter(({ operation }) => operation === 'openFile').map(({ path: at }) => at),
        ).toEqual([path.join(root, 'a.txt'), path.join(root, 'b.txt')]);
        const rows = await store.list(ref);
        for (const [name, target] of Object.entries(links)) {
          expect(rows.find((row) => row.path === name)?.target).toBe(target);
        }
      });
    } finally {
      server.close();
    }
  });

  test('set-id and sticky bits are dropped and reported', async () => {
    write('tool');
    fs.chmodSync(path.join(root, 'tool'), 0o6755);
    fs.mkdirSync(path.join(root, 'tmp'));
    fs.chmodSync(path.join(root, 'tmp'), 0o1777);
    await withStore(memoryBlobs(), async (store) => {
      const { ref, coverage } = await store.snapshot(root);
      expect(coverage.dropped).toEqual([
        { path: 'tmp', what: 'sticky' },
        { path: 'tool', what: 'setuid' },
        { path: 'tool', what: 'setgid' },
      ]);
      expect((await store.stat(ref, 'tool')).mode).toBe(0o755);
    });
  });

  test('ignore rules leave out, in order, case-sensitively, and are part of the ref', async () => {
    for (const name of ['keep.log', 'a.log', 'A.LOG', 'node_modules/x/y', 'src/b.log', 'src/公.ts'])
      write(name);
    await withStore(memoryBlobs(), async (store) => {
      const rules = ['*.log', '!keep.log', ...ignorePresets.dependencies];
      const { ref } = await store.snapshot(root, { ignore: rules });
      expect((await store.list(ref)).map((row) => row.path)).toEqual([
        'A.LOG',
        'keep.log',
        'src',
        'src/公.ts',
      ]);
      const tree = await store.openTree(ref);
      expect(tree.ignore).toEqual(rules);
      expect(tree.omitted).toEqual([]);
      const live = await store.scan(root, { target: tree });
      expect(live.treeKey).toBe(tree.treeKey);
      expect(live.omitted.map((row) => [Buffer.from(row.path).toString(), row.reason, row.kind])).toEqual([
        ['a.log', 'ignored', 'file'],
        ['node_modules', 'ignored', 'directory'],
        ['src/b.log', 'ignored', 'file'],
      ]);
      await expect(store.snapshot(root, { ignore: ['a\nb'] })).rejects.toThrow(TypeError);
    });
  });

  test('reserved paths are left out and listed', async () => {
    write('a');
    write('.holdfast/stage/x');
    await withStore(memoryBlobs(), async (store) => {
      const { ref, coverage } = await store.snapshot(root, { reserved: ['.holdfast'] });
      expect(coverage.omitted).toEqual([{ path: '.holdfast', reason: 'reserved' }]);
      expect((await store.list(ref)).map((row) => row.path)).toEqual(['a']);
    });
  });

  test('another mount is left out', async () => {
    write('a');
    write('mnt/inside');
    const fileSystem = new (class extends ForwardingFileSystem {
      protected around<T>(call: FileSystemCall, run: () => T): T {
        return call.operation === 'mountId' && call.path.endsWith('/mnt') ? ('other' as T) : run();
      }
    })(nodeFileSystem());
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const { ref, coverage } = await store.snapshot(root);
      expect(coverage.omitted).toEqual([{ path: 'mnt', reason: 'mount' }]);
      expect((await store.list(ref)).map((row) => row.path)).toEqual(['a']);
    });
  });
});

describe('unreadable entries', () => {
  const denied = (name: string, operation: 'openFile' | 'openDir' | 'lstat' | 'readlink'): FileSystem =>
    new FaultFileSystem(nodeFileSystem(), [
      { operation, pathEnd: `/${name}`, nth: 1, errno: 'EACCES', times: 'forever' },
    ]);

  test.each([
    ['locked', 'openFile'],
    ['dir', 'openDir'],
    ['locked', 'lstat'],
    ['link', 'readlink'],
  ] as const)('%s by %s fails the snapshot, or is omitted when asked for', async (name, operation) => {
    write('a');
    write('locked');
    write('dir/x');
    fs.symlinkSync('a', path.join(root, 'link'));
    const blobs = memoryBlobs();
    await withStore(blobs, { fileSystem: denied(name, operation) }, async (store) => {
      const failure = await store.snapshot(root).catch((error: unknown) => error);
      expect(UnreadableError.is(failure) && failure.path).toBe(name);
      expect([...(await contents(blobs)).keys()].filter((key) => key.startsWith('snapshots/'))).toEqual([]);
      const { coverage } = await store.snapshot(root, { onUnreadable: 'omit' });
      expect(coverage.omitted).toEqual([{ path: name, reason: 'unreadable' }]);
    });
  });

  test('a failing disk is never taken for an unreadable file', async () => {
    write('a');
    const fileSystem = new FaultFileSystem(nodeFileSystem(), [{ operation: 'read', nth: 1, errno: 'EIO' }]);
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const failure = await store.snapshot(root, { onUnreadable: 'omit' }).catch((error: unknown) => error);
      expect(SnapshotError.is(failure)).toBe(true);
      expect(findCause(failure, FileSystemError)?.errno).toBe('EIO');
    });
  });

  test('as an unprivileged user mode 000 is what counts', () => {
    const dist = new URL('../dist/index.js', import.meta.url);
    const blobs = new URL('../../blobs/dist/index.js', import.meta.url);
    const drop = process.getuid?.() === 0 ? 'process.setgid(65534); process.setuid(65534);' : '';
    write('a');
    write('locked');
    fs.chmodSync(path.join(root, 'locked'), 0);
    fs.chmodSync(outside, 0o755);
    const script = `
      ${drop}
      const { WorkspaceStore } = await import(${JSON.stringify(dist.href)});
      const { memoryBlobs } = await import(${JSON.stringify(blobs.href)});
      const store = await WorkspaceStore.open(memoryBlobs());
      const failed = await store.snapshot(${JSON.stringify(root)}).catch((error) => error.code + ' ' + error.path);
      const { coverage } = await store.snapshot(${JSON.stringify(root)}, { onUnreadable: 'omit' });
      console.log(JSON.stringify([failed, coverage.omitted]));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([
      'WORKSPACE_UNREADABLE locked',
      [{ path: 'locked', reason: 'unreadable' }],
    ]);
  });
});

describe('limits', () => {
  test.each([
    ['entries', 3, 2],
    ['bytes', 11, 10],
    ['depth', 2, 1],
    ['nameBytes', 4, 3],
    ['pathBytes', 6, 5],
  ] as const)('%s: %d passes, %d does not', async (limit, cap, below) => {
    write('a', '12345');
    write('d/name', '123456');
    const blobs = memoryBlobs();
    const { ref } = await withStore(blobs, {}, (store) => store.snapshot(root, { limits: { [limit]: cap } }));
    await withStore(blobs, { limits: { [limit]: below } }, async (store) => {
      const failure = await store.snapshot(root).catch((error: unknown) => error);
      expect(ArchiveLimitError.is(failure) && [failure.limit, failure.cap]).toEqual([limit, below]);
      // The same numbers hold for what is read.
      await expect(store.openTree(ref)).rejects.toSatisfy(
        (error) => ArchiveLimitError.is(error) && error.limit === limit,
      );
      await expect(store.materialize(ref, `${root}-no`)).rejects.toSatisfy((error) =>
        ArchiveLimitError.is(error),
      );
      expect(fs.existsSync(`${root}-no`)).toBe(false);
    });
  });

  test('files over the per-file limit are omitted; sparse size counts, and nothing is read', async () => {
    write('small', '1');
    fs.truncateSync((write('sparse', ''), path.join(root, 'sparse')), 2 ** 34);
    await withStore(memoryBlobs(), async (store) => {
      const { coverage, stats } = await store.snapshot(root, { limits: { fileBytes: 2 ** 20 } });
      expect(coverage.omitted).toEqual([{ path: 'sparse', reason: 'limit' }]);
      expect(stats.bytesRead).toBe(1);
      const failure = await store.snapshot(root).catch((error: unknown) => error);
      expect(ArchiveLimitError.is(failure) && [failure.limit, failure.observed]).toEqual([
        'bytes',
        2 ** 34 + 1,
      ]);
    });
  });

  test('wrong limits and options are refused before anything is looked at', async () => {
    await expect(WorkspaceStore.open(memoryBlobs(), { limits: { entries: -1 } })).rejects.toThrow(RangeError);
    await expect(WorkspaceStore.open(memoryBlobs(), { compression: 'lz4' as never })).rejects.toThrow(
      TypeError,
    );
    await withStore(memoryBlobs(), async (store) => {
      await expect(store.snapshot('')).rejects.toThrow(TypeError);
      await expect(store.snapshot(root, { onUnreadable: 'maybe' as never })).rejects.toThrow(TypeError);
      await expect(store.snapshot(root, { limits: { bytes: Number.NaN } })).rejects.toThrow(RangeError);
    });
  });
});

/** Calls `act` after every read of a file whose path ends so. */
class MeddlingFileSystem extends ForwardingFileSystem {
  readonly #pathEnd: string;
  readonly #act: (times: number) => void;
  #times = 0;

  constructor(pathEnd: string, act: (times: number) => void) {
    super(nodeFileSystem());
    this.#pathEnd = pathEnd;
    this.#act = act;
  }

  protected around<T>(call: FileSystemCall, run: () => T): T {
    const result = run();
    if (call.operation === 'read' && call.path.endsWith(this.#pathEnd)) this.#act((this.#times += 1));
    return result;
  }
}

describe('changes while reading', () => {
  test('a file rewritten once is read again', async () => {
    write('f', 'a'.repeat(1000));
    const fileSystem = new MeddlingFileSystem('/f', (times) => {
      if (times === 1) write('f', 'b'.repeat(1200));
    });
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const { ref, coverage } = await store.snapshot(root);
      const parts: Uint8Array[] = [];
      for await (const part of await store.read(ref, 'f')) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('b'.repeat(1200));
      expect(coverage.raced).toEqual([]);
    });
  });

  test('a file that only grows is captured as it stood at one moment, and reported', async () => {
    write('log', 'start\n');
    const fileSystem = new MeddlingFileSystem('/log', () => {
      fs.appendFileSync(path.join(root, 'log'), 'more\n');
    });
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const { ref, coverage } = await store.snapshot(root);
      expect(coverage.raced).toEqual(['log']);
      expect((await store.stat(ref, 'log')).size).toBeGreaterThan(0);
      const whole = fs.readFileSync(path.join(root, 'log'), 'utf8');
      const parts: Uint8Array[] = [];
      for await (const part of await store.read(ref, 'log')) parts.push(part);
      expect(whole.startsWith(Buffer.concat(parts).toString())).toBe(true);
      await expect(store.snapshot(root, { quiescent: true })).rejects.toSatisfy((error) =>
        TreeChangedError.is(error),
      );
    });
  });

  test('a file that never holds still is left out, never stored torn', async () => {
    write('f', 'x');
    let counter = 0;
    const fileSystem = new MeddlingFileSystem('/f', () => {
      counter += 1;
      fs.writeFileSync(path.join(root, 'f'), String(counter).padStart(8, '0'));
    });
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const { ref, coverage } = await store.snapshot(root);
      expect(coverage.raced).toEqual(['f']);
      expect(coverage.omitted).toEqual([{ path: 'f', reason: 'unreadable' }]);
      expect(await store.list(ref)).toEqual([]);
    });
  });

  test('a directory that turns into a link is not followed', async () => {
    write('d/inside');
    fs.mkdirSync(path.join(outside, 'secret'));
    fs.writeFileSync(path.join(outside, 'secret/host'), 'host');
    const fileSystem = new (class extends ForwardingFileSystem {
      protected around<T>(call: FileSystemCall, run: () => T): T {
        const result = run();
        if (
          call.operation === 'lstat' &&
          call.path.endsWith('/d') &&
          fs.lstatSync(path.join(root, 'd')).isDirectory()
        ) {
          fs.renameSync(path.join(root, 'd'), path.join(outside, 'moved'));
          fs.symlinkSync('../secret', path.join(root, 'd'));
        }
        return result;
      }
    })(nodeFileSystem());
    await withStore(memoryBlobs(), { fileSystem }, async (store) => {
      const { ref } = await store.snapshot(root);
      expect(await store.list(ref)).toEqual([{ path: 'd', kind: 'symlink', mode: 0, target: '../secret' }]);
    });
  });
});

describe('an unchanged step', () => {
  test('lists no directory, looks at each entry once, opens and writes nothing', async () => {
    for (let i = 0; i < 30; i += 1) write(`d${i % 5}/e${i % 3}/f${i}`);
    const traced = new TracingFileSystem(nodeFileSystem());
    const clock = { ...systemClock, now: () => Date.now() + 10_000 };
    const blobs = memoryBlobs();
    await withStore(blobs, { fileSystem: traced, clock }, async (store) => {
      const first = await store.snapshot(root);
      const before = await contents(blobs);
      traced.reset();
      const again = await store.snapshot(root, { base: first.ref });
      expect([again.ref, again.hold, again.stats.filesRead]).toEqual([first.ref, first.hold, 0]);
      expect(traced.count('readdir')).toBe(0);
      // Directories are opened at once, which tells what they are.
      expect(traced.count('lstat')).toBe(first.stats.files);
      expect(traced.count('openDir')).toBe(first.stats.entries - first.stats.files);
      expect(traced.count('openFile')).toBe(0);
      expect(traced.calls.filter(({ changes }) => changes)).toEqual([]);
      expect(await contents(blobs)).toEqual(before);
    });
  });

  test('without a base the commit is repeated, without new archives', async () => {
    write('a');
    await withStore(memoryBlobs(), async (store) => {
      const first = await store.snapshot(root);
      const again = await store.snapshot(root);
      expect(again.ref).toBe(first.ref);
      expect(again.hold).not.toBe(first.hold);
      expect(again.stats.bytesStored).toBe(0);
    });
  });

  test('a change within the clock tick of the last reading is seen', async () => {
    write('f', 'one');
    await withStore(memoryBlobs(), async (store) => {
      const first = await store.snapshot(root);
      const stat = fs.statSync(path.join(root, 'f'));
      fs.writeFileSync(path.join(root, 'f'), 'two');
      fs.utimesSync(path.join(root, 'f'), stat.atime, stat.mtime);
      expect((await store.snapshot(root, { base: first.ref })).ref).not.toBe(first.ref);
    });
  });

  test('ten changed files: ten are read', async () => {
    for (let i = 0; i < 50; i += 1) write(`d${i % 5}/f${i}`);
    const clock = { ...systemClock, now: () => Date.now() + 10_000 };
    await withStore(memoryBlobs(), { clock }, async (store) => {
      const first = await store.snapshot(root);
      for (let i = 0; i < 10; i += 1) write(`d${i % 5}/f${i}`, `changed ${i}`);
      const second = await store.snapshot(root, { base: first.ref });
      expect(second.stats.filesRead).toBe(10);
      // Back again: what was there once is not stored again.
      for (let i = 0; i < 10; i += 1) write(`d${i % 5}/f${i}`);
      const third = await store.snapshot(root, { base: second.ref });
      expect([third.ref, third.stats.bytesStored]).toEqual([first.ref, 0]);
    });
  });
});

describe('aborts', () => {
  test('reject with the reason itself and commit nothing', async () => {
    for (let i = 0; i < 20; i += 1) write(`f${i}`);
    const reason = new Error('stop');
    const blobs = memoryBlobs();
    await withStore(blobs, async (store) => {
      await expect(store.snapshot(root, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const controller = new AbortController();
      const fileSystem = new MeddlingFileSystem('/f7', () => {
        controller.abort(reason);
      });
      await withStore(blobs, { fileSystem }, async (meddled) => {
        await expect(meddled.snapshot(root, { signal: controller.signal })).rejects.toBe(reason);
        await expect(meddled.openTree('x' as never)).rejects.toThrow('rule version');
      });
    });
    expect([...(await contents(blobs)).keys()]).toEqual([]);
  });
});
