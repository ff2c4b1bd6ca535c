import { isEmptyPlan, planDigest, type RestorePlan, WorkspaceRestoreError } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { directory, file, link, ModelTree, paths } from './support/model-tree.js';

describe('what a plan changes', () => {
  it('is nothing when the tree already is the target', async () => {
    const tree = new ModelTree({ a: 'a', 'd/': null, 'd/x': 'x', l: { link: 'a' } });
    const plan = await tree.plan({ a: file('a'), d: directory(), 'd/x': file('x'), l: link('a') });
    expect(isEmptyPlan(plan)).toBe(true);
    expect(plan).toMatchObject({ keep: 4, exact: true, bytes: 0 });
  });

  it('lists each path once, in canonical order, with sizes and modes', async () => {
    const tree = new ModelTree({ 'a.b': 'old', 'a/': null, 'a/x': 'x', gone: 'gone', m: 'm' });
    const plan = await tree.plan({
      'a.b': file('newer'),
      a: directory(),
      'a/x': file('x'),
      m: file('m', 0o755),
      'n/y': file('yy', 0o640),
    });
    expect(paths(plan)).toEqual({
      create: ['n/y'],
      replace: ['a.b'],
      chmod: ['m'],
      delete: ['gone'],
      mkdir: ['n'],
    });
    expect(plan.replace).toEqual([{ path: 'a.b', kind: 'file', size: 5, mode: 0o600 }]);
    expect(plan.chmod).toEqual([{ path: 'm', kind: 'file', size: 1, mode: 0o755, from: '600' }]);
    expect(plan.bytes).toBe(7);
    expect(plan.keep).toBe(2);
  });

  it('is frozen and survives JSON with the same digest', async () => {
    const plan = await new ModelTree({ a: 'a' }).plan({ a: file('b') });
    expect(Object.isFrozen(plan)).toBe(true);
    expect(planDigest(JSON.parse(JSON.stringify(plan)) as RestorePlan)).toBe(planDigest(plan));
  });

  it('restores the mode of the root', async () => {
    const plan = await new ModelTree().plan({}, { define: { rootMode: 0o755 } });
    expect(plan.chmod).toEqual([{ path: '.', kind: 'directory', mode: 0o755, from: '700' }]);
  });

  it('names every type change once, whatever stands there', async () => {
    const tree = new ModelTree({ 'd/': null, 'd/x': 'x', f: 'f', l: { link: 'f' }, 'e/': null });
    const plan = await tree.plan({ d: file('d'), 'f/y': file('y'), l: directory(), e: link('f') });
    expect(plan.retype.map(({ path, from, kind }) => [path, from, kind])).toEqual([
      ['d', 'directory', 'file'],
      ['e', 'directory', 'symlink'],
      ['f', 'file', 'directory'],
      ['l', 'symlink', 'directory'],
    ]);
    expect(paths(plan)).toMatchObject({ delete: ['d/x'], create: ['f/y'] });
  });
});

describe('prune', () => {
  const extras = { 'd/': null, 'd/x': 'x', l: { link: 'x' }, f: 'f' } as const;

  it('deletes only regular files by default and says what it leaves', async () => {
    const plan = await new ModelTree(extras).plan({});
    expect(paths(plan)).toEqual({ delete: ['d/x', 'f'] });
    expect(plan.omitted).toEqual([
      { path: 'd', reason: 'not-pruned' },
      { path: 'l', reason: 'not-pruned' },
    ]);
    expect(plan.exact).toBe(false);
  });

  it('deletes every captured extra when exact', async () => {
    const plan = await new ModelTree(extras).plan({}, { prune: 'exact' });
    expect(paths(plan)).toEqual({ delete: ['d', 'd/x', 'f', 'l'] });
    expect(plan).toMatchObject({ exact: true, omitted: [] });
  });

  it('deletes what an earlier restore brought, and leaves links and directories that came since', async () => {
    const brought = { ...extras, other: { link: 'x' } } as const;
    const restored = await new ModelTree(brought).captured();
    const now = new ModelTree({ ...extras, 'mine/': null, 'd/l': { link: 'x' }, other: { link: 'y' } });
    const plan = await now.plan({}, { restored });
    expect(paths(plan)).toEqual({ delete: ['d/x', 'f', 'l'] });
    expect(plan.omitted).toEqual(['d/l', 'mine', 'other'].map((path) => ({ path, reason: 'not-pruned' })));
    expect(plan.exact).toBe(false);
    const all = await new ModelTree(extras).plan({}, { restored });
    expect(paths(all)).toEqual({ delete: ['d', 'd/x', 'f', 'l'] });
    expect(all).toMatchObject({ exact: true, omitted: [] });
  });

  it('keeps a directory that keeps something', async () => {
    const tree = new ModelTree({ 'd/': null, 'd/x': 'x', 'd/big': 'big big' });
    const plan = await tree.plan({}, { prune: 'exact', scan: { limits: { fileBytes: 3 } } });
    expect(paths(plan)).toEqual({ delete: ['d/x'] });
    expect(plan.omitted).toEqual([{ path: 'd/big', reason: 'limit' }]);
    expect(plan.exact).toBe(false);
  });
});

describe('skipped is not absent', () => {
  it('leaves a live entry over the limit, whatever the target has there (T9)', async () => {
    const tree = new ModelTree({ small: 'sm', big: 'changed since' });
    const scan = { limits: { fileBytes: 5 } };
    const omitted = [{ path: Buffer.from('big'), reason: 'limit' as const }];
    const plan = await tree.plan({ small: file('s') }, { scan, define: { omitted } });
    expect(paths(plan)).toEqual({ replace: ['small'] });
    expect(plan.omitted).toEqual([{ path: 'big', reason: 'limit' }]);
    expect(plan.exact).toBe(true);
    const wanted = await tree.plan({ small: file('s'), big: file('old') }, { scan });
    expect(wanted.omitted).toEqual([{ path: 'big', reason: 'limit' }]);
    expect(wanted.exact).toBe(false);
  });

  it('leaves what the target left out although the live scan captures it now', async () => {
    const omitted = [{ path: Buffer.from('d'), reason: 'unreadable' as const }];
    const tree = new ModelTree({ 'd/': null, 'd/x': 'x' });
    const plan = await tree.plan({}, { prune: 'exact', define: { omitted } });
    expect(isEmptyPlan(plan)).toBe(true);
    expect(plan.omitted).toEqual([{ path: 'd', reason: 'target-omitted' }]);
  });

  it('leaves what the rules of the target ignore, with everything in it (T2)', async () => {
    const tree = new ModelTree({
      a: 'edited',
      'data/': null,
      'data/model': 'm',
      'output/': null,
      'output/run': 'r',
    });
    const plan = await tree.plan(
      { a: file('a') },
      { scan: { ignore: ['data'] }, define: { ignore: ['data'] } },
    );
    expect(paths(plan)).toEqual({ replace: ['a'], delete: ['output/run'] });
    expect(plan.omitted).toContainEqual({ path: 'data', reason: 'ignored' });
  });

  it('does not take a directory away from what stays in it', async () => {
    const tree = new ModelTree({ 'd/': null, 'd/x': 'x', 'd/keep': 'keep' });
    const plan = await tree.plan({ d: file('d') }, { scan: { ignore: ['d/keep'] } });
    expect(isEmptyPlan(plan)).toBe(true);
    expect(plan.omitted).toEqual([
      { path: 'd', reason: 'in-the-way' },
      { path: 'd/keep', reason: 'ignored' },
    ]);
    expect(plan.exact).toBe(false);
  });

  it('replaces a special node exactly where the target has an entry, and no other (T5)', async () => {
    const tree = new ModelTree({ 'd/': null });
    tree.fileSystem.plantSpecial('/root/a', 'fifo');
    tree.fileSystem.plantSpecial('/root/d/pipe', 'socket');
    const plan = await tree.plan({ a: file('a'), d: directory() }, { prune: 'exact' });
    expect(plan.retype).toEqual([{ path: 'a', kind: 'file', size: 1, mode: 0o600, from: 'fifo' }]);
    expect(plan.omitted).toEqual([{ path: 'd/pipe', reason: 'special' }]);
  });

  it('does not count own machinery against an exact result', async () => {
    const tree = new ModelTree({ 'mine/': null, 'mine/x': 'x' });
    const plan = await tree.plan({}, { prune: 'exact', scan: { reserved: ['mine'] } });
    expect(plan).toMatchObject({ exact: true, omitted: [{ path: 'mine', reason: 'reserved' }] });
  });

  it('touches uncaptured files when they are forced by path', async () => {
    const tree = new ModelTree({ big: 'big big', other: 'big too', extra: 'also big' });
    const scan = { limits: { fileBytes: 3 } };
    const plan = await tree.plan({ big: file('b'), other: file('o') }, { scan, force: ['big', 'extra'] });
    expect(plan.retype).toEqual([]);
    expect(paths(plan)).toEqual({ replace: ['big'], delete: ['extra'] });
    expect(plan.omitted).toEqual([{ path: 'other', reason: 'limit' }]);
  });
});

describe('conflicts', () => {
  it('are what the safety checkpoint found different', async () => {
    const tree = new ModelTree({ a: 'one', b: 'b', late: '' });
    const before = new ModelTree({ a: 'other', b: 'b' });
    const captured = await before.captured();
    const plan = await tree.plan({ a: file('A'), b: file('B') }, { captured });
    expect(plan.conflicts).toEqual([
      { path: 'a', reason: 'concurrent-change' },
      { path: 'late', reason: 'concurrent-change' },
    ]);
    expect(paths(plan)).toEqual({ replace: ['a', 'b'], delete: ['late'] });
    const skipping = await tree.plan({ a: file('A'), b: file('B') }, { captured, onConflict: 'skip' });
    expect(paths(skipping)).toEqual({ replace: ['b'] });
    expect(skipping.omitted).toEqual([
      { path: 'a', reason: 'conflict' },
      { path: 'late', reason: 'conflict' },
    ]);
    expect(skipping.exact).toBe(false);
  });

  it('leave alone what the safety checkpoint saw and did not hold', async () => {
    const tree = new ModelTree({ big: 'big big' });
    const captured = await tree.captured({ limits: { fileBytes: 3 } });
    const plan = await tree.plan({}, { captured, onConflict: 'overwrite' });
    expect(isEmptyPlan(plan)).toBe(true);
    expect(plan.omitted).toEqual([{ path: 'big', reason: 'uncaptured' }]);
    const forced = await tree.plan({}, { captured, force: ['big'] });
    expect(paths(forced)).toEqual({ delete: ['big'] });
  });

  it('mark what others changed in a shared root (T7)', async () => {
    const session = new ModelTree({ app: '1', server: '1' });
    const last = await session.captured();
    const now = new ModelTree({ app: '2', server: '3' });
    const foreign = { last, wrote: (path: string) => path === 'app' };
    const nodes = { app: file('1'), server: file('1') };
    const plan = await now.plan(nodes, { foreign });
    expect(plan.conflicts).toEqual([{ path: 'server', reason: 'foreign' }]);
    const skipping = await now.plan(nodes, { foreign, onConflict: 'skip' });
    expect(paths(skipping)).toEqual({ replace: ['app'] });
  });

  it('keep a whole directory when one of its children may not go', async () => {
    const tree = new ModelTree({ 'd/': null, 'd/x': 'x', 'd/late': 'late' });
    const captured = await new ModelTree({ 'd/': null, 'd/x': 'x' }).captured();
    const plan = await tree.plan({ d: file('d') }, { captured, onConflict: 'skip' });
    expect(isEmptyPlan(plan)).toBe(true);
  });
});

describe('chosen paths', () => {
  const tree = (): ModelTree =>
    new ModelTree({
      'front/': null,
      'front/app': '2',
      'front/extra': 'e',
      'back/': null,
      'back/server': '2',
    });
  const nodes = { front: directory(), 'front/app': file('1'), back: directory(), 'back/server': file('1') };

  it('are the only ones that change (T7)', async () => {
    const plan = await tree().plan(nodes, { paths: ['front/'] });
    expect(paths(plan)).toEqual({ replace: ['front/app'], delete: ['front/extra'] });
    expect(plan.exact).toBe(false);
  });

  it('bring the directories they need, and replace a link that leads elsewhere', async () => {
    const plan = await new ModelTree({ cfg: { link: '../outside' } }).plan(
      { 'cfg/f': file('good'), 'cfg/g': file('g') },
      { paths: ['cfg/f'] },
    );
    expect(plan.retype).toEqual([{ path: 'cfg', kind: 'directory', mode: 0o755, from: 'symlink' }]);
    expect(paths(plan)).toMatchObject({ create: ['cfg/f'] });
  });

  it('make an exact result when nothing else differs', async () => {
    const plan = await new ModelTree({ a: 'old', b: 'b' }).plan(
      { a: file('a'), b: file('b') },
      { paths: ['a'] },
    );
    expect(plan.exact).toBe(true);
  });

  it('must be somewhere', async () => {
    await expect(tree().plan(nodes, { paths: ['nowhere'] })).rejects.toThrow(RangeError);
    await expect(tree().plan(nodes, { paths: ['.'] })).resolves.toBeDefined();
  });

  it('below something that was left out are told with it', async () => {
    const plan = await tree().plan(nodes, { paths: ['back/server'], scan: { ignore: ['back'] } });
    expect(plan.omitted).toEqual([{ path: 'back', reason: 'ignored' }]);
  });

  for (const bad of ['../x', '/x', 'a//b', 'a/./b', 'a/..', 'x\0y']) {
    it(`may not leave the root: ${JSON.stringify(bad)}`, async () => {
      const error = await tree()
        .plan(nodes, { paths: [bad] })
        .catch((caught: unknown) => caught);
      expect(WorkspaceRestoreError.is(error) && error.kind).toBe('path-escape');
    });
  }

  it('are text', async () => {
    await expect(tree().plan(nodes, { paths: [7 as never] })).rejects.toThrow(TypeError);
  });
});

describe('modes', () => {
  it('keep live set-id bits', async () => {
    const tree = new ModelTree({ tool: 'tool' });
    const dir = tree.fileSystem.openRoot('/root');
    tree.fileSystem.chmodAt(dir, Buffer.from('tool'), 0o4755);
    const same = await tree.plan({ tool: file('tool', 0o755) });
    expect(isEmptyPlan(same)).toBe(true);
    const plan = await tree.plan({ tool: file('tool', 0o700) });
    expect(plan.chmod).toEqual([{ path: 'tool', kind: 'file', size: 4, mode: 0o4700, from: '4755' }]);
  });

  it('are never changed on an inode with other names', async () => {
    const tree = new ModelTree({ a: 'same' });
    const dir = tree.fileSystem.openRoot('/root');
    tree.fileSystem.link(dir, Buffer.from('a'), dir, Buffer.from('b'));
    const plan = await tree.plan({ a: file('same', 0o644), b: file('same') });
    expect(paths(plan)).toEqual({ chmod: ['a'] });
    expect(plan.bytes).toBe(4);
  });
});
