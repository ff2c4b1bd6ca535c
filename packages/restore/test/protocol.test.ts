import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { nodeFileSystem } from '@holdfast/durable';
import { ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import {
  previewRestore,
  type RestorePlan,
  RestoreTargetError,
  reconcile,
  ScratchUnavailableError,
  swap,
  VerificationError,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type Bench, bench } from './support/bench.js';
import { WatchedFileSystem, withCalls } from './support/forwarding.js';

/** A root with one changed, one new and one deleted file, and the ref to go back to. */
function changed(b: Bench): ReturnType<Bench['source']['capture']> {
  mkdirSync(b.root);
  writeFileSync(join(b.root, 'a'), 'old');
  writeFileSync(join(b.root, 'gone'), 'gone');
  const ref = b.source.capture(b.root);
  writeFileSync(join(b.root, 'a'), 'changed');
  unlinkSync(join(b.root, 'gone'));
  writeFileSync(join(b.root, 'fresh'), 'fresh');
  return ref;
}

const isChanged = (b: Bench): boolean =>
  readFileSync(join(b.root, 'a'), 'utf8') === 'changed' &&
  readdirSync(b.root).sort().join() === 'a,fresh' &&
  readdirSync(b.base).filter((name) => name !== 'root').length === 0;

async function kindOf(attempt: Promise<unknown>): Promise<string | undefined> {
  const error = await attempt.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (error === undefined) return undefined;
  return WorkspaceRestoreError.is(error) ? error.kind : `not a restore error: ${(error as Error).message}`;
}

describe('the journal', () => {
  it('fences: nothing is touched when it does not take the start', async () => {
    const b = bench();
    const ref = changed(b);
    b.journal.failOn = 'started';
    expect(await kindOf(b.restore(ref))).toBe('append-failed');
    expect(isChanged(b)).toBe(true);
  });

  it('fails the caller when it does not take the event; the tree is the new one', async () => {
    const b = bench();
    const ref = changed(b);
    b.journal.failOn = 'restored';
    const error = await b.restore(ref).catch((caught: unknown) => caught);
    expect(WorkspaceRestoreError.is(error) && [error.kind, error.effect]).toEqual([
      'append-failed',
      'unknown',
    ]);
    expect(b.source.capture(b.root)).toBe(ref);
    expect(existsSync(join(b.base, '.root.holdfast/session-1/intent'))).toBe(true);
    b.journal.failOn = undefined;
    expect(await kindOf(b.restore(ref))).toBe('recovery-refused');
    expect(await b.restore(ref, { settled: () => true })).toMatchObject({ kept: 2 });
    expect(readdirSync(b.base)).toEqual(['root']);
  });

  it('hears of an abort after the old tree is certain, and both failures are kept when it does not take that', async () => {
    const b = bench();
    const ref = changed(b);
    b.source.tamper = (entry, bytes) => (entry.path.length === 1 ? Buffer.from('lie') : bytes);
    expect(await kindOf(b.restore(ref))).toBe('materialize-failed');
    expect(b.journal.types).toBe('started aborted');
    expect(isChanged(b)).toBe(true);
    b.journal.failOn = 'aborted';
    const error = await b.restore(ref).catch((caught: unknown) => caught);
    expect(WorkspaceRestoreError.is(error) && error.kind).toBe('materialize-failed');
    expect((findCause(error, AggregateErrorLike) as AggregateError).errors).toHaveLength(2);
  });

  it('is asked for nothing while the lease is not certainly held', async () => {
    const b = bench();
    const ref = changed(b);
    const health = (): void => {
      throw new Error('lease lost');
    };
    expect(await kindOf(b.restore(ref, { health }))).toBe('lease-unhealthy');
    expect(isChanged(b)).toBe(true);
  });
});

const AggregateErrorLike = {
  prototype: AggregateError.prototype,
  is: (value: unknown) => value instanceof AggregateError,
};

describe('a plan that was shown', () => {
  it('is committed as it is, also after a round trip through JSON', async () => {
    const b = bench();
    const ref = changed(b);
    const plan = JSON.parse(JSON.stringify(await previewRestore(b.source, ref, b.root))) as RestorePlan;
    const receipt = await b.restore(ref, { plan });
    expect(receipt).toMatchObject({ replaced: 1, created: 1, deleted: 1 });
    expect(b.source.capture(b.root)).toBe(ref);
  });

  it('is refused when the tree is no longer what it was made from', async () => {
    const b = bench();
    const ref = changed(b);
    const plan = await previewRestore(b.source, ref, b.root);
    writeFileSync(join(b.root, 'fresh'), 'written meanwhile');
    const json = JSON.parse(JSON.stringify(plan)) as RestorePlan;
    expect(await kindOf(b.restore(ref, { plan }))).toBe('concurrent-change');
    // What it shows is still true of this tree: a deletion names no content.
    expect(await kindOf(b.restore(ref, { plan: { ...json, base: '0'.repeat(64) } }))).toBe(
      'concurrent-change',
    );
    expect(readFileSync(join(b.root, 'fresh'), 'utf8')).toBe('written meanwhile');
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
  });

  it('is refused when the safety checkpoint holds something else', async () => {
    const b = bench();
    const ref = changed(b);
    const plan = await previewRestore(b.source, ref, b.root);
    const safetyRef = b.source.define({ a: { kind: 'file', content: 'between' } });
    expect(await kindOf(b.restore(ref, { plan, safetyRef }))).toBe('concurrent-change');
    expect(isChanged(b)).toBe(true);
    const receipt = await b.restore(ref, { plan, safetyRef: b.source.capture(b.root) });
    expect(receipt.safetyRef).toBeDefined();
  });

  it('must be for the ref and the root that are restored', async () => {
    const b = bench();
    const ref = changed(b);
    const plan = await previewRestore(b.source, ref, b.root);
    await expect(b.restore(b.source.capture(b.root), { plan })).rejects.toThrow(TypeError);
    renameSync(b.root, join(b.base, 'moved'));
    mkdirSync(b.root);
    expect(await kindOf(b.restore(ref, { plan }))).toBe('root-replaced');
  });

  it('with conflicts needs a choice', async () => {
    const b = bench();
    const ref = changed(b);
    const captured = await b.source.openTree(b.source.define({ a: { kind: 'file', content: 'x' } }));
    expect(await kindOf(b.restore(ref, { captured }))).toBe('concurrent-change');
    const skipping = await b.restore(ref, { captured, onConflict: 'skip' });
    expect(skipping.conflicts.map(({ path }) => path)).toEqual(['a', 'fresh']);
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    await b.restore(ref, { captured, onConflict: 'overwrite' });
    expect(b.source.capture(b.root)).toBe(ref);
  });
});

describe('a path that changes after the plan', () => {
  const after = (b: Bench, change: () => void) => ({
    onStep: (step: string) => {
      if (step === 'secure') change();
    },
    settled: () => true,
    ...(b.root === '' ? {} : {}),
  });

  it('fails the restore, is overwritten or is left alone, as asked', async () => {
    for (const onConflict of ['fail', 'overwrite', 'skip'] as const) {
      const b = bench();
      const ref = changed(b);
      const change = (): void => {
        writeFileSync(join(b.root, 'a'), 'meanwhile');
      };
      const attempt = b.restore(ref, { ...after(b, change), onConflict });
      if (onConflict === 'fail') {
        expect(await kindOf(attempt)).toBe('concurrent-change');
        expect(readFileSync(join(b.root, 'fresh'), 'utf8')).toBe('fresh');
      } else {
        const receipt = await attempt;
        expect(receipt.conflicts).toEqual([{ path: 'a', reason: 'concurrent-change' }]);
        expect(receipt.exact).toBe(onConflict === 'overwrite');
        expect(receipt.replaced).toBe(onConflict === 'overwrite' ? 1 : 0);
      }
      expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe(onConflict === 'overwrite' ? 'old' : 'meanwhile');
      expect(readdirSync(b.base)).toEqual(['root']);
    }
  });

  it('is never overwritten by something that the plan creates', async () => {
    const b = bench();
    const ref = changed(b);
    const change = (): void => {
      writeFileSync(join(b.root, 'gone'), 'somebody wrote this');
    };
    expect(await kindOf(b.restore(ref, after(b, change)))).toBe('concurrent-change');
    expect(readFileSync(join(b.root, 'gone'), 'utf8')).toBe('somebody wrote this');
  });

  it('may simply be gone when it is overwritten anyway', async () => {
    const b = bench();
    const ref = changed(b);
    const change = (): void => {
      unlinkSync(join(b.root, 'a'));
      unlinkSync(join(b.root, 'fresh'));
    };
    await b.restore(ref, { ...after(b, change), onConflict: 'overwrite' });
    expect(b.source.capture(b.root)).toBe(ref);
  });

  it('refuses in every mode what cannot be left out', async () => {
    for (const onConflict of ['overwrite', 'skip'] as const) {
      const b = bench();
      mkdirSync(join(b.root, 'd'), { recursive: true });
      writeFileSync(join(b.root, 'd/x'), 'x');
      const ref = b.source.capture(b.root);
      rmSync(join(b.root, 'd'), { recursive: true });
      writeFileSync(join(b.root, 'd'), 'file');
      const change = (): void => {
        unlinkSync(join(b.root, 'd'));
        mkdirSync(join(b.root, 'd'));
      };
      expect(await kindOf(b.restore(ref, { ...after(b, change), onConflict }))).toBe('concurrent-change');
      expect(statSync(join(b.root, 'd')).isDirectory()).toBe(true);
    }
  });

  it('makes a directory that somebody filled a conflict, and everything else comes back', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'a'), 'old');
    const ref = b.source.capture(b.root);
    writeFileSync(join(b.root, 'a'), 'changed');
    mkdirSync(join(b.root, 'extra'));
    const change = (): void => {
      writeFileSync(join(b.root, 'extra/late'), 'late');
    };
    const strategy = reconcile({ prune: 'exact' });
    expect(await kindOf(b.restore(ref, { ...after(b, change), strategy }))).toBe('concurrent-change');
    expect(readFileSync(join(b.root, 'extra/late'), 'utf8')).toBe('late');
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    expect(b.journal.types).toBe('started aborted');
  });
});

describe('the root', () => {
  it('may not be a symlink, a file or absent', async () => {
    const b = bench();
    const ref = changed(b);
    symlinkSync('root', join(b.base, 'link'));
    writeFileSync(join(b.base, 'file'), '');
    const preview = (name: string) => kindOf(previewRestore(b.source, ref, join(b.base, name)));
    expect(await preview('link')).toBe('symlink-root');
    expect(await preview('file')).toBe('root-replaced');
    expect(await preview('absent')).toBe('root-replaced');
    await expect(previewRestore(b.source, ref, 'relative')).rejects.toThrow(TypeError);
    const filesystemRoot = await previewRestore(b.source, ref, '/').catch((caught: unknown) => caught);
    expect(ScratchUnavailableError.is(filesystemRoot) && filesystemRoot.kind).toBe('filesystem-root');
  });

  it('is refused when it is not the one that the session took', async () => {
    const b = bench();
    const ref = changed(b);
    const rootIdentity = { inode: '1', birthtimeNs: '1' };
    expect(await kindOf(b.restore(ref, { rootIdentity }))).toBe('root-replaced');
    expect(isChanged(b)).toBe(true);
  });

  for (const step of ['stage', 'secure', 'commit', 'verify'] as const) {
    it(`may be replaced in the middle: ${step}`, async () => {
      const b = bench();
      const ref = changed(b);
      const onStep = (now: string): void => {
        if (now !== step) return;
        renameSync(b.root, join(b.base, 'moved'));
        mkdirSync(b.root);
        writeFileSync(join(b.root, 'theirs'), 'theirs');
      };
      const kind = await kindOf(b.restore(ref, { onStep }));
      expect(['root-replaced', 'rollback-failed', 'concurrent-change', 'reconcile-failed']).toContain(kind);
      expect(readdirSync(b.root)).toEqual(['theirs']);
      if (kind !== 'rollback-failed') expect(readFileSync(join(b.base, 'moved/a'), 'utf8')).toBe('changed');
      else expect(existsSync(join(b.base, '.root.holdfast/session-1/work/undo'))).toBe(true);
    });
  }
});

describe('scratch', () => {
  it('is refused where it cannot be', async () => {
    const b = bench();
    const ref = changed(b);
    const disk = nodeFileSystem();
    let mounts = 0;
    const mounted = withCalls(disk, {
      mountId: () => {
        mounts += 1;
        return String(mounts);
      },
    });
    const error = await b.restore(ref, { fileSystem: mounted }).catch((caught: unknown) => caught);
    expect(ScratchUnavailableError.is(error) && error.kind).toBe('mount-point');
    expect(String(error)).toContain("scratch: 'inside'");
    expect(isChanged(b)).toBe(true);
    const receipt = await b.restore(ref, { fileSystem: mounted, scratch: 'inside' });
    expect(receipt.exact).toBe(true);
    expect(readdirSync(b.root).sort()).toEqual(['a', 'gone']);
  });

  it('inside refuses a target that has its name', async () => {
    const b = bench();
    changed(b);
    const ref = b.source.define({ '.holdfast-scratch/x': { kind: 'file', content: 'x' } });
    const error = await b.restore(ref, { scratch: 'inside' }).catch((caught: unknown) => caught);
    expect(findCause(error, RestoreTargetError)?.rule).toBe('reserved');
    expect(readdirSync(b.root).sort()).toEqual(['a', 'fresh']);
  });

  it('is refused when somebody planted something under its name', async () => {
    const plants: readonly ((path: string, base: string) => void)[] = [
      (path) => {
        writeFileSync(path, '');
      },
      (path, base) => {
        mkdirSync(join(base, 'elsewhere'));
        symlinkSync('elsewhere', path);
      },
      (path) => {
        mkdirSync(path, { mode: 0o755 });
      },
    ];
    for (const plant of plants) {
      const b = bench();
      const ref = changed(b);
      plant(join(b.base, '.root.holdfast'), b.base);
      const error = await b.restore(ref).catch((caught: unknown) => caught);
      expect(ScratchUnavailableError.is(error) && error.kind).toBe('not-private');
      expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    }
  });

  it('fits beside a root whose name has 255 bytes', async () => {
    const b = bench();
    const root = join(b.base, 'r'.repeat(255));
    mkdirSync(root);
    writeFileSync(join(root, 'a'), 'a');
    const ref = b.source.capture(root);
    writeFileSync(join(root, 'a'), 'changed');
    const { applyRestore } = await import('@holdfast/restore');
    const receipt = await applyRestore(b.source, ref, root, { ...b.options(), strategy: swap() });
    expect(receipt).toMatchObject({ strategy: 'reconcile', replaced: 1 });
    expect(receipt.notes?.map(({ kind }) => kind)).toEqual(['swap-unavailable']);
    expect(readdirSync(b.base)).toHaveLength(1);
  });

  it('needs a sensible session and restore id', async () => {
    const b = bench();
    const ref = changed(b);
    for (const session of ['', 'UPPER', '../x', 'lock', 'quarantine-1']) {
      await expect(b.restore(ref, { session })).rejects.toThrow(TypeError);
    }
    await expect(b.restore(ref, { restoreId: 'short' })).rejects.toThrow(TypeError);
  });

  it('tells names apart, or the target is refused', async () => {
    const b = bench();
    mkdirSync(b.root);
    const ref = b.source.define({
      'Logo.png': { kind: 'file', content: 'L' },
      'logo.png': { kind: 'file', content: 'l' },
    });
    const disk = nodeFileSystem();
    const folding = withCalls(disk, {
      lstat: (dir, name) => {
        const folded = Buffer.from(name).toString('utf8').toLowerCase();
        const twin = disk
          .readdir(dir)
          .find((entry) => Buffer.from(entry).toString('utf8').toLowerCase() === folded);
        return twin === undefined ? undefined : disk.lstat(dir, twin);
      },
    });
    const error = await b.restore(ref, { fileSystem: folding }).catch((caught: unknown) => caught);
    const refused = findCause(error, RestoreTargetError);
    expect(refused?.rule).toBe('collision');
    expect(readdirSync(b.base)).toEqual(['root']);
    expect((await b.restore(ref)).created).toBe(2);
  });
});

describe('what is read back', () => {
  it('fails the restore when it is not what was written, and the old tree is back', async () => {
    const b = bench();
    const ref = changed(b);
    const onStep = (step: string): void => {
      if (step === 'verify') writeFileSync(join(b.root, 'gone'), 'damaged');
    };
    const error = await b.restore(ref, { onStep }).catch((caught: unknown) => caught);
    expect(WorkspaceRestoreError.is(error)).toBe(true);
    expect(findCause(error, VerificationError)?.paths).toEqual(['gone']);
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('changed');
    expect(readFileSync(join(b.root, 'fresh'), 'utf8')).toBe('fresh');
  });

  it('is the whole tree when asked', async () => {
    const b = bench();
    const ref = changed(b);
    writeFileSync(join(b.root, 'keep'), 'keep');
    const onStep = (step: string): void => {
      if (step === 'commit') writeFileSync(join(b.root, 'unexpected'), '');
    };
    const error = await b.restore(ref, { onStep, verify: 'all' }).catch((caught: unknown) => caught);
    expect(findCause(error, VerificationError)?.paths).toEqual(['unexpected']);
    expect((await b.restore(ref, { verify: 'none' })).verified).toBe('none');
  });

  it('does not insist on modes that the file system does not keep', async () => {
    const b = bench();
    const ref = changed(b);
    const disk = nodeFileSystem();
    const modeless = withCalls(disk, { chmod: () => undefined, chmodAt: () => undefined });
    const receipt = await b.restore(ref, { fileSystem: modeless });
    expect(receipt.notes?.map(({ kind }) => kind)).toContain('modes-unsupported');
  });
});

describe('cancellation', () => {
  for (const [label, strategy] of [
    ['reconcile', reconcile({ prune: 'exact' })],
    ['swap', swap({ fallback: false })],
  ] as const) {
    it(`at any call of ${label} rejects with its own reason and the old tree, or comes too late`, async () => {
      let late = 0;
      let cancelled = 0;
      for (let nth = 1; ; nth += 1) {
        const model = new ModelFileSystem();
        writeTree(model, '/', {
          'base/': null,
          'base/root/': null,
          'base/root/a': 'old',
          'base/root/gone': 'gone',
        });
        const controller = new AbortController();
        const reason = new Error('enough');
        const watched = new WatchedFileSystem(model, (_call, count) => {
          if (count === nth) controller.abort(reason);
        });
        const b = bench(watched, '/base');
        const ref = b.source.define(
          { a: { kind: 'file', content: 'new' }, d: { kind: 'directory' } },
          { rootMode: 0o700 },
        );
        const before = readTree(model, '/base/root');
        const outcome = await b
          .restore(ref, { strategy, signal: controller.signal, clock: new ManualClock() })
          .then(
            () => 'done',
            (error: unknown) => error,
          );
        const leftovers = Object.keys(readTree(model, '/base')).filter((path) => !path.startsWith('root'));
        expect(leftovers).toEqual([]);
        if (outcome === 'done') {
          late += 1;
          expect(readTree(model, '/base/root')).toMatchObject({ a: 'file 644 "new"' });
        } else {
          cancelled += 1;
          expect(outcome).toBe(reason);
          expect(readTree(model, '/base/root')).toEqual(before);
          expect(b.journal.types).not.toContain('restored');
          expect(['', 'started aborted']).toContain(b.journal.types);
        }
        if (watched.count < nth) break;
      }
      expect(cancelled).toBeGreaterThan(60);
      expect(late).toBeGreaterThan(40);
    });
  }

  it('before the beginning has no effect at all', async () => {
    const b = bench();
    const ref = changed(b);
    const reason = new Error('never mind');
    await expect(b.restore(ref, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(isChanged(b)).toBe(true);
    expect(b.journal.types).toBe('');
  });
});

describe('one restore at a time', () => {
  it('is what the host lock is for', async () => {
    const b = bench();
    const ref = changed(b);
    const places: string[] = [];
    let held = 0;
    const hostLock = async (place: string): Promise<AsyncDisposable> => {
      places.push(place);
      held += 1;
      expect(held).toBe(1);
      return await Promise.resolve({
        [Symbol.asyncDispose]: async () => {
          held -= 1;
          await Promise.resolve();
        },
      });
    };
    await b.restore(ref, { hostLock });
    await b.restore(ref, { hostLock });
    expect(places).toEqual([
      `${b.root.replace('/root', '/.root')}.holdfast`,
      `${b.root.replace('/root', '/.root')}.holdfast`,
    ]);
    expect(held).toBe(0);
  });

  it('is refused while another session’s restore is open', async () => {
    const b = bench();
    const ref = changed(b);
    b.journal.failOn = 'restored';
    await b.restore(ref).catch(() => undefined);
    const intent = join(b.base, '.root.holdfast/session-1/intent');
    const lines = readFileSync(intent, 'latin1').split('\n').slice(0, 3);
    writeFileSync(intent, `${lines.join('\n')}\n`, 'latin1');
    b.journal.failOn = undefined;
    expect(await kindOf(b.restore(ref, { session: 'session-2' }))).toBe('recovery-refused');
  });
});
