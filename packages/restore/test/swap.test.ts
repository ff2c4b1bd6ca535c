import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import {
  previewRestore,
  type RestoreStrategy,
  reconcile,
  swap,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type Bench, bench } from './support/bench.js';

type Ref = ReturnType<Bench['source']['capture']>;

function build(b: Bench): Ref {
  mkdirSync(join(b.root, 'd/empty'), { recursive: true });
  writeFileSync(join(b.root, 'a'), 'a');
  writeFileSync(join(b.root, 'same'), 'same', { mode: 0o600 });
  symlinkSync('a', join(b.root, 'l'));
  chmodSync(join(b.root, 'd/empty'), 0o500);
  const ref = b.source.capture(b.root);
  writeFileSync(join(b.root, 'a'), 'changed');
  rmSync(join(b.root, 'l'));
  mkdirSync(join(b.root, 'extra'));
  return ref;
}

const strategy = swap();
const restoreId = '0123456789abcdef0123456789abcdef';

describe('swap', () => {
  it('leaves exactly the target under the name of the root', async () => {
    const b = bench();
    const ref = build(b);
    const inode = statSync(b.root).ino;
    const plan = await previewRestore(b.source, ref, b.root, { strategy });
    expect(plan).toMatchObject({ strategy: 'swap', exact: true });
    const receipt = await b.restore(ref, { strategy, plan, verify: 'all' });
    expect(receipt).toMatchObject({
      strategy: 'swap',
      exact: true,
      replaced: 1,
      created: 1,
      deleted: 1,
      verified: 'all',
    });
    expect(receipt.notes).toBeUndefined();
    expect(b.source.capture(b.root)).toBe(ref);
    expect(statSync(b.root).ino).not.toBe(inode);
    expect(readdirSync(b.base)).toEqual(['root']);
    // What was unchanged came from the live tree, as an inode of its own.
    expect(b.source.fetched).toBe(1);
  });

  it('carries live set-id bits over', async () => {
    const b = bench();
    const ref = build(b);
    chmodSync(join(b.root, 'same'), 0o4600);
    await b.restore(ref, { strategy });
    expect(statSync(join(b.root, 'same')).mode & 0o7777).toBe(0o4600);
  });

  it('keeps the old tree when somebody wrote into it at the last moment', async () => {
    const b = bench();
    const ref = build(b);
    const onStep = (step: string): void => {
      if (step === 'clean-up') writeFileSync(join(b.base, '.root.backup/late'), 'late');
    };
    const receipt = await b.restore(ref, { strategy, onStep });
    expect(receipt.notes?.map(({ kind }) => kind)).toEqual(['backup-kept']);
    expect(readFileSync(join(b.base, '.root.backup/late'), 'utf8')).toBe('late');
    expect(b.source.capture(b.root)).toBe(ref);
    const again = await b.restore(ref, { strategy });
    expect(again).toMatchObject({ strategy: 'reconcile' });
    expect(again.notes?.[0]?.detail).toContain('.root.backup');
  });
});

describe('what somebody else makes beside the root while a swap begins', () => {
  const stages: Readonly<Record<string, RestoreStrategy['stage']>> = {
    'which then succeeds': (context) => strategy.stage(context),
    'which then fails': () => Promise.reject(new Error('stop')),
  };
  for (const [name, stage] of Object.entries(stages)) {
    it(`stays, whatever its name suggests, ${name}`, async () => {
      const b = bench();
      const ref = build(b);
      const theirs = join(b.base, '.root.staging');
      const raced: RestoreStrategy = {
        ...strategy,
        stage: async (context) => {
          mkdirSync(theirs);
          writeFileSync(join(theirs, 'letter'), 'theirs');
          await stage(context);
        },
      };
      await b.restore(ref, { strategy: raced }).catch((error: unknown) => {
        expect(WorkspaceRestoreError.is(error) && error.kind).toBe('materialize-failed');
      });
      expect(readFileSync(join(theirs, 'letter'), 'utf8')).toBe('theirs');
      expect(readdirSync(b.base).sort()).toEqual(['.root.staging', 'root']);
      expect(b.source.capture(b.root) === ref).toBe(name === 'which then succeeds');
    });
  }
});

describe('where a swap would lose something', () => {
  const reasons: Readonly<Record<string, (b: Bench, ref: Ref) => Parameters<Bench['restore']>[1]>> = {
    'an entry is left alone': (b) => {
      writeFileSync(join(b.root, 'big'), 'x'.repeat(100));
      return { scan: { limits: { fileBytes: 50 } } };
    },
    'only a part is restored': () => ({ paths: ['a'] }),
    'a process is known to stand in the root': () => ({ occupied: () => true }),
    'scratch is inside the root': () => ({ scratch: 'inside' }),
    'something has the name of the backup': (b) => {
      mkdirSync(join(b.base, '.root.backup'));
      return {};
    },
    'something has the name of the staging': (b) => {
      writeFileSync(join(b.base, `.root.staging-${restoreId}`), '');
      return { restoreId };
    },
  };

  for (const [name, arrange] of Object.entries(reasons)) {
    it(`the tree is reconciled and the receipt says why: ${name}`, async () => {
      const b = bench();
      const ref = build(b);
      const options = arrange(b, ref) ?? {};
      const inode = statSync(b.root).ino;
      const receipt = await b.restore(ref, { strategy, ...options });
      expect(receipt.strategy).toBe('reconcile');
      expect(receipt.notes?.[0]).toMatchObject({ kind: 'swap-unavailable' });
      expect(statSync(b.root).ino).toBe(inode);
      expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('a');
      if (!('paths' in options)) expect(existsSync(join(b.root, 'extra'))).toBe(false);
    });
  }

  it('is refused when a swap was demanded', async () => {
    const b = bench();
    const ref = build(b);
    const error = await b
      .restore(ref, { strategy: swap({ fallback: false }), occupied: () => true })
      .catch((caught: unknown) => caught);
    expect(WorkspaceRestoreError.is(error) && error.kind).toBe('swap-unavailable');
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    expect(readdirSync(b.base)).toEqual(['root']);
  });

  it('sees a process that stands in the root', async () => {
    const b = bench();
    const ref = build(b);
    const child = spawn(process.execPath, ['-e', 'console.log(1); setTimeout(() => {}, 60000)'], {
      cwd: b.root,
    });
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      const receipt = await b.restore(ref, { strategy });
      expect(receipt.notes?.[0]?.detail).toContain('stands in the root');
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('takes everything back when the old root cannot be moved', async () => {
    const b = bench();
    const ref = build(b);
    const onStep = (step: string): void => {
      if (step === 'commit') mkdirSync(join(b.base, '.root.backup'));
    };
    const error = await b.restore(ref, { strategy, onStep }).catch((caught: unknown) => caught);
    expect(WorkspaceRestoreError.is(error) && error.kind).toBe('concurrent-change');
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    expect(b.journal.types).toBe('started aborted');
    expect(readdirSync(b.base).sort()).toEqual(['.root.backup', 'root']);
  });
});

describe('the choice of a strategy', () => {
  it('decides how a plan prunes unless the caller says otherwise', async () => {
    const b = bench();
    const ref = build(b);
    const paths = async (options: Parameters<typeof previewRestore>[3]) =>
      (await previewRestore(b.source, ref, b.root, options)).delete.map(({ path }) => path);
    expect(await paths({})).toEqual([]);
    expect(await paths({ strategy: reconcile({ prune: 'exact' }) })).toEqual(['extra']);
    expect(await paths({ strategy })).toEqual(['extra']);
    expect(await paths({ strategy, prune: 'files' })).toEqual([]);
  });
});
