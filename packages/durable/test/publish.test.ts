import { sha256Hex } from '@holdfast/base';
import {
  ContentMismatchError,
  Dir,
  LinksUnsupportedError,
  NameTakenError,
  OutcomeUncertainError,
  publishDirectory,
  publishDirectorySync,
  publishFile,
  publishFileSync,
  replaceFile,
  replaceFileSync,
  StagedFile,
  SyncFailedError,
} from '@holdfast/durable';
import {
  FaultFileSystem,
  ModelFileSystem,
  readTree,
  TracingFileSystem,
  writeTree,
} from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, isA, onEveryDisk, put, text } from './support/disks.js';

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(text(part));
}

const tree = (disk: { fileSystem: Dir['fileSystem']; path: string }): Readonly<Record<string, string>> =>
  readTree(disk.fileSystem, disk.path);

onEveryDisk('publishFile', (disk) => {
  it('creates a name once and leaves it alone afterwards', async () => {
    expect(await publishFile(disk().dir, 'a', text('one'))).toEqual({ created: true });
    expect(await publishFile(disk().dir, 'a', text('two'))).toEqual({ created: false });
    expect(publishFileSync(disk().dir, 'a', text('three'))).toEqual({ created: false });
    expect(publishFileSync(disk().dir, 'b', text('four'))).toEqual({ created: true });
    expect(tree(disk())).toEqual({ a: 'file 600 "one"', b: 'file 600 "four"' });
  });

  it('replaces when it is told to', async () => {
    await publishFile(disk().dir, 'a', text('one'));
    expect(await publishFile(disk().dir, 'a', text('two'), { exclusive: false })).toEqual({ created: true });
    await replaceFile(disk().dir, 'a', text('three'), { mode: 0o640 });
    expect(tree(disk())).toEqual({ a: 'file 640 "three"' });
    replaceFileSync(disk().dir, 'a', text('four'));
    expect(tree(disk())).toEqual({ a: 'file 600 "four"' });
  });

  it('writes a new inode: other names and open handles keep the old bytes', async () => {
    put(disk().dir, 'a', 'old');
    disk().dir.link('a', disk().dir, 'b');
    using open = disk().dir.openFile('a');
    await replaceFile(disk().dir, 'a', text('new'));
    expect(Buffer.from(open.readAll({ maxBytes: 9 })).toString()).toBe('old');
    expect(tree(disk())).toEqual({ a: 'file 600 "new"', b: 'file 600 "old"' });
  });

  it('replaces a symlink and never what it leads to', async () => {
    put(disk().dir, 'target', 'kept');
    disk().dir.symlink('target', 'a');
    expect(await publishFile(disk().dir, 'a', text('x'))).toEqual({ created: false });
    await replaceFile(disk().dir, 'a', text('new'));
    expect(tree(disk())).toEqual({ a: 'file 600 "new"', target: 'file 600 "kept"' });
  });

  it('sets exactly the asked mode', async () => {
    await publishFile(disk().dir, 'a', text('x'), { mode: 0o777 });
    await publishFile(disk().dir, 'b', text('x'), { mode: 0o400 });
    expect(tree(disk())).toEqual({ a: 'file 777 "x"', b: 'file 400 "x"' });
  });

  it('takes bytes, chunks and re-openable sources', async () => {
    await publishFile(disk().dir, 'a', [text('1'), text('2')]);
    await publishFile(disk().dir, 'b', chunks('1', '', '2'));
    await publishFile(disk().dir, 'c', { size: 2, open: () => chunks('12') });
    await publishFile(disk().dir, 'd', new Uint8Array(0));
    expect(tree(disk())).toEqual({
      a: 'file 600 "12"',
      b: 'file 600 "12"',
      c: 'file 600 "12"',
      d: 'file 600 ""',
    });
  });

  it('publishes nothing that is not what was announced', async () => {
    const { dir } = disk();
    const cases = [
      () => publishFile(dir, 'a', { size: 3, open: () => chunks('12') }),
      () => publishFile(dir, 'a', { size: 1, open: () => chunks('12') }),
      () => publishFile(dir, 'a', chunks('12'), { size: 3 }),
      () => publishFile(dir, 'a', text('12'), { sha256: sha256Hex(text('13')) }),
    ];
    for (const attempt of cases) await expect(attempt()).rejects.toSatisfy(isA(ContentMismatchError));
    expect(() => publishFileSync(dir, 'a', text('12'), { size: 1 })).toThrow(ContentMismatchError);
    expect(tree(disk())).toEqual({});
    await publishFile(dir, 'a', text('12'), { size: 2, sha256: sha256Hex(text('12')) });
    expect(tree(disk())).toEqual({ a: 'file 600 "12"' });
  });

  it('publishes nothing of a source that fails', async () => {
    const failure = new Error('source broke');
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(text('1'));
      throw failure;
    }
    await expect(publishFile(disk().dir, 'a', broken())).rejects.toBe(failure);
    expect(tree(disk())).toEqual({});
  });

  it('refuses to replace a directory', async () => {
    disk().dir.mkdir('a');
    await expect(replaceFile(disk().dir, 'a', text('x'))).rejects.toMatchObject({ errno: 'EISDIR' });
    expect(await publishFile(disk().dir, 'a', text('x'))).toEqual({ created: false });
    expect(tree(disk())).toEqual({ a: 'directory 700' });
  });

  it('rejects with the reason of an abort and leaves nothing, whenever it comes before the name', async () => {
    const reason = new Error('enough');
    const early = AbortSignal.abort(reason);
    await expect(publishFile(disk().dir, 'a', text('x'), { signal: early })).rejects.toBe(reason);
    const controller = new AbortController();
    async function* source(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(text('1'));
      controller.abort(reason);
      yield text('2');
    }
    await expect(publishFile(disk().dir, 'a', source(), { signal: controller.signal })).rejects.toBe(reason);
    const duringSync = new AbortController();
    const publishing = publishFile(disk().dir, 'a', text('x'), { signal: duringSync.signal });
    await Promise.resolve();
    duringSync.abort(reason);
    await publishing.catch((error: unknown) => {
      expect(error).toBe(reason);
    });
    expect(Object.keys(tree(disk())).filter((name) => name !== 'a')).toEqual([]);
  });
});

onEveryDisk('StagedFile', (disk) => {
  it('is named when its content is known, and is gone when it never is', async () => {
    using kept = StagedFile.create(disk().dir, { operation: 'op-1' });
    kept.append(text('one '));
    kept.append(text('two'));
    expect(kept.size).toBe(7);
    expect(kept.sha256()).toBe(sha256Hex(text('one two')));
    expect(() => {
      kept.append(text('late'));
    }).toThrow(TypeError);
    const dropped = StagedFile.create(disk().dir);
    dropped.append(text('x'));
    expect(disk().dir.list()).toHaveLength(2);
    dropped.discard();
    dropped.discard();
    await kept.publish(kept.sha256());
    expect(Object.keys(tree(disk()))).toEqual([sha256Hex(text('one two'))]);
  });

  it('need not hash', () => {
    using staged = StagedFile.create(disk().dir, { hashed: false });
    staged.append(text('x'));
    expect(() => staged.sha256()).toThrow(TypeError);
    staged.publishSync('a');
    expect(tree(disk())).toEqual({ a: 'file 600 "x"' });
  });

  it('works in a directory whose owner let go meanwhile', () => {
    const dir = disk().dir.retain();
    const staged = StagedFile.create(dir);
    dir.close();
    staged.append(text('x'));
    staged.publishSync('a');
    staged.discard();
    expect(tree(disk())).toEqual({ a: 'file 600 "x"' });
  });

  it('refuses an operation that recovery could not read back', () => {
    for (const operation of ['', 'A', 'a/b', '-a', 'x'.repeat(65)]) {
      expect(() => StagedFile.create(disk().dir, { operation })).toThrow(TypeError);
    }
  });
});

describe('publishFile when calls fail', () => {
  const withFault = (
    faults: ConstructorParameters<typeof FaultFileSystem>[1],
  ): { dir: Dir; model: ModelFileSystem } => {
    const model = new ModelFileSystem();
    return { dir: Dir.openRoot(new FaultFileSystem(model, faults), '/'), model };
  };

  it('reports a failed sync of the bytes as what it is, with nothing visible', async () => {
    const { dir, model } = withFault([{ operation: 'sync', nth: 1, errno: 'EIO' }]);
    await expect(publishFile(dir, 'a', text('x'))).rejects.toSatisfy(isA(SyncFailedError));
    expect(readTree(model, '/')).toEqual({});
  });

  it.each(['publish', 'replace'] as const)(
    'reports a failure after %s has given the name as uncertain',
    async (operation) => {
      const { dir, model } = withFault([{ operation: 'sync', nth: 2, errno: 'EIO' }]);
      const exclusive = operation === 'publish';
      await expect(publishFile(dir, 'a', text('x'), { exclusive })).rejects.toMatchObject({
        code: 'DURABLE_OUTCOME_UNCERTAIN',
        operation,
        entryName: 'a',
        effect: 'unknown',
        cause: { code: 'DURABLE_SYNC_FAILED' },
      });
      expect(readTree(model, '/')).toEqual({ a: 'file 600 "x"' });
    },
  );

  it.each([
    ['EIO', OutcomeUncertainError],
    ['ESTALE', OutcomeUncertainError],
  ] as const)('takes %s from the naming call for uncertain', async (errno, Class) => {
    for (const [operation, exclusive] of [
      ['link', true],
      ['rename', false],
    ] as const) {
      const { dir } = withFault([{ operation, nth: 1, errno }]);
      await expect(publishFile(dir, 'a', text('x'), { exclusive })).rejects.toSatisfy(isA(Class));
    }
  });

  it('takes a refusal of the naming call for definite', async () => {
    const { dir, model } = withFault([{ operation: 'link', nth: 1, errno: 'ENOSPC' }]);
    await expect(publishFile(dir, 'a', text('x'))).rejects.toMatchObject({ errno: 'ENOSPC' });
    expect(readTree(model, '/')).toEqual({});
  });

  it('recognises its own link when a repeated call is refused', async () => {
    const { dir } = withFault([{ operation: 'link', nth: 1, errno: 'EEXIST', when: 'after' }]);
    expect(await publishFile(dir, 'a', text('x'))).toEqual({ created: true });
  });

  it('says so when the file system has no hard links, and replaces without them', async () => {
    const model = new ModelFileSystem({ links: false });
    const dir = Dir.openRoot(model, '/');
    await expect(publishFile(dir, 'a', text('x'))).rejects.toSatisfy(isA(LinksUnsupportedError));
    expect(readTree(model, '/')).toEqual({});
    await replaceFile(dir, 'a', text('x'));
    expect(readTree(model, '/')).toEqual({ a: 'file 600 "x"' });
  });
});

onEveryDisk('publishDirectory', (disk) => {
  const stage = (): void => {
    writeTree(disk().fileSystem, disk().path, { 'stage/a/b': 'deep', 'stage/c': { link: 'a' } });
  };
  const published = {
    new: 'directory 700',
    'new/a': 'directory 700',
    'new/a/b': 'file 600 "deep"',
    'new/c': 'symlink "a"',
  };

  it('gives a tree its name', async () => {
    stage();
    await publishDirectory(disk().dir, 'stage', 'new');
    expect(tree(disk())).toEqual(published);
  });

  it('takes the place of an empty directory', () => {
    stage();
    disk().dir.mkdir('new');
    publishDirectorySync(disk().dir, 'stage', 'new');
    expect(tree(disk())).toEqual(published);
  });

  it.each(['full/x', 'file', 'link'])('leaves %s alone', async (path) => {
    stage();
    const name = path.split('/')[0] as string;
    writeTree(disk().fileSystem, disk().path, { [path]: path === 'link' ? { link: 'nowhere' } : 'x' });
    const before = tree(disk());
    await expect(publishDirectory(disk().dir, 'stage', name)).rejects.toSatisfy(isA(NameTakenError));
    expect(() => publishDirectorySync(disk().dir, 'stage', name)).toThrow(NameTakenError);
    expect(tree(disk())).toEqual(before);
  });

  it('refuses to publish what is no directory', async () => {
    put(disk().dir, 'stage', 'x');
    await expect(publishDirectory(disk().dir, 'stage', 'new')).rejects.toMatchObject({ errno: 'ENOTDIR' });
    await expect(publishDirectory(disk().dir, 'none', 'new')).rejects.toMatchObject({ errno: 'ENOENT' });
    expect(errnoOf(() => disk().dir.openFile('new'))).toBe('ENOENT');
  });

  it('has no effect when aborted before', async () => {
    stage();
    const reason = new Error('enough');
    await expect(
      publishDirectory(disk().dir, 'stage', 'new', { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    expect(disk().dir.lstat('new')).toBeUndefined();
  });

  it('syncs every file and directory before the rename and the parent after it', async () => {
    stage();
    const tracing = new TracingFileSystem(disk().fileSystem);
    const dir = Dir.openRoot(tracing, disk().path);
    await publishDirectory(dir, 'stage', 'new');
    dir.close();
    const changes = tracing.changes(disk().path);
    expect(changes.slice(0, -2).sort()).toEqual(['sync /stage', 'sync /stage/a', 'sync /stage/a/b']);
    expect(changes.slice(-2)).toEqual(['rename /stage → /new', 'sync ']);
  });

  it('takes the word of a caller who has synced', async () => {
    stage();
    const tracing = new TracingFileSystem(disk().fileSystem);
    using dir = Dir.openRoot(tracing, disk().path);
    await publishDirectory(dir, 'stage', 'new', { contentSynced: true });
    expect(tracing.changes(disk().path)).toEqual(['rename /stage → /new', 'sync ']);
  });
});
