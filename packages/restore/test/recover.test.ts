import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { findCause, type JsonValue } from '@holdfast/base';
import { nodeFileSystem } from '@holdfast/durable';
import {
  insideScratchName,
  type RecoverOptions,
  type RecoveryResult,
  type RestoreIntent,
  RestoreIntentError,
  type RestoreStrategy,
  readOutcomes,
  readOwner,
  reconcile,
  recover,
  scratchPath,
  swap,
  sweepScratch,
  UndoTaintedError,
  WorkspaceRestoreError,
  writeOwner,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type Bench, bench, inertLock } from './support/bench.js';
import { WatchedFileSystem } from './support/forwarding.js';

const dead: RecoverOptions = { isAlive: () => 'dead' };

/** Stops a strategy in the middle, as a kill would: nothing of the ending runs. */
function killedAt(
  strategy: RestoreStrategy,
  step: 'stage' | 'secure' | 'commit' | 'committed',
): RestoreStrategy {
  const never = new Promise<never>(() => undefined);
  const kill = async (): Promise<never> => {
    killed?.();
    return await never;
  };
  let killed: (() => void) | undefined;
  const wrapped: RestoreStrategy & { whenKilled?: Promise<void> } = {
    ...strategy,
    stage: async (context) => {
      await strategy.stage(context);
      if (step === 'stage') await kill();
    },
    secure: async (context) => {
      const state = await strategy.secure(context);
      if (step === 'secure') await kill();
      return state;
    },
    commit: async (context, state) => {
      if (step === 'commit') {
        await strategy.commit(context, state);
        await kill();
      }
      await strategy.commit(context, state);
    },
  };
  wrapped.whenKilled = new Promise((resolve) => {
    killed = resolve;
  });
  return wrapped;
}

interface Interrupted extends Bench {
  readonly old: string;
  readonly wanted: string;
  readonly scratch: string;
  recover(options?: Partial<RecoverOptions>): Promise<RecoveryResult>;
  state(): string;
}

/** A restore that was cut off; its process is gone. */
async function interrupted(
  step: 'stage' | 'secure' | 'commit' | 'committed',
  strategy: RestoreStrategy = reconcile({ prune: 'exact' }),
): Promise<Interrupted> {
  const b = bench();
  mkdirSync(join(b.root, 'd'), { recursive: true });
  writeFileSync(join(b.root, 'a'), 'new');
  writeFileSync(join(b.root, 'd/x'), 'x');
  symlinkSync('a', join(b.root, 'l'));
  const wanted = b.source.capture(b.root);
  writeFileSync(join(b.root, 'a'), 'old');
  rmSync(join(b.root, 'd'), { recursive: true });
  writeFileSync(join(b.root, 'd'), 'a file');
  unlinkSync(join(b.root, 'l'));
  writeFileSync(join(b.root, 'extra'), 'extra');
  const old = b.source.capture(b.root);
  if (step === 'committed') {
    b.journal.failOn = 'restored';
    await b.restore(wanted, { strategy, owner: { pid: 7 } }).catch(() => undefined);
    b.journal.failOn = undefined;
  } else {
    const dying = killedAt(strategy, step) as RestoreStrategy & { whenKilled: Promise<void> };
    b.restore(wanted, { strategy: dying, owner: { pid: 7 } }).catch(() => undefined);
    await dying.whenKilled;
  }
  const state = (): string => {
    const ref = b.source.capture(b.root);
    return ref === old ? 'old' : ref === wanted ? 'new' : 'mixed';
  };
  return {
    ...b,
    old,
    wanted,
    scratch: scratchPath(b.root),
    recover: (options) => recover(b.root, { ...dead, ...options }),
    state,
  };
}

async function refusal(attempt: Promise<unknown>): Promise<WorkspaceRestoreError> {
  const error = await attempt.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!WorkspaceRestoreError.is(error)) throw new Error(`not refused: ${String(error)}`);
  expect(error.kind).toBe('recovery-refused');
  return error;
}

const clean = (b: Interrupted): Promise<unknown> =>
  sweepScratch(b.root, { settled: () => true, scan: (path) => b.source.scan(path) });

describe('recovery', () => {
  it('finds nothing where nothing was', async () => {
    const b = bench();
    mkdirSync(b.root);
    expect(await recover(b.root, dead)).toEqual({ action: 'none' });
    expect(readOutcomes(b.root)).toEqual([]);
    expect(await recover(join(b.base, 'absent'), dead)).toEqual({ action: 'none' });
  });

  for (const [label, strategy] of [
    ['reconcile', reconcile({ prune: 'exact' })],
    ['swap', swap()],
  ] as const) {
    for (const step of ['stage', 'secure', 'commit'] as const) {
      it(`takes ${label} back that was cut off after ${step}, once and for all`, async () => {
        const b = await interrupted(step, strategy);
        const result = await b.recover();
        expect(result).toMatchObject({ action: 'undone', ref: b.wanted });
        expect(b.state()).toBe('old');
        expect(await b.recover()).toEqual(result);
        expect(readOutcomes(b.root)).toMatchObject([{ phase: 'undone', session: 'session-1' }]);
        expect(await sweepScratch(b.root, { settled: () => false })).toMatchObject({ removed: 0, kept: 1 });
        expect(await clean(b)).toMatchObject({ removed: 1, kept: 0 });
        expect(readdirSync(b.base)).toEqual(['root']);
        expect(await b.recover()).toEqual({ action: 'none' });
      });
    }

    it(`keeps ${label} that was committed, with the event to append`, async () => {
      const b = await interrupted('committed', strategy);
      expect(await b.recover()).toMatchObject({ action: 'kept', ref: b.wanted });
      expect(b.state()).toBe('new');
      const [outcome] = readOutcomes(b.root);
      expect(outcome).toMatchObject({ phase: 'committed', position: 1, ref: b.wanted, epoch: 0 });
      expect(JSON.parse(Buffer.from(outcome?.event ?? []).toString())).toEqual({
        id: outcome?.restoreId,
        ref: b.wanted,
      });
      expect(outcome?.paths).toContain('a');
      await clean(b);
      expect(readdirSync(b.base)).toEqual(['root']);
      expect(b.state()).toBe('new');
    });
  }

  it('puts a root back that is absent (T8)', async () => {
    const b = await interrupted('secure', swap());
    await b.recover().catch(() => undefined);
    const c = await interrupted('commit', swap());
    renameSync(c.root, join(c.base, '.root.staging'));
    expect(existsSync(c.root)).toBe(false);
    expect((await c.recover()).action).toBe('undone');
    expect(c.state()).toBe('old');
  });

  it('deletes nothing while the root is absent', async () => {
    const b = await interrupted('stage');
    renameSync(b.root, join(b.base, 'gone'));
    await refusal(b.recover());
    expect(existsSync(join(b.scratch, 'session-1/work/new'))).toBe(true);
    expect(await sweepScratch(b.root, { settled: () => true })).toMatchObject({ removed: 0 });
    renameSync(join(b.base, 'gone'), b.root);
    expect((await b.recover()).action).toBe('undone');
    const c = await interrupted('committed', swap());
    renameSync(c.root, join(c.base, 'gone'));
    await refusal(c.recover());
    expect(existsSync(join(c.base, '.root.backup'))).toBe(true);
  });

  it('keeps out of a restore whose process lives or cannot be judged', async () => {
    const b = await interrupted('commit');
    const asked: JsonValue[] = [];
    const isAlive = (owner: JsonValue) => {
      asked.push(owner);
      return 'alive' as const;
    };
    expect((await refusal(b.recover({ isAlive }))).message).toContain('still runs');
    expect(asked).toEqual([{ pid: 7 }]);
    await refusal(b.recover({ isAlive: () => 'unknown' }));
    await refusal(b.recover({ isAlive, hostLock: inertLock }));
    await refusal(b.recover({ isAlive, self: { pid: 7 } }));
    expect(b.state()).not.toBe('old');
    const options = { isAlive, self: { pid: 7 }, hostLock: inertLock };
    expect((await b.recover(options)).action).toBe('undone');
    const c = await interrupted('commit');
    expect((await c.recover({ isAlive: () => 'unknown', hostLock: inertLock })).action).toBe('undone');
  });

  it('refuses a strategy that it does not know, and uses one that it is given', async () => {
    const mine: RestoreStrategy = { ...reconcile({ prune: 'exact' }), name: 'mine' };
    const b = await interrupted('commit', mine);
    expect((await refusal(b.recover())).message).toContain('"mine"');
    expect((await b.recover({ strategies: [mine] })).action).toBe('undone');
    expect(b.state()).toBe('old');
  });

  it('stops between sessions when it is cancelled', async () => {
    const b = await interrupted('commit');
    const reason = new Error('later');
    await expect(b.recover({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect((await b.recover()).action).toBe('undone');
  });
});

describe('an undo that is not what it was', () => {
  it('is refused with everything kept: changed', async () => {
    const b = await interrupted('commit');
    const undo = join(b.scratch, 'session-1/work/undo');
    for (const name of readdirSync(undo)) writeFileSync(join(undo, name), 'tainted');
    const error = await refusal(b.recover());
    expect(findCause(error, UndoTaintedError)?.kind).toBe('changed');
    expect(error.keptAt).toBe(join(b.scratch, 'session-1'));
    expect(b.state()).toBe('new');
    expect(readdirSync(undo).length).toBeGreaterThan(2);
  });

  it('is refused with everything kept: missing', async () => {
    const b = await interrupted('commit');
    const undo = join(b.scratch, 'session-1/work/undo');
    unlinkSync(join(undo, readdirSync(undo)[0] as string));
    const error = await refusal(b.recover());
    expect(findCause(error, UndoTaintedError)?.kind).toBe('missing');
    expect(b.state()).toBe('new');
  });

  it('is not needed where the old file still stands', async () => {
    const b = await interrupted('secure');
    for (const name of readdirSync(join(b.scratch, 'session-1/work/undo'))) {
      unlinkSync(join(b.scratch, 'session-1/work/undo', name));
    }
    expect((await b.recover()).action).toBe('undone');
    expect(b.state()).toBe('old');
  });
});

describe('what outsiders did meanwhile', () => {
  it('stays where nothing has to come back', async () => {
    const b = await interrupted('commit');
    writeFileSync(join(b.root, 'd/theirs'), 'theirs');
    writeFileSync(join(b.root, 'other'), 'other');
    const error = await refusal(b.recover());
    expect(error.message).toContain('every copy is kept');
    rmSync(join(b.root, 'd/theirs'));
    expect((await b.recover()).action).toBe('undone');
    expect(readFileSync(join(b.root, 'other'), 'utf8')).toBe('other');
  });

  it('is not overwritten by an old file that has to come back', async () => {
    const b = await interrupted('commit');
    unlinkSync(join(b.root, 'a'));
    writeFileSync(join(b.root, 'a'), 'theirs');
    const error = await refusal(b.recover());
    expect(findCause(error.cause, WorkspaceRestoreError)).toMatchObject({
      kind: 'concurrent-change',
      paths: ['a'],
    });
    expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('theirs');
  });

  it('may be another root under the same name', async () => {
    const b = await interrupted('commit');
    renameSync(b.root, join(b.base, 'moved'));
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'theirs'), 'theirs');
    await refusal(b.recover());
    expect(readdirSync(b.root)).toEqual(['theirs']);
  });
});

describe('an intent that cannot be used', () => {
  const intentOf = (b: Interrupted): string => join(b.scratch, 'session-1/intent');

  it('is moved aside with its scratch, the tree as it was found: planted', async () => {
    const plants = ['', 'garbage', `12 ${'0'.repeat(64)} {"a": "b"}\n`, '{}\n', '0'.repeat(100_000)];
    for (const plant of plants) {
      const b = bench();
      mkdirSync(b.root);
      writeFileSync(join(b.root, 'a'), 'a');
      mkdirSync(join(scratchPath(b.root), 'session-1'), { recursive: true, mode: 0o700 });
      chmodSync(scratchPath(b.root), 0o700);
      writeFileSync(join(scratchPath(b.root), 'session-1/intent'), plant);
      expect(await recover(b.root, dead)).toEqual({ action: 'quarantined' });
      expect(readdirSync(scratchPath(b.root))).toEqual(['quarantine-1']);
      expect(readFileSync(join(b.root, 'a'), 'utf8')).toBe('a');
      expect(await recover(b.root, dead)).toEqual({ action: 'none' });
    }
  });

  it('is moved aside when a path in it would leave the root', async () => {
    for (const path of ['../outside', '/etc/x', 'a/../../x', 'd//x', 'x\\x00y']) {
      const b = await interrupted('commit');
      writeFileSync(join(b.base, 'outside'), 'outside');
      forge(intentOf(b), (intent) => {
        (intent['operations'] as { path: string }[])[0] = {
          ...(intent['operations'] as { path: string }[])[0],
          path,
        };
      });
      expect((await b.recover()).action).toBe('quarantined');
      expect(readFileSync(join(b.base, 'outside'), 'utf8')).toBe('outside');
      expect(b.state()).toBe('new');
    }
  });

  it('is left alone by a version that does not know it', async () => {
    const b = await interrupted('commit');
    forge(intentOf(b), (intent) => {
      intent['version'] = 2;
    });
    const error = await refusal(b.recover());
    expect(findCause(error, RestoreIntentError)?.kind).toBe('unknown-version');
    expect(existsSync(intentOf(b))).toBe(true);
    expect(b.state()).toBe('new');
  });

  it('is moved aside when the journal does not know it, or it names another session', async () => {
    const b = await interrupted('commit');
    const seen: RestoreIntent[] = [];
    const trust = (intent: RestoreIntent): boolean => {
      seen.push(intent);
      return false;
    };
    expect((await b.recover({ trust })).action).toBe('quarantined');
    expect(seen[0]?.session).toBe('session-1');
    const c = await interrupted('commit');
    renameSync(join(c.scratch, 'session-1'), join(c.scratch, 'session-9'));
    expect((await c.recover()).action).toBe('quarantined');
  });

  it('is damaged when a whole record is wrong, torn when the last one is not whole', async () => {
    const b = await interrupted('commit');
    const bytes = readFileSync(intentOf(b));
    const end = bytes.indexOf(0);
    appendFileSync(intentOf(b), '');
    truncateSync(intentOf(b), end);
    appendFileSync(intentOf(b), '40 0000');
    expect((await b.recover()).action).toBe('undone');
    const c = await interrupted('commit');
    const flipped = readFileSync(intentOf(c));
    const at = flipped.indexOf('"committing"') + 3;
    flipped[at] = (flipped[at] as number) ^ 1;
    writeFileSync(intentOf(c), flipped);
    expect((await c.recover()).action).toBe('quarantined');
    expect(c.state()).toBe('new');
  });

  it('blocks a restore, which says to recover', async () => {
    const b = await interrupted('commit');
    const error = await refusal(b.restore(b.wanted as never));
    expect(error.message).toContain('run recover');
    writeFileSync(intentOf(b), 'garbage');
    await refusal(b.restore(b.wanted as never));
    expect(() => readOutcomes(b.root)).toThrow(RestoreIntentError);
  });

  it('may be no file at all', async () => {
    const b = await interrupted('commit');
    rmSync(intentOf(b));
    symlinkSync('/etc/passwd', intentOf(b));
    expect((await b.recover()).action).toBe('quarantined');
    const c = await interrupted('commit');
    rmSync(intentOf(c));
    mkdirSync(intentOf(c));
    expect((await c.recover()).action).toBe('quarantined');
  });
});

describe('what is planted beside a root', () => {
  it('is neither followed nor deleted', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(join(b.root, 'a'), 'a');
    const scratch = scratchPath(b.root);
    mkdirSync(join(b.base, 'outside'));
    writeFileSync(join(b.base, 'outside/f'), 'f');
    mkdirSync(scratch, { mode: 0o700 });
    symlinkSync('../outside', join(scratch, 'session-1'));
    mkdirSync(join(scratch, 'session-2'));
    writeFileSync(join(scratch, 'session-2/strange'), 'strange');
    mkdirSync(join(b.base, '.root.backup'));
    writeFileSync(join(b.base, '.root.backup/fake'), 'fake');
    mkdirSync(join(b.base, '.root.staging'));
    mkdirSync(join(scratch, 'session-3'), { mode: 0o700 });
    writeFileSync(join(scratch, 'session-3/letter'), 'letter');
    expect(await recover(b.root, dead)).toEqual({ action: 'none' });
    await sweepScratch(b.root, { settled: () => true });
    expect(readFileSync(join(b.base, 'outside/f'), 'utf8')).toBe('f');
    expect(readFileSync(join(scratch, 'session-2/strange'), 'utf8')).toBe('strange');
    expect(readFileSync(join(scratch, 'session-3/letter'), 'utf8')).toBe('letter');
    expect(readdirSync(join(b.base, '.root.backup'))).toEqual(['fake']);
    expect(existsSync(join(b.base, '.root.staging'))).toBe(true);
  });

  it('is not taken for the new tree of a swap that was cut off before anything was recorded of it', async () => {
    const b = await interrupted('stage', swap());
    const staging = readdirSync(b.base).find((name) => name.startsWith('.root.staging-'));
    expect(staging).toBeDefined();
    const theirs = join(b.base, '.root.staging');
    mkdirSync(theirs);
    writeFileSync(join(theirs, 'letter'), 'theirs');
    expect((await b.recover()).action).toBe('undone');
    await clean(b);
    expect(readFileSync(join(theirs, 'letter'), 'utf8')).toBe('theirs');
    expect(readdirSync(b.base).sort()).toEqual(['.root.staging', 'root']);
  });

  it('is removed under the name that earlier versions gave it when it is the recorded tree', async () => {
    const b = await interrupted('commit', swap());
    renameSync(b.root, join(b.base, '.root.staging'));
    expect((await b.recover()).action).toBe('undone');
    await clean(b);
    expect(readdirSync(b.base)).toEqual(['root']);
  });

  it('does not stand in for a backup', async () => {
    const b = await interrupted('commit', swap());
    renameSync(b.root, join(b.base, '.root.staging'));
    renameSync(join(b.base, '.root.backup'), join(b.base, 'real'));
    mkdirSync(join(b.base, '.root.backup'));
    await refusal(b.recover());
    expect(existsSync(b.root)).toBe(false);
    rmSync(join(b.base, '.root.backup'), { recursive: true });
    renameSync(join(b.base, 'real'), join(b.base, '.root.backup'));
    expect((await b.recover()).action).toBe('undone');
    expect(b.state()).toBe('old');
  });

  it('is left alone when it has the name of the scratch and is a file, or open to others', async () => {
    const b = bench();
    mkdirSync(b.root);
    writeFileSync(scratchPath(b.root), '');
    const inside = join(b.root, insideScratchName);
    mkdirSync(join(inside, 'notes/empty'), { recursive: true, mode: 0o755 });
    writeFileSync(join(inside, 'notes/file'), 'mine');
    expect(await recover(b.root, dead)).toEqual({ action: 'none' });
    await sweepScratch(b.root, { settled: () => true });
    expect(readFileSync(scratchPath(b.root), 'utf8')).toBe('');
    expect(readdirSync(join(inside, 'notes')).sort()).toEqual(['empty', 'file']);
  });
});

describe('scratch that never got an intent', () => {
  it('is cleaned away', async () => {
    const b = bench();
    mkdirSync(b.root);
    mkdirSync(join(scratchPath(b.root), 'session-1/work'), { recursive: true, mode: 0o700 });
    writeFileSync(join(scratchPath(b.root), 'session-1/.holdfast-tmp-0a-0123456789abcdef'), 'torn');
    expect(await recover(b.root, dead)).toEqual({ action: 'cleaned' });
    expect(readdirSync(b.base)).toEqual(['root']);
  });
});

describe('the record of the owner', () => {
  it('is kept beside the intent and read back', async () => {
    const b = bench();
    mkdirSync(b.root);
    expect(readOwner(b.root, 'session-1')).toBeUndefined();
    const record = { session: 'session-1', epoch: 3, hostId: 'host', tip: 12 };
    await writeOwner(b.root, record, { hostLock: inertLock });
    await writeOwner(b.root, { ...record, tip: 13 }, { hostLock: inertLock });
    expect(readOwner(b.root, 'session-1')).toMatchObject({ ...record, tip: 13 });
    expect(await recover(b.root, dead)).toEqual({ action: 'none' });
    expect(readOwner(b.root, 'session-1')?.root.inode).toMatch(/^\d+$/);
    const path = join(scratchPath(b.root), 'session-1/owner');
    writeFileSync(path, readFileSync(path, 'utf8').replace('13', '14'));
    expect(readOwner(b.root, 'session-1')).toBeUndefined();
    expect(readOwner(b.root, 'session-2')).toBeUndefined();
  });

  it('is written whenever somebody sweeps the same scratch, recovers it, or deletes another session', async () => {
    const record = { session: 'session-1', epoch: 3, hostId: 'host', tip: 12 };
    let calls = 1;
    let swept = 0;
    for (let at = 1; at <= calls; at += 1) {
      const b = bench();
      mkdirSync(b.root);
      const hostLock = mutex();
      const others: Promise<unknown>[] = [];
      const disk = new WatchedFileSystem(nodeFileSystem(), (_call, count) => {
        calls = Math.max(calls, count);
        if (count !== at) return;
        const settled = (): boolean => true;
        others.push(
          recover(b.root, { ...dead, hostLock }),
          sweepScratch(b.root, { settled, deleted: 'session-2', hostLock }),
        );
      });
      await writeOwner(b.root, record, { hostLock, fileSystem: disk });
      await Promise.all(others);
      swept += others.length;
      expect(readOwner(b.root, 'session-1')).toMatchObject(record);
    }
    expect(swept).toBe(2 * calls);
    expect(calls).toBeGreaterThan(10);
  });

  it('is read, like the outcomes of restores, whenever somebody sweeps the same scratch', async () => {
    let calls = 1;
    for (let at = 1; at <= calls; at += 1) {
      const b = bench();
      mkdirSync(b.root);
      await writeOwner(
        b.root,
        { session: 'session-2', epoch: 3, hostId: 'host', tip: 12 },
        { hostLock: inertLock },
      );
      // What a session leaves that never began a restore: whoever sweeps removes it.
      mkdirSync(join(scratchPath(b.root), 'session-1'), { mode: 0o700 });
      const disk = new WatchedFileSystem(nodeFileSystem(), (_call, count) => {
        calls = Math.max(calls, count);
        if (count === at) rmdirSync(join(scratchPath(b.root), 'session-1'));
      });
      expect(readOutcomes(b.root, { fileSystem: disk })).toEqual([]);
      expect(readOwner(b.root, 'session-1', { fileSystem: disk })).toBeUndefined();
    }
    expect(calls).toBeGreaterThan(10);
  });

  it('goes with its session, whatever else is in its directory; the records of others stay', async () => {
    const b = bench();
    mkdirSync(b.root);
    for (const session of ['session-1', 'session-2']) {
      await writeOwner(b.root, { session, epoch: 3, hostId: 'host', tip: 12 }, { hostLock: inertLock });
      writeFileSync(join(scratchPath(b.root), session, 'note'), 'of nobody');
    }
    await sweepScratch(b.root, { settled: () => true, deleted: 'session-1' });
    expect(readdirSync(scratchPath(b.root))).toEqual(['session-2']);
    expect(readdirSync(join(scratchPath(b.root), 'session-2')).sort()).toEqual(['note', 'owner']);
    rmSync(join(scratchPath(b.root), 'session-2', 'note'));
    await sweepScratch(b.root, { settled: () => true, deleted: 'session-2' });
    expect(readdirSync(b.base)).toEqual(['root']);
  });
});

/** A host lock within this process: one holder after the other. */
function mutex(): () => Promise<AsyncDisposable> {
  let last: Promise<void> = Promise.resolve();
  return async () => {
    const before = last;
    const mine = new AbortController();
    last = once(mine.signal, 'abort').then(() => undefined);
    await before;
    return {
      [Symbol.asyncDispose]: async () => {
        mine.abort();
        await Promise.resolve();
      },
    };
  };
}

/** Rewrites the first record of an intent with a valid checksum, as an enemy could. */
function forge(path: string, change: (intent: Record<string, unknown>) => void): void {
  const { createHash } = process.getBuiltinModule('node:crypto');
  const [first = '', ...rest] = readFileSync(path, 'utf8').split('\n');
  const intent = JSON.parse(first.slice(first.indexOf('{'))) as Record<string, unknown>;
  change(intent);
  const json = Buffer.from(JSON.stringify(intent));
  const line = `${json.length} ${createHash('sha256').update(json).digest('hex')} ${json.toString('utf8')}`;
  writeFileSync(path, [line, ...rest].join('\n'));
}
