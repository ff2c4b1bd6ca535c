import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { ManualClock, seededRandom } from '@holdfast/base/testing';
import {
  BlobIntegrityError,
  BlobNotFoundError,
  BlobsBackendError,
  BlobsUnsupportedError,
} from '@holdfast/blobs';
import { openFsBlobs, openFsBlobsDriver } from '@holdfast/blobs/fs';
import { chunked, collect, freshBytes } from '@holdfast/blobs/testing';
import { nodeFileSystem } from '@holdfast/durable';
import { FaultFileSystem, ModelFileSystem, TracingFileSystem } from '@holdfast/durable/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { expectBytes } from './support/expect-bytes.js';
import { filesBelow, objectFile, temporariesBelow } from './support/fs-harness.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-fs-blobs-')));
let count = 0;
const fresh = (): string => join(base, String((count += 1)));
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const bytes = freshBytes(seededRandom(21), 5000);
const day = 86_400_000;
const directoriesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));

describe('the directory of an fs store', () => {
  it('is made with its parents, readable by its owner only, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      const directory = join(fresh(), 'deep', 'er');
      const store = await openFsBlobs(directory);
      await store.put('a/b', bytes);
      await store.close();
      expect(statSync(directory).mode & 0o777).toBe(0o700);
      for (const path of directoriesBelow(directory)) expect(lstatSync(path).mode & 0o777, path).toBe(0o700);
      for (const path of filesBelow(directory)) expect(lstatSync(path).mode & 0o777, path).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it('has its objects closed to others when it was open to them', async () => {
    const directory = fresh();
    await (await openFsBlobs(directory)).close();
    chmodSync(join(directory, 'objects'), 0o755);
    await (await openFsBlobs(directory)).close();
    expect(statSync(join(directory, 'objects')).mode & 0o777).toBe(0o700);
  });

  it('is named canonically, through symlinks and relative parts', async () => {
    const directory = fresh();
    mkdirSync(directory);
    symlinkSync(directory, `${directory}-link`);
    const store = await openFsBlobs(`${directory}-link/../${String(count)}-link/store`);
    expect(store.storagePaths()).toEqual([join(directory, 'store')]);
    await store.close();
  });

  it('says which format it has, and refuses another one', async () => {
    const directory = fresh();
    await (await openFsBlobs(directory)).close();
    expect(readFileSync(join(directory, 'format'), 'utf8')).toBe('holdfast blobs fs 1\n');
    writeFileSync(join(directory, 'format'), 'holdfast blobs fs 2\n');
    await expect(openFsBlobs(directory)).rejects.toSatisfy((error) => BlobsUnsupportedError.is(error));
    await expect(openFsBlobs(directory)).rejects.toMatchObject({ declared: 'holdfast blobs fs 2' });
  });

  it('that cannot be opened is a failed backend with the cause of the system', async () => {
    const directory = fresh();
    writeFileSync(directory, 'a file');
    const error = await openFsBlobs(join(directory, 'store')).catch((thrown: unknown) => thrown);
    expect(BlobsBackendError.is(error)).toBe(true);
    expect(error).toMatchObject({ operation: 'open', cause: { code: 'DURABLE_FILE_SYSTEM' } });
    const reason = new Error('enough');
    await expect(openFsBlobs(fresh(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('that disappears while it is open makes nothing look absent', async () => {
    const directory = fresh();
    const store = await openFsBlobs(directory);
    await store.put('k', bytes);
    rmSync(directory, { recursive: true });
    for (const call of [
      async () => await store.get('k'),
      async () => await store.stat('missing'),
      async () => await collect(store.list()),
      async () => await store.put('k', bytes),
    ]) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(BlobsBackendError.is(error)).toBe(true);
      expect(BlobNotFoundError.is(error)).toBe(false);
    }
    await store.close();
  });
});

describe('names on disk', () => {
  it('are those of the format page', async () => {
    const page = readFileSync(new URL('../../../docs/formats/blobs-fs.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([a-z0-9/.]+)` \| `([0-9a-f]{2}\/[@+][^`]+)` \|$/gm)];
    expect(rows).toHaveLength(4);
    const directory = fresh();
    const store = await openFsBlobs(directory, { durable: false });
    for (const [, key] of rows) await store.put(key as string, bytes);
    await store.close();
    const paths = filesBelow(join(directory, 'objects')).map((path) =>
      path.slice(directory.length + '/objects/'.length),
    );
    expect(new Set(paths)).toEqual(new Set(rows.map(([, , path]) => path)));
  });

  it('never collide on a file system that folds case, drops final dots or keeps device names', async () => {
    const directory = fresh();
    const store = await openFsBlobs(directory);
    const keys = [
      'a',
      'a/b',
      'a.ext',
      'a.ext/b',
      'con',
      'nul.txt',
      'a.',
      'a..',
      'aux/prn.x',
      'x'.repeat(512),
      `${'y'.repeat(300)}/z`,
    ];
    for (const key of keys) await store.put(key, new TextEncoder().encode(key));
    const names = [...filesBelow(directory), ...directoriesBelow(directory)].map((path) =>
      path.slice(directory.length + 1),
    );
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    for (const name of names.flatMap((path) => path.split('/'))) {
      expect(name.endsWith('.')).toBe(false);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
      expect(/^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i.test(name)).toBe(false);
    }
    expect((await collect(store.list())).map((entry) => entry.key)).toEqual([...keys].sort());
    await store.close();
  });

  it('spread over buckets, whatever the keys have in common', async () => {
    const directory = fresh();
    const store = await openFsBlobs(directory, { durable: false });
    for (let i = 0; i < 600; i += 1)
      await store.put(`log/entry-${String(i).padStart(9, '0')}`, Uint8Array.of(1));
    const sizes = directoriesBelow(directory).map((path) => readdirSync(path).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
    const largest = Math.max(
      ...directoriesBelow(directory).map(
        (path) => readdirSync(path).filter((name) => name.startsWith('@')).length,
      ),
    );
    expect(largest).toBeLessThan(20);
    await store.close();
  });

  it('that somebody else put there are left alone, and refused where an object should be', async () => {
    const directory = fresh();
    const store = await openFsBlobs(directory);
    await store.put('here', bytes);
    await store.put('dir/x', bytes);
    const file = objectFile(directory, 'here');
    for (const [kind, plant] of [
      ['symlink', (path: string) => symlinkSync('/etc/passwd', path)],
      ['directory', (path: string) => mkdirSync(path)],
    ] as const) {
      rmSync(file, { force: true });
      plant(file);
      for (const call of [
        async () => await store.get('here'),
        async () => await store.stat('here'),
        async () => await store.put('here', bytes),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown);
        expect(BlobIntegrityError.is(error), kind).toBe(true);
        expect(error).toMatchObject({ kind: 'foreign', key: 'here' });
      }
      expect((await collect(store.list())).map((entry) => entry.key)).toEqual(['dir/x']);
      rmSync(file, { recursive: true });
    }
    const inner = dirname(objectFile(directory, 'x'));
    renameSync(inner, `${inner}-moved`);
    symlinkSync('/etc', inner);
    await expect(store.get('dir/x')).rejects.toMatchObject({ code: 'BLOBS_INTEGRITY', kind: 'foreign' });
    await expect(store.put('dir/x', bytes)).rejects.toMatchObject({
      code: 'BLOBS_INTEGRITY',
      kind: 'foreign',
    });
    expect(await collect(store.list('dir/'))).toEqual([]);
    for (const name of ['README', '@UPPER', '+', '@', '.hidden', '@a b', 'zz'])
      writeFileSync(join(dirname(file), name), 'foreign');
    expect(await collect(store.list())).toEqual([]);
    await store.close();
  });
});

describe('a put of an fs store', () => {
  it('copies nothing when the object is there already', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    const store = await openFsBlobs(fresh(), { fileSystem: disk });
    await store.put('k', bytes);
    disk.reset();
    expect(await store.put('k', chunked(bytes, 100))).toEqual({ created: false });
    await expect(store.put('k', new Uint8Array(7))).rejects.toMatchObject({ code: 'BLOBS_CONFLICT' });
    expect(disk.count('createFile') + disk.count('write')).toBe(0);
    expect(disk.count('sync')).toBe(1);
    await store.close();
  });

  it('syncs its file and its directory once, and the parents only the first time', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    const store = await openFsBlobs(fresh(), { fileSystem: disk });
    await store.put('dir/a', bytes);
    await store.put('dir/b', bytes);
    await store.delete('dir/b');
    disk.reset();
    await store.put('dir/b', bytes);
    expect(disk.count('sync')).toBe(2);
    await store.close();
  });

  it('never syncs a store that is not meant to be durable', async () => {
    const disk = new TracingFileSystem(nodeFileSystem());
    const store = await openFsBlobs(fresh(), { fileSystem: disk, durable: false });
    await store.put('k', bytes);
    await store.delete('k');
    expect(disk.count('sync')).toBe(0);
    expect(store.supports).toEqual({ visibility: 'strong', durable: false });
    await store.close();
  });

  it('is refused with a typed error where the file system has no hard links', async () => {
    const store = await openFsBlobs('/store', { fileSystem: new ModelFileSystem() });
    await store.close();
    const error = await openFsBlobs('/store', { fileSystem: new ModelFileSystem({ links: false }) }).catch(
      (thrown: unknown) => thrown,
    );
    expect(BlobsUnsupportedError.is(error)).toBe(true);
    expect(error).toMatchObject({ capability: 'exclusive create' });
  });

  it('says whether a failure will pass by itself', async () => {
    for (const [errno, retryable] of [
      ['EMFILE', true],
      ['ENOSPC', false],
      ['EIO', false],
    ] as const) {
      const disk = new FaultFileSystem(new ModelFileSystem(), [
        { operation: 'createFile', pathEnd: '', nth: 3, errno },
      ]);
      const store = await openFsBlobs('/store', { fileSystem: disk, clock: new ManualClock(0) });
      await expect(store.put('k', bytes)).rejects.toMatchObject({
        code: 'BLOBS_BACKEND',
        effect: 'none',
        retryable,
      });
      expect(await store.stat('k')).toBe(undefined);
      await store.put('k', bytes);
      await store.close();
    }
  });

  it('does not believe a sync that failed once and succeeds the second time', async () => {
    const disk = new FaultFileSystem(new ModelFileSystem(), [{ operation: 'sync', nth: 9, errno: 'EIO' }]);
    const store = await openFsBlobs('/store', { fileSystem: disk, clock: new ManualClock(0) });
    const outcomes: string[] = [];
    for (const key of ['a', 'b', 'c', 'd']) {
      outcomes.push(
        await store.put(key, bytes).then(
          () => 'ok',
          (error: unknown) => (error as { code: string }).code,
        ),
      );
    }
    expect(disk.fired).toBe(1);
    expect(outcomes.filter((outcome) => outcome !== 'ok')).toHaveLength(1);
    await store.close();
  });

  it('builds its path again when an empty directory is removed under it', async () => {
    const directory = fresh();
    const store = await openFsBlobs(directory);
    const file = async (): Promise<string> => {
      await store.put('dir/sub/k', bytes);
      return objectFile(directory, 'k');
    };
    const path = await file();
    await store.delete('dir/sub/k');
    let pulled = false;
    const source = {
      size: bytes.length,
      open: async function* () {
        if (!pulled)
          rmSync(
            join(
              directory,
              'objects',
              path.slice(join(directory, 'objects').length + 1, -1).split('/')[0] as string,
            ),
            { recursive: true },
          );
        pulled = true;
        yield await Promise.resolve(bytes);
      },
    };
    expect(await store.put('dir/sub/k', source)).toEqual({ created: true });
    expectBytes(await store.getBytes('dir/sub/k'), bytes);
    await store.close();
  });
});

describe('the bytes of an fs store', () => {
  it('go to the disk as they come and come from it as they are asked for', async () => {
    const directory = fresh();
    const disk = new TracingFileSystem(nodeFileSystem());
    const store = await openFsBlobs(directory, { fileSystem: disk, durable: false });
    const chunk = freshBytes(seededRandom(3), 100_000);
    const onDisk: number[] = [];
    const source = {
      size: chunk.length * 20,
      open: async function* () {
        for (let i = 0; i < 20; i += 1) {
          const [temporary] = filesBelow(directory).filter((path) => path.includes('/.holdfast-'));
          onDisk.push(statSync(temporary as string).size);
          yield await Promise.resolve(chunk);
        }
      },
    };
    await store.put('large', source);
    expect(onDisk).toEqual(Array.from({ length: 20 }, (_, i) => i * chunk.length));

    disk.reset();
    const iterator = (await store.get('large'))[Symbol.asyncIterator]();
    expect(disk.count('read')).toBe(0);
    for (let step = 1; step <= 3; step += 1) {
      await iterator.next();
      expect(disk.count('read')).toBe(step);
    }
    await iterator.return?.();
    disk.reset();
    await store.getBytes('large', { range: { start: 1_000_000, end: 1_000_100 } });
    expect(disk.count('read')).toBe(1);
    await store.close();
  });
});

describe('the sweep', () => {
  const plant = (directory: string, name: string, ageMs: number): string => {
    const path = join(dirname(objectFile(directory, 'k')), name);
    writeFileSync(path, 'half an object');
    const seconds = (Date.now() - ageMs) / 1000;
    utimesSync(path, seconds, seconds);
    return path;
  };

  it('removes what dead writers left, by age, when a store is opened', async () => {
    const directory = fresh();
    const clock = new ManualClock(Date.now());
    const store = await openFsBlobs(directory, { clock });
    await store.put('dir/k', bytes);
    await store.close();
    const old = plant(directory, '.holdfast-tmp-dead-0123456789abcdef', 2 * day);
    const young = plant(directory, '.holdfast-tmp-live-0123456789abcdef', day / 2);
    const foreign = plant(directory, 'somebody-elses.tmp', 30 * day);

    await (await openFsBlobs(directory, { clock })).close();
    expect(existsSync(old), 'swept only once a day').toBe(true);
    clock.jumpWall(day);
    await (await openFsBlobs(directory, { clock })).close();
    expect([old, young, foreign].map((path) => existsSync(path))).toEqual([false, false, true]);
    const again = await openFsBlobs(directory, { clock });
    expectBytes(await again.getBytes('dir/k'), bytes);
    await again.close();
  });

  it('leaves young files alone and can be asked for at any time', async () => {
    const directory = fresh();
    const driver = await openFsBlobsDriver(directory, { temporaryAgeMilliseconds: day });
    await driver.put('k', chunked(bytes, 999), {});
    const old = plant(directory, '.holdfast-tmp-dead-0123456789abcdef', 2 * day);
    const young = plant(directory, '.holdfast-tmp-live-0123456789abcdef', day / 2);
    expect(await driver.sweep()).toEqual({ files: 1, directories: 0 });
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
    const reason = new Error('enough');
    await expect(driver.sweep({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await driver.close();
    await expect(driver.sweep()).rejects.toMatchObject({ code: 'BLOBS_CLOSED' });
  });

  it('removes empty directories of the same age, never others', async () => {
    const directory = fresh();
    const clock = new ManualClock(Date.now());
    const driver = await openFsBlobsDriver(directory, { clock, temporaryAgeMilliseconds: day });
    await driver.put('sessions/one/k', chunked(bytes, 999), {});
    await driver.put('sessions/two/k2', chunked(bytes, 999), {});
    await driver.delete('sessions/one/k', {});
    expect(await driver.sweep()).toEqual({ files: 0, directories: 0 });
    clock.jumpWall(2 * day);
    const { directories } = await driver.sweep();
    expect(directories).toBeGreaterThanOrEqual(2);
    expect((await collect(driver.list('', {}))).map((entry) => entry.key)).toEqual(['sessions/two/k2']);
    await driver.put('sessions/one/k', chunked(bytes, 999), {});
    await driver.close();
  });

  it('does not keep a store from opening on a disk that is full or read-only', async () => {
    const directory = fresh();
    const clock = new ManualClock(Date.now());
    const store = await openFsBlobs(directory, { clock });
    await store.put('k', bytes);
    await store.close();
    const old = plant(directory, '.holdfast-tmp-dead-0123456789abcdef', 4 * day);
    clock.jumpWall(2 * day);
    for (const operation of ['unlink', 'createFile'] as const) {
      const disk = new FaultFileSystem(nodeFileSystem(), [
        { operation, nth: 1, errno: 'EROFS', times: 'forever' },
      ]);
      const view = await openFsBlobs(directory, { clock, fileSystem: disk });
      expectBytes(await view.getBytes('k'), bytes);
      await view.close();
      expect(disk.fired).toBeGreaterThan(0);
    }
    await (await openFsBlobs(directory, { clock })).close();
    expect(existsSync(old)).toBe(false);
  });

  it('is not put off by a mark from the future', async () => {
    const directory = fresh();
    const clock = new ManualClock(Date.now());
    const store = await openFsBlobs(directory, { clock });
    await store.put('k', bytes);
    await store.close();
    const old = plant(directory, '.holdfast-tmp-dead-0123456789abcdef', 2 * day);
    writeFileSync(join(directory, 'swept'), `${Date.now() + 400 * day}\n`);
    await (await openFsBlobs(directory, { clock })).close();
    expect(existsSync(old)).toBe(false);
    expect(temporariesBelow(directory)).toBe(0);
  });
});

describe('a list of an fs store', () => {
  it('is complete and sorted for every size of its window', async () => {
    const directory = fresh();
    const random = seededRandom(5);
    const store = await openFsBlobs(directory, { durable: false });
    const keys = new Set<string>();
    while (keys.size < 200) {
      const depth = 1 + random.below(3);
      const segment = (): string => {
        const text = Array.from({ length: 1 + random.below(3) }, () =>
          random.pick(['a', 'b', '0', 'z']),
        ).join('');
        return text + random.pick(['', '', '.x', '-1', 'q'.repeat(205)]);
      };
      keys.add(Array.from({ length: depth }, segment).join('/'));
    }
    for (const key of keys) await store.put(key, Uint8Array.of(1));
    await store.close();
    const sorted = [...keys].sort();
    for (const listWindow of [1, 2, 7, 64, 65_536]) {
      const view = await openFsBlobs(directory, { durable: false, listWindow });
      expect((await collect(view.list())).map((entry) => entry.key)).toEqual(sorted);
      for (const prefix of ['a', 'a/', 'b.', 'z-1/', `a${'q'.repeat(205)}`, `0${'q'.repeat(100)}`]) {
        const expected = sorted.filter((key) => key.startsWith(prefix));
        expect(
          (await collect(view.list(prefix))).map((entry) => entry.key),
          prefix,
        ).toEqual(expected);
      }
      await view.close();
    }
  });

  it('keeps one window of names in memory, not all of them', async () => {
    // One scan per window: with ten names a window, 95 keys take ten scans of every bucket.
    const disk = new TracingFileSystem(new ModelFileSystem());
    const store = await openFsBlobs('/store', {
      fileSystem: disk,
      clock: new ManualClock(0),
      listWindow: 10,
      durable: false,
    });
    for (let i = 0; i < 95; i += 1) await store.put(`k${i}`, Uint8Array.of(1));
    disk.reset();
    const iterator = store.list();
    await iterator.next();
    const oneScan = disk.count('readdir');
    for (let i = 0; i < 94; i += 1) await iterator.next();
    expect((await iterator.next()).done).toBe(true);
    expect(disk.count('readdir')).toBe(oneScan * 10);
    await store.close();
  });
});
