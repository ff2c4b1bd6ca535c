import { Dir } from '@holdfast/durable';
import { CrashPoint, ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

import { errnoOf, put, text } from './support/disks.js';

/** Every different tree that a power loss now could leave, as text without modes. */
function outcomes(disk: ModelFileSystem, path = '/'): string[] {
  const point = new CrashPoint(disk);
  const found = new Set<string>();
  for (const choice of point.choices()) {
    const after = point.state(choice);
    const entries = Object.entries(readTree(after, path)).map(([name, node]) =>
      node.startsWith('file') ? `${name}=${/"(.*)"/s.exec(node)?.[1] ?? ''}` : name,
    );
    found.add(entries.join(' '));
  }
  return [...found].sort();
}

function disk(plan: Parameters<typeof writeTree>[2] = {}): { model: ModelFileSystem; dir: Dir } {
  const model = new ModelFileSystem();
  writeTree(model, '/', plan);
  model.settle();
  return { model, dir: Dir.openRoot(model, '/') };
}

describe('a power loss in the model', () => {
  it('takes back what no sync made durable, in any combination', () => {
    const { model, dir } = disk();
    put(dir, 'a', '');
    put(dir, 'b', '');
    expect(outcomes(model)).toEqual(['', 'a=', 'a= b=', 'b=']);
    dir.sync();
    expect(outcomes(model)).toEqual(['a= b=']);
  });

  it('keeps a name with no bytes when only the directory was synced', () => {
    const { model, dir } = disk();
    put(dir, 'a', 'content');
    dir.sync();
    expect(outcomes(model)).toEqual([
      'a=',
      'a=\u0000\u0000\u0000\u0000\u0000\u0000\u0000',
      'a=con',
      'a=content',
    ]);
  });

  it('keeps bytes without a name when only the file was synced', () => {
    const { model, dir } = disk();
    using file = dir.createFile('a');
    file.write(text('content'), 0);
    file.sync();
    expect(outcomes(model)).toEqual(['', 'a=content']);
  });

  it('tears what was appended, and keeps what was synced before', () => {
    const { model, dir } = disk({ a: 'one' });
    using file = dir.openFile('a', 'read-write');
    file.write(text('23'), 3);
    file.write(text('45'), 5);
    const found = outcomes(model);
    for (const state of [
      'a=one',
      'a=one23',
      'a=one2',
      'a=one234',
      'a=one2345',
      'a=one\0\0',
      'a=one23\0\0',
      'a=one\0\x0045',
    ]) {
      expect(found).toContain(state);
    }
    for (const state of found) expect(state.startsWith('a=one')).toBe(true);
    file.sync('content');
    expect(outcomes(model)).toEqual(['a=one2345']);
  });

  it('may lose a truncation and what was written after it, one without the other', () => {
    const { model, dir } = disk({ a: 'old content' });
    using file = dir.openFile('a', 'read-write');
    file.truncate(0);
    file.write(text('new'), 0);
    const found = outcomes(model);
    for (const state of ['a=old content', 'a=', 'a=new', 'a=n', 'a=\0\0\0', 'a=new content'])
      expect(found).toContain(state);
  });

  it('renames inside a directory as a whole', () => {
    const { model, dir } = disk({ a: 'new', b: 'old' });
    dir.rename('a', dir, 'b');
    expect(outcomes(model)).toEqual(['a=new b=old', 'b=new']);
  });

  it('renames between directories as two changes', () => {
    const { model, dir } = disk({ 'from/x': '1', 'to/': null });
    using from = dir.openDir('from');
    using to = dir.openDir('to');
    from.rename('x', to, 'x');
    expect(outcomes(model)).toEqual([
      'from from/x=1 to',
      'from from/x=1 to to/x=1',
      'from to',
      'from to to/x=1',
    ]);
    to.sync();
    expect(outcomes(model)).toEqual(['from from/x=1 to to/x=1', 'from to to/x=1']);
    from.sync();
    expect(outcomes(model)).toEqual(['from to to/x=1']);
  });

  it('loses all of a directory whose name is lost', () => {
    const { model, dir } = disk();
    dir.mkdir('d');
    using child = dir.openDir('d');
    put(child, 'x', '');
    child.sync();
    expect(outcomes(model)).toEqual(['', 'd d/x=']);
    dir.sync();
    expect(outcomes(model)).toEqual(['d d/x=']);
  });

  it('may keep the old mode, and the new one after a full sync only', () => {
    const { model, dir } = disk({ a: '' });
    const modes = (): string[] => {
      const point = new CrashPoint(model);
      return [
        ...new Set([...point.choices()].map((choice) => readTree(point.state(choice), '/')['a'] as string)),
      ].sort();
    };
    using file = dir.openFile('a', 'read-write');
    file.chmod(0o644);
    expect(modes()).toEqual(['file 600 ""', 'file 644 ""']);
    file.sync('content');
    expect(modes()).toEqual(['file 600 ""', 'file 644 ""']);
    file.sync();
    expect(modes()).toEqual(['file 644 ""']);
  });

  it('removes and restores links one by one and counts them anew', () => {
    const { model, dir } = disk({ a: 'x' });
    dir.link('a', dir, 'b');
    dir.unlink('a');
    const point = new CrashPoint(model);
    const counts = [...point.choices()].map((choice) => {
      using after = Dir.openRoot(point.state(choice), '/');
      return [after.lstat('a')?.nlink, after.lstat('b')?.nlink];
    });
    expect(counts).toContainEqual([1, undefined]);
    expect(counts).toContainEqual([2, 2]);
    expect(counts).toContainEqual([undefined, 1]);
    expect(counts).toContainEqual([undefined, undefined]);
  });

  it('leaves a disk on which everything is durable', () => {
    const { model, dir } = disk();
    put(dir, 'a', 'content');
    const point = new CrashPoint(model);
    for (const choice of point.choices()) expect(new CrashPoint(point.state(choice)).combinations).toBe(1);
  });

  it('does not touch the disk it is asked about, and forks do not touch each other', () => {
    const { model, dir } = disk({ a: 'one' });
    const fork = model.fork();
    using forked = Dir.openRoot(fork, '/');
    using file = forked.openFile('a', 'read-write');
    file.write(text('TWO'), 0);
    put(forked, 'b', 'x');
    put(dir, 'c', 'x');
    const point = new CrashPoint(fork);
    for (const choice of point.choices()) {
      using after = Dir.openRoot(point.state(choice), '/');
      put(after, 'd', 'x');
    }
    expect(Object.keys(readTree(model, '/'))).toEqual(['a', 'c']);
    expect(readTree(model, '/')['a']).toBe('file 600 "one"');
    expect(readTree(fork, '/')).toEqual({ a: 'file 600 "TWO"', b: 'file 600 "x"' });
  });

  it('keeps pending in a fork what is pending in the original', () => {
    const { model, dir } = disk();
    put(dir, 'a', '');
    expect(outcomes(model.fork())).toEqual(['', 'a=']);
  });

  it('has handles that are no handles after a crash', () => {
    const { model, dir } = disk({ a: 'x' });
    const point = new CrashPoint(model);
    const after = point.state([]);
    using other = Dir.openRoot(after, '/');
    other.unlink('a');
    expect(dir.lstat('a')).toBeDefined();
  });

  it('describes what is lost', () => {
    const { model, dir } = disk();
    put(dir, 'a', 'content');
    const point = new CrashPoint(model);
    const all = [...point.choices()];
    expect(point.describe(all[0] ?? [])).toEqual([]);
    const text = all.flatMap((choice) => point.describe(choice)).join('\n');
    expect(text).toContain('unsynced names in /: a → #');
    expect(text).toContain('unsynced bytes of /a: 3 of 7 bytes are left, "con"');
  });
});

describe('choices', () => {
  const many = (): CrashPoint => {
    const { model, dir } = disk();
    for (let index = 0; index < 20; index += 1) put(dir, `f${index}`, '');
    return new CrashPoint(model);
  };

  it('are all of them up to the limit', () => {
    const point = many();
    expect(point.combinations).toBe(2 ** 20);
    const { model, dir } = disk();
    for (let index = 0; index < 8; index += 1) put(dir, `f${index}`, '');
    const choices = [...new CrashPoint(model).choices()];
    expect(new Set(choices.map(String)).size).toBe(256);
  });

  it('are corners and samples above it, the same for the same seed', () => {
    const draw = (seed: number): string[] => [...many().choices({ seed, samples: 50 })].map(String);
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    const choices = draw(7);
    expect(choices).toHaveLength(2 + 40 + 50);
    expect(choices[0]).toBe(Array(20).fill(0).join());
    expect(choices[1]).toBe(Array(20).fill(1).join());
    for (let index = 0; index < 20; index += 1) {
      expect(choices).toContain(Array.from({ length: 20 }, (_, at) => (at === index ? 1 : 0)).join());
      expect(choices).toContain(Array.from({ length: 20 }, (_, at) => (at === index ? 0 : 1)).join());
    }
  });
});

describe('the model', () => {
  it('plants nodes that no call can make', () => {
    const { model, dir } = disk({ 'd/': null });
    model.plantSpecial('/d/fifo', 'fifo', 0o600);
    using child = dir.openDir('d');
    expect(child.lstat('fifo')).toMatchObject({ kind: 'fifo', mode: 0o600, nlink: 1 });
    expect(errnoOf(() => model.plantSpecial('/d/fifo', 'socket'))).toBe('EEXIST');
    expect(errnoOf(() => model.plantSpecial('/none/fifo', 'socket'))).toBe('ENOENT');
  });

  it('reports every change before it happens', async () => {
    const { model, dir } = disk();
    const seen: string[] = [];
    model.beforeChange = ({ operation, path }) =>
      seen.push(`${operation} ${path} ${Object.keys(readTree(model, '/')).length}`);
    put(dir, 'a', 'x');
    dir.rename('a', dir, 'b');
    await dir.syncLater();
    expect(seen).toEqual(['createFile /a 0', 'write /a 1', 'rename /b 1', 'sync / 1']);
  });
});
