import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { PermitUnavailableError } from '@holdfast/coordinator';
import {
  type RestoreStrategy,
  reconcile,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
} from '@holdfast/restore';
import { defineLoop, type Observations, SessionPointError } from '@holdfast/session';
import { MaterializeError, type Ref } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, type KitOptions, settle } from './support/kit.js';

async function failure(promise: Promise<unknown>): Promise<WorkspaceRestoreError> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!WorkspaceRestoreError.is(error)) throw error;
  return error;
}

/** A session with two checkpoints, at the second one. */
async function twoStates(options: KitOptions = {}): Promise<{ kit: Kit; first: Ref; second: Ref }> {
  const kit = await Kit.open(options);
  const first = await kit.controller.checkpointWorkspace();
  kit.write('a.txt', 'one');
  kit.write('b.txt', 'new');
  const second = await kit.controller.checkpointWorkspace();
  return { kit, first, second };
}

/** The reconcile strategy with one step replaced. */
function strategyWith(steps: Partial<RestoreStrategy>): RestoreStrategy {
  return { ...reconcile(), ...steps };
}

const nowhere = `v1:sha256:${'0'.repeat(64)}` as Ref;

describe('a restore', () => {
  it('brings the files back, with a safety checkpoint first and the event after', async () => {
    const { kit, first } = await twoStates();
    const receipt = await kit.controller.restoreWorkspace(first);
    expect(receipt).toMatchObject({
      ref: first,
      strategy: 'reconcile',
      replaced: 1,
      deleted: 1,
      exact: true,
    });
    expect(kit.read('a.txt')).toBe('zero');
    expect((await kit.types()).slice(-2)).toEqual(['WorkspaceCheckpointed:safety', 'WorkspaceRestored']);
    expect(await kit.bodies('WorkspaceRestored')).toEqual([{ ref: first }]);
    const safety = (await kit.controller.checkpoints()).at(-1);
    expect(safety).toMatchObject({ ref: receipt.safetyRef, cause: { restore: receipt.restoreId } });
    expect(kit.runtime.fold).toMatchObject({
      currentWorkspace: { ref: first, eventId: receipt.restoreId, source: 'restore' },
      openRestore: undefined,
    });
    expect(kit.coordinator.inspect()).toMatchObject({ active: [], queued: [], suspensions: [] });
    expect(readdirSync(kit.place)).toEqual(['root']);
  });

  it('keeps its private facts out of the event stream', async () => {
    const { kit, first } = await twoStates();
    await kit.controller.restoreWorkspace(first);
    const kinds: string[] = [];
    for await (const record of kit.runtime.journal.records()) {
      if (record.kind === 'private') kinds.push(record.type ?? '');
    }
    expect(kinds).toEqual(['restore-started', 'restore-prepared']);
    expect(await kit.types()).not.toContain('restore-started');
  });

  it('without safety takes no checkpoint', async () => {
    const { kit, first } = await twoStates();
    const receipt = await kit.controller.restoreWorkspace(first, { safety: false });
    expect(receipt.safetyRef).toBeUndefined();
    expect(await kit.types()).not.toContain('WorkspaceCheckpointed:safety');
    await expect(kit.controller.undo()).rejects.toMatchObject({ code: 'SESSION_POINT', kind: 'undo' });
  });

  it('commits exactly the plan that was shown, or fails', async () => {
    const { kit, first } = await twoStates();
    const plan = await kit.controller.previewRestore(first);
    expect(plan).toMatchObject({ replace: [{ path: 'a.txt' }], delete: [{ path: 'b.txt' }] });
    kit.write('b.txt', 'changed meanwhile');
    expect(await failure(kit.controller.restoreWorkspace(first, { plan }))).toMatchObject({
      kind: 'concurrent-change',
    });
    expect(kit.read('b.txt')).toBe('changed meanwhile');
    const again = await kit.controller.previewRestore(first);
    await kit.controller.restoreWorkspace(first, { plan: again });
    expect(kit.read('a.txt')).toBe('zero');
  });

  it('of a part leaves the rest', async () => {
    const { kit, first } = await twoStates();
    await kit.controller.restoreWorkspace(first, { paths: ['a.txt'] });
    expect([kit.read('a.txt'), kit.read('b.txt')]).toEqual(['zero', 'new']);
  });

  it('drops what every loop has seen of the files', async () => {
    let observations: Observations | undefined;
    const loop = defineLoop({
      name: 'reader',
      tools: [
        {
          name: 'read',
          bind: ({ workspace }: { workspace: { observations: Observations } | undefined }) => {
            observations = workspace?.observations;
            return async () => await Promise.resolve(null);
          },
        },
      ],
      turn: async () => await Promise.resolve(undefined),
    });
    const { kit, first } = await twoStates({ loops: [loop] });
    observations?.sawContent('a.txt', 'abc');
    await kit.controller.restoreWorkspace(first);
    expect(observations?.known('a.txt')).toBeUndefined();
  });

  it('lets read-only lifetimes stay and keeps new processes out until the end', async () => {
    const { kit, first } = await twoStates();
    const reader = await kit.coordinator.acquire({ operation: 'lifetime', access: 'read-only' });
    const checked = barrier();
    kit.snapshots.before = async () => {
      await checked.wait();
    };
    const restoring = kit.controller.restoreWorkspace(first);
    await checked.reached;
    let started = false;
    const process = kit.coordinator.acquire({ operation: 'lifetime', access: 'read-only' }).then((permit) => {
      started = true;
      return permit;
    });
    await settle();
    expect(started).toBe(false);
    checked.open();
    await restoring;
    (await process).release();
    expect(reader.held).toBe(true);
    reader.release();
  });
});

describe('two restores', () => {
  it('that overlap go one after another, and admission stays suspended until the last', async () => {
    const { kit, first, second } = await twoStates();
    const held = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await held.wait();
    };
    const one = kit.controller.restoreWorkspace(first);
    const two = kit.controller.restoreWorkspace(second);
    await held.reached;
    expect(kit.coordinator.inspect().suspensions).toHaveLength(2);
    expect(kit.controller.state().phase).toBe('restoring');
    held.open();
    await one;
    expect(kit.coordinator.inspect().suspensions).toHaveLength(1);
    await two;
    expect(kit.coordinator.inspect().suspensions).toHaveLength(0);
    expect(await kit.bodies('WorkspaceRestored')).toEqual([{ ref: first }, { ref: second }]);
    expect(kit.read('a.txt')).toBe('one');
  });
});

describe('refusals come in this order', () => {
  it('cancelled, closing, faulted, not idle, malformed ref', async () => {
    const held = barrier();
    const loop = defineLoop({ name: 'busy', turn: async () => await held.wait() });
    const kit = await Kit.open({ loops: [loop] });
    const bad = 'nonsense' as Ref;
    const kindOf = async (): Promise<WorkspaceRestoreKind> =>
      (await failure(kit.controller.restoreWorkspace(bad))).kind;
    expect(await kindOf()).toBe('invalid-ref');
    const { outcome } = await kit.controller.submit(null);
    await held.reached;
    expect(await kindOf()).toBe('not-idle');
    kit.loseSessionLease();
    expect(await kindOf()).toBe('faulted');
    const shutdown = kit.controller.shutdown().catch(() => undefined);
    expect(await kindOf()).toBe('closing');
    const reason = new Error('never mind');
    await expect(kit.controller.restoreWorkspace(bad, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    held.open();
    await outcome;
    await shutdown;
  });

  it('and touch nothing', async () => {
    const { kit } = await twoStates();
    const tip = kit.runtime.journal.tip;
    await failure(kit.controller.restoreWorkspace('nonsense' as Ref));
    await failure(kit.controller.previewRestore('nonsense' as Ref));
    expect(kit.runtime.journal.tip).toBe(tip);
    expect(readdirSync(kit.place)).toEqual(['root']);
  });
});

describe('a failed restore says why:', () => {
  it('materialize-failed, with the store error inside', async () => {
    const { kit } = await twoStates();
    const error = await failure(kit.controller.restoreWorkspace(nowhere));
    expect(error.kind).toBe('materialize-failed');
    expect(findCause(error, MaterializeError)).toMatchObject({ ref: nowhere, dest: kit.root });
    expect(kit.controller.state().fault).toBeUndefined();
    await kit.controller.checkpointWorkspace();
    const preview = await failure(kit.controller.previewRestore(nowhere));
    expect(preview.kind).toBe('materialize-failed');
    expect(findCause(preview, MaterializeError)).toBeDefined();
  });

  it('permit-failed with the holders, at once and after a time', async () => {
    const clock = new ManualClock();
    const { kit, first } = await twoStates({ clock });
    const writer = await kit.coordinator.acquire(
      { operation: 'whole-mutation' },
      { holder: { loop: 'agent', toolCall: 'shell-1' } },
    );
    const busy = await failure(kit.controller.restoreWorkspace(first, { drain: 'fail' }));
    expect(busy.kind).toBe('permit-failed');
    expect(findCause(busy, PermitUnavailableError)?.holders).toMatchObject([{ toolCall: 'shell-1' }]);
    const waiting = failure(kit.controller.restoreWorkspace(first, { timeout: 300 }));
    await settle();
    await clock.advance(300);
    expect(await waiting).toMatchObject({ kind: 'permit-failed' });
    writer.release();
    await kit.controller.restoreWorkspace(first, { drain: 'fail' });
  });

  it('permit-failed when another restore has the gate', async () => {
    const clock = new ManualClock();
    const { kit, first } = await twoStates({ clock });
    const held = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await held.wait();
    };
    const running = kit.controller.restoreWorkspace(first);
    await held.reached;
    expect(await failure(kit.controller.restoreWorkspace(first, { drain: 'fail' }))).toMatchObject({
      kind: 'permit-failed',
    });
    const waiting = failure(kit.controller.restoreWorkspace(first, { timeout: 100 }));
    await settle();
    await clock.advance(100);
    expect(await waiting).toMatchObject({ kind: 'permit-failed' });
    held.open();
    await running;
  });

  it('lease-unhealthy', async () => {
    const { kit, first } = await twoStates();
    // The lease is gone, and the session has not heard of it yet.
    kit.coordinator.healthy = async () => {
      const { CoordinatorUnhealthyError } = await import('@holdfast/coordinator');
      throw new CoordinatorUnhealthyError(new Error('lost'));
    };
    expect(await failure(kit.controller.restoreWorkspace(first))).toMatchObject({ kind: 'lease-unhealthy' });
    expect(kit.read('a.txt')).toBe('one');
  });

  it('safety-failed, and how to go on', async () => {
    const { kit, first } = await twoStates();
    kit.snapshots.before = () => {
      throw new Error('disk full');
    };
    const error = await failure(kit.controller.restoreWorkspace(first));
    expect(error).toMatchObject({
      kind: 'safety-failed',
      message: expect.stringContaining('safety: false') as string,
    });
    expect(kit.read('a.txt')).toBe('one');
    await kit.controller.restoreWorkspace(first, { safety: false });
    expect(kit.read('a.txt')).toBe('zero');
  });

  it('symlink-root and root-replaced', async () => {
    const { kit, first } = await twoStates();
    renameSync(kit.root, `${kit.root}-moved`);
    symlinkSync(`${kit.root}-moved`, kit.root);
    expect(await failure(kit.controller.restoreWorkspace(first, { safety: false }))).toMatchObject({
      kind: 'symlink-root',
    });
    const gone = await twoStates();
    renameSync(gone.kit.root, `${gone.kit.root}-moved`);
    expect(await failure(gone.kit.controller.restoreWorkspace(gone.first, { safety: false }))).toMatchObject({
      kind: 'root-replaced',
    });
  });

  it('path-escape for a path out of the root', async () => {
    const { kit, first } = await twoStates();
    expect(await failure(kit.controller.restoreWorkspace(first, { paths: ['../x'] }))).toMatchObject({
      kind: 'path-escape',
    });
  });

  it('reconcile-failed, with the old tree back', async () => {
    const cause = new Error('the disk is gone');
    const strategy = strategyWith({ commit: async () => await Promise.reject(cause) });
    const { kit, first } = await twoStates({ strategy });
    const error = await failure(kit.controller.restoreWorkspace(first));
    expect(error.kind).toBe('reconcile-failed');
    expect(kit.read('a.txt')).toBe('one');
    expect(kit.controller.state().fault).toBeUndefined();
    expect(kit.runtime.fold.openRestore).toBeUndefined();
  });

  it('rollback-failed, and the session is faulted', async () => {
    const strategy = strategyWith({
      commit: async () => await Promise.reject(new Error('the disk is gone')),
      undo: async () => await Promise.reject(new Error('and stays so')),
    });
    const { kit, first } = await twoStates({ strategy });
    const error = await failure(kit.controller.restoreWorkspace(first));
    expect(error.kind).toBe('rollback-failed');
    expect(existsSync(error.keptAt ?? '')).toBe(true);
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'rollback-failed' });
    expect(await failure(kit.controller.restoreWorkspace(first))).toMatchObject({ kind: 'faulted' });
  });

  it('append-failed after the tree changed: the caller gets an error and the session is faulted', async () => {
    const { kit, first } = await twoStates();
    const cause = kit.failAppends('WorkspaceRestored');
    // The batch is told by its first record.
    kit.beforeAppend = (types) => {
      if (types.includes('restore-prepared')) throw cause;
    };
    const error = await failure(kit.controller.restoreWorkspace(first));
    expect(error.kind).toBe('append-failed');
    expect(kit.read('a.txt')).toBe('zero');
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'restore-append-failed' });
    expect(kit.runtime.fold.openRestore).toBeDefined();
    expect(await kit.bodies('WorkspaceRestored')).toEqual([]);
  });

  it('a restore that cannot be announced touches nothing', async () => {
    const { kit, first } = await twoStates();
    kit.failAppends('restore-started');
    await failure(kit.controller.restoreWorkspace(first, { safety: false })).catch(() => undefined);
    expect(kit.read('a.txt')).toBe('one');
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'append-failed' });
  });

  it('canceled by the loss of a lease before the commit', async () => {
    const { kit, first } = await twoStates();
    kit.snapshots.before = () => {
      kit.loseRootLease();
    };
    const error = await failure(kit.controller.restoreWorkspace(first));
    expect(error.kind).toBe('canceled');
    expect(kit.read('a.txt')).toBe('one');
    expect(kit.controller.state().fault).toMatchObject({ reason: 'lease-lost' });
  });

  it('nothing but the reason when the caller aborts, at any step before the commit', async () => {
    for (const at of ['safety', 'stage', 'secure'] as const) {
      const { kit, first } = await twoStates();
      const controller = new AbortController();
      const reason = new Error(`stop at ${at}`);
      if (at === 'safety') kit.snapshots.before = () => controller.abort(reason);
      using _watch = kit.controller.observe((notice) => {
        if (notice.type === 'restore-progress' && notice.step === at) controller.abort(reason);
      });
      await expect(kit.controller.restoreWorkspace(first, { signal: controller.signal })).rejects.toBe(
        reason,
      );
      expect(kit.read('a.txt')).toBe('one');
      expect(kit.runtime.fold.openRestore).toBeUndefined();
      expect(kit.coordinator.inspect()).toMatchObject({ active: [], suspensions: [] });
      expect(kit.controller.state().fault).toBeUndefined();
    }
  });
});

describe('per-session roots', () => {
  it('are swapped, and read nothing in the next checkpoint', async () => {
    const { kit, first } = await twoStates({ mode: 'per-session' });
    const receipt = await kit.controller.restoreWorkspace(first);
    expect(receipt).toMatchObject({ strategy: 'swap', exact: true });
    expect(kit.read('a.txt')).toBe('zero');
    expect(readdirSync(kit.place)).toEqual(['root']);
  });

  it('fall back to reconcile while a process stands in them', async () => {
    const { kit, first } = await twoStates({ mode: 'per-session' });
    const reader = await kit.coordinator.acquire({ operation: 'lifetime', access: 'read-only' });
    const receipt = await kit.controller.restoreWorkspace(first);
    expect(receipt).toMatchObject({ strategy: 'reconcile', exact: true });
    expect(receipt.notes).toMatchObject([{ kind: 'swap-unavailable' }]);
    reader.release();
  });
});

describe('shared roots', () => {
  it('show what others changed, and touch it only when told to', async () => {
    const kit = await Kit.open({ mode: 'shared' });
    mkdirSync(path.join(kit.root, 'frontend'));
    kit.write('frontend/app.ts', '1');
    kit.write('server.go', '1');
    const first = await kit.controller.checkpointWorkspace();
    const permit = await kit.coordinator.acquire({
      operation: 'path-mutation',
      path: `${kit.root}/frontend/app.ts` as never,
    });
    kit.write('frontend/app.ts', '2');
    permit.release();
    kit.write('server.go', '3');
    const plan = await kit.controller.previewRestore(first);
    expect(plan.conflicts).toEqual([{ path: 'server.go', reason: 'foreign' }]);
    await kit.controller.restoreWorkspace(first, { paths: ['frontend'] });
    expect([kit.read('frontend/app.ts'), kit.read('server.go')]).toEqual(['1', '3']);
    const again = await twoStatesOfShared(kit);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error = await failure(kit.controller.restoreWorkspace(again));
      expect(error.kind).toBe('concurrent-change');
    }
    await kit.controller.restoreWorkspace(again, { onConflict: 'overwrite' });
    expect(kit.read('server.go')).toBe('mine');
  });
});

describe('what a session in a shared root may have written', () => {
  it('is everything after a shell, and nothing of it after its next ref', async () => {
    const kit = await Kit.open({ mode: 'shared' });
    const first = await kit.controller.checkpointWorkspace();
    (await kit.coordinator.acquire({ operation: 'whole-mutation' })).release();
    kit.write('a.txt', 'from the shell');
    expect((await kit.controller.previewRestore(first)).conflicts).toEqual([]);
    await kit.controller.checkpointWorkspace();
    kit.write('a.txt', 'from elsewhere');
    expect((await kit.controller.previewRestore(first)).conflicts).toEqual([
      { path: 'a.txt', reason: 'foreign' },
    ]);
  });
});

async function twoStatesOfShared(kit: Kit): Promise<Ref> {
  kit.write('server.go', 'mine');
  const ref = await kit.controller.checkpointWorkspace();
  kit.write('server.go', 'theirs');
  return ref;
}

describe('rewind and undo', () => {
  const writer = (kit: () => Kit) =>
    defineLoop({
      name: 'writer',
      turn: async ({ input }) => {
        kit().write('a.txt', input as string);
        await Promise.resolve();
      },
    });

  async function threeTurns(): Promise<{ kit: Kit; turns: string[] }> {
    const opened: Kit[] = [];
    const kit = await Kit.open({
      loops: [writer(() => opened[0] as Kit)],
      policy: { trigger: 'turn-done', priority: 'required' },
    });
    opened.push(kit);
    const turns: string[] = [];
    for (const input of ['one', 'two', 'three']) {
      const { outcome, turn } = await kit.controller.submit(input);
      await outcome;
      turns.push(turn);
    }
    return { kit, turns };
  }

  it('take files and conversation back to a turn in one step, and forth again', async () => {
    const { kit, turns } = await threeTurns();
    await kit.controller.rewindTo(turns[0] as string);
    expect(kit.read('a.txt')).toBe('one');
    const types = await kit.types();
    expect(types.slice(-2)).toEqual(['WorkspaceRestored', 'ConversationRewound']);
    const [rewound] = await kit.bodies('ConversationRewound');
    const { effectiveRanges } = await import('@holdfast/journal');
    expect(effectiveRanges(kit.runtime.fold, rewound?.['seq'] as number)).toEqual([
      { from: 1, to: rewound?.['seq'] as number },
    ]);
    await kit.controller.undo();
    expect(kit.read('a.txt')).toBe('three');
    expect(kit.runtime.fold.rewinds).toHaveLength(2);
    const turnsInEffect: string[] = [];
    for (const range of effectiveRanges(kit.runtime.fold)) {
      for await (const event of kit.runtime.journal.events(range)) {
        if (event.type === 'TurnDone') turnsInEffect.push((event.body as { turn: string }).turn);
      }
    }
    expect(turnsInEffect).toEqual(turns);
    await kit.controller.undo();
    expect(kit.read('a.txt')).toBe('one');
  });

  it('take a checkpoint event, and a turn by its last event', async () => {
    const { kit, turns } = await threeTurns();
    const [, second] = await kit.controller.checkpoints();
    await kit.controller.rewindTo(second?.id as string);
    expect(kit.read('a.txt')).toBe('two');
    let end: string | undefined;
    for await (const event of kit.controller.events()) {
      if (event.type === 'TurnDone' && (event.body as { turn: string }).turn === turns[2]) end = event.id;
    }
    await kit.controller.rewindTo(end as string);
    expect(kit.read('a.txt')).toBe('three');
  });

  it('undo a plain restore without touching the conversation', async () => {
    const { kit } = await threeTurns();
    const [first] = await kit.controller.checkpoints();
    await kit.controller.restoreWorkspace(first?.ref as Ref);
    await kit.controller.undo();
    expect(kit.read('a.txt')).toBe('three');
    expect(await kit.bodies('ConversationRewound')).toEqual([]);
  });

  it('undo what a restore made: its directories and links go too, unless pruning is chosen otherwise', async () => {
    const { kit, first } = await twoStates();
    const tree = (): string[] => readdirSync(kit.root, { recursive: true, encoding: 'utf8' }).sort();
    mkdirSync(path.join(kit.root, 'made/empty'), { recursive: true });
    symlinkSync('nowhere', path.join(kit.root, 'link'));
    const ref = await kit.controller.checkpointWorkspace();
    const full = tree();
    await kit.controller.restoreWorkspace(first, { prune: 'exact' });
    const before = tree();
    expect(before).not.toContain('made');
    await kit.controller.restoreWorkspace(ref);
    expect(tree()).toEqual(full);
    expect(await kit.controller.undo()).toMatchObject({ exact: true });
    expect(tree()).toEqual(before);
    await kit.controller.undo();
    expect(tree()).toEqual(full);
    expect(await kit.controller.undo({ prune: 'files' })).toMatchObject({ exact: false });
    expect(tree()).toContain('link');
  });

  it('leave in an undo what somebody made since the restore, as the restore itself would', async () => {
    const { kit, first } = await twoStates();
    const at = (name: string): string => path.join(kit.root, name);
    mkdirSync(at('made/empty'), { recursive: true });
    mkdirSync(at('kept/empty'), { recursive: true });
    symlinkSync('nowhere', at('link'));
    symlinkSync('nowhere', at('other'));
    const ref = await kit.controller.checkpointWorkspace();
    await kit.controller.restoreWorkspace(first, { prune: 'exact' });
    await kit.controller.restoreWorkspace(ref);
    mkdirSync(at('mine'));
    mkdirSync(at('kept/mine'));
    symlinkSync('somewhere', at('my-link'));
    rmSync(at('other'));
    symlinkSync('somewhere', at('other'));
    const plan = await kit.controller.previewUndo();
    expect(plan.delete.map((change) => change.path)).toEqual(
      expect.arrayContaining(['made', 'made/empty', 'kept/empty', 'link']),
    );
    const receipt = await kit.controller.undo({ plan });
    expect(receipt.exact).toBe(false);
    expect(receipt.omitted.map((row) => `${row.reason} ${row.path}`).sort()).toEqual(
      ['kept/mine', 'mine', 'my-link', 'other'].map((name) => `not-pruned ${name}`),
    );
    const left = readdirSync(kit.root, { recursive: true, encoding: 'utf8' });
    expect(left).toEqual(expect.arrayContaining(['kept/mine', 'mine', 'my-link', 'other']));
    for (const gone of ['made', 'kept/empty', 'link']) expect(left).not.toContain(gone);
    await expect(kit.controller.previewUndo({ prune: 'exact' })).resolves.toMatchObject({ exact: true });
  });

  it('show what a rewind and an undo would do, and commit that plan', async () => {
    const { kit, first } = await twoStates();
    const points = await kit.controller.checkpoints();
    const point = points.find((checkpoint) => checkpoint.ref === first)?.id ?? '';
    const rewind = await kit.controller.previewRewind(point);
    expect(rewind.ref).toBe(first);
    // As another process sends it back.
    const sent = JSON.parse(JSON.stringify(rewind)) as typeof rewind;
    expect(await kit.controller.rewindTo(point, { plan: sent })).toMatchObject({ ref: first });
    const undo = JSON.parse(JSON.stringify(await kit.controller.previewUndo())) as typeof rewind;
    const receipt = await kit.controller.undo({ plan: undo });
    expect(receipt).toMatchObject({ ref: undo.ref, exact: true });
  });

  it('refuse a point that does not exist, and one without files', async () => {
    const { kit, first } = await twoStates();
    for (const [point, kind] of [
      ['nowhere', 'point'],
      [await startOf(kit), 'point'],
    ] as const) {
      const error = await kit.controller.rewindTo(point).catch((caught: unknown) => caught);
      if (!SessionPointError.is(error)) throw error;
      expect(error).toMatchObject({ kind });
    }
    await kit.controller.boundary('turn-done', { cause: { turn: 'without-files' } });
    await kit.controller.boundary('turn-done', { cause: { turn: 'later' } });
    await expect(kit.controller.rewindTo('without-files')).rejects.toMatchObject({ kind: 'checkpoint' });
    await expect(kit.controller.undo()).rejects.toMatchObject({ kind: 'undo' });
    expect(first).toBeDefined();
  });
});

async function startOf(kit: Kit): Promise<string> {
  for await (const event of kit.controller.events()) return event.id;
  throw new Error('the journal is empty');
}
