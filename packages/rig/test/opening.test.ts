import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

import { findCause, isHoldfastError } from '@holdfast/base';
import { memoryBlobs } from '@holdfast/blobs';
import { JournalFencedError, SessionNotFoundError } from '@holdfast/journal';
import { LeaseHeldError, LeaserBackendError } from '@holdfast/lease';
import {
  defineRig,
  exclusiveWorkspace,
  type OpenedSession,
  type Rig,
  rootLeaseName,
  SessionOpeningError,
  sessionWorkspaces,
  WorkspaceDriftError,
  type WorkspacePlacement,
  WorkspacePlacementError,
  WorkspaceRelocatedError,
  WorkspaceRootBusyError,
  WorkspaceRootNestedError,
  WorkspaceSeedError,
} from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { MaterializeError, type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, it } from 'vitest';

import { rigOf, sessionIds } from './support/rigs.js';
import { eventTypes, type Stack, World } from './support/world.js';

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

const nowhere = `v1:sha256:${'0'.repeat(64)}` as Ref;

async function seedRef(): Promise<Ref> {
  mkdirSync(world.path('seed'));
  world.write('seed.txt', 'seed', world.path('seed'));
  return (await stack.store.snapshot(world.path('seed'))).ref;
}

describe('a new session', () => {
  it.each(['exclusive', 'shared'] as const)(
    'on a root with files (%s) begins with a baseline',
    async (mode) => {
      world.write('a.txt', 'mine');
      const controller = await rigOf(stack, mode).newSession({ title: 'first' });
      expect(await eventTypes(controller)).toEqual(['SessionStarted', 'WorkspaceCheckpointed:baseline']);
      const [checkpoint] = await controller.checkpoints();
      expect(checkpoint?.consistency).toBe(mode === 'shared' ? 'fuzzy' : 'quiescent');
      await controller.shutdown();
    },
  );

  it('on an empty root, or asked not to, takes no baseline', async () => {
    const empty = await rigOf(stack, 'exclusive').newSession();
    expect(await eventTypes(empty)).toEqual(['SessionStarted']);
    await empty.shutdown();
    world.write('a.txt', 'mine');
    const asked = exclusiveWorkspace(stack.store, world.path('root'), stack.leaser, { baseline: false });
    const controller = await rigOf(stack, asked).newSession();
    expect(await eventTypes(controller)).toEqual(['SessionStarted']);
    await controller.shutdown();
  });

  it('has a root of its own, for its owner only', async () => {
    const rig = rigOf(stack, 'per-session');
    const controller = await rig.newSession({ id: 'session-one' });
    const { statSync } = await import('node:fs');
    expect(statSync(world.path('base', 'session-one')).mode & 0o777).toBe(0o700);
    await controller.shutdown();
  });

  it('without a placement touches no disk', async () => {
    const rig = defineRig({ sessionStore: stack.sessionStore });
    const before = readdirSync(world.place);
    const controller = await rig.newSession();
    const tip = (await eventTypes(controller)).length;
    for (const call of [
      () => controller.checkpointWorkspace(),
      () => controller.restoreWorkspace(nowhere),
      () => controller.previewRestore(nowhere),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'SESSION_WORKSPACE_NOT_CONFIGURED' });
    }
    expect((await eventTypes(controller)).length).toBe(tip);
    expect(readdirSync(world.place)).toEqual(before);
    await controller.shutdown();
    const opened = await rig.openSession(controller.id);
    expect(opened.opening.recovery.action).toBe('none');
    await opened.shutdown();
  });

  it('is aborted before anything, with the reason', async () => {
    const rig = rigOf(stack, 'exclusive');
    const reason = new Error('no');
    await expect(rig.newSession({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await sessionIds(rig)).toEqual([]);
  });

  it.each(['SessionStarted', 'WorkspaceCheckpointed', 'LoopStarted'])(
    'that fails at %s takes back everything it had begun',
    async (type) => {
      const loop = defineLoop({ name: 'agent', turn: async () => await Promise.resolve(null) });
      const ref = await seedRef();
      const rig = defineRig({
        loops: [loop],
        sessionStore: stack.sessionStore,
        workspace: stack.placement('exclusive'),
        snapshots: {},
      });
      const cause = new Error('the disk is full');
      world.beforeAppend = (types) => {
        if (types.includes(type)) throw cause;
      };
      const error = await rig.newSession({ seed: ref }).catch((caught: unknown) => caught);
      expect(
        (error as { cause?: { cause?: unknown } }).cause?.cause ?? (error as { cause?: unknown }).cause,
      ).toBeDefined();
      world.beforeAppend = undefined;
      expect(readdirSync(world.path('root'))).toEqual([]);
      expect(readdirSync(world.place).sort()).toEqual(['root', 'seed']);
      expect(await sessionIds(rig)).toEqual([]);
      expect(world.leases.holder(rootLeaseName(world.path('root')))).toBeUndefined();
      const controller = await rig.newSession({ seed: ref });
      expect(world.read('seed.txt')).toBe('seed');
      await controller.shutdown();
    },
  );

  it('that was overtaken leaves the session to whoever has gone on with it', async () => {
    const rig = rigOf(stack, 'exclusive');
    const other = await world.process();
    const { sessionStore } = stack;
    const creating = sessionStore.create.bind(sessionStore);
    sessionStore.create = async (options) => {
      const journal = await creating(options);
      world.leases.expire(`sessions/${journal.id}`, { silently: true });
      const theirs = await other.sessionStore.open(journal.id);
      await theirs.append({ type: 'note', body: 'theirs' });
      await theirs.close();
      return journal;
    };
    const error = await rig.newSession().catch((caught: unknown) => caught);
    sessionStore.create = creating;
    expect(findCause(error, JournalFencedError)).toBeDefined();
    const [id] = await sessionIds(rigOf(other, 'exclusive'));
    await using view = await other.sessionStore.read(id as string);
    const bodies: unknown[] = [];
    for await (const { body } of view.events()) bodies.push(body);
    expect(bodies).toEqual(['theirs']);
  });

  it('says so when even that fails', async () => {
    const rig = rigOf(stack, 'exclusive');
    world.write('a.txt', 'mine');
    world.beforeAppend = (types) => {
      if (types.includes('WorkspaceCheckpointed')) throw new Error('full');
    };
    const { sessionStore } = stack;
    const deleting = sessionStore.delete.bind(sessionStore);
    sessionStore.delete = async () => await Promise.reject(new Error('and read-only'));
    const error = await rig.newSession().catch((caught: unknown) => caught);
    sessionStore.delete = deleting;
    if (!SessionOpeningError.is(error)) throw error;
    expect((error.cause as AggregateError).errors).toHaveLength(2);
  });
});

describe('a seed', () => {
  it.each(['exclusive', 'per-session'] as const)('is there before anything else (%s)', async (mode) => {
    const ref = await seedRef();
    const rig = rigOf(stack, mode);
    let progress = 0;
    const controller = await rig.newSession({ seed: ref, onProgress: () => (progress += 1) });
    expect(progress).toBeGreaterThan(0);
    const root = rig.rootOf(controller.id) as string;
    expect(world.read('seed.txt', root)).toBe('seed');
    expect(await eventTypes(controller)).toEqual(['SessionStarted', 'WorkspaceCheckpointed:seed']);
    const [checkpoint] = await controller.checkpoints();
    expect(checkpoint).toMatchObject({ ref, trigger: 'seed' });
    await controller.shutdown();
  });

  it('goes into a missing root that may be made', async () => {
    const ref = await seedRef();
    const placement = exclusiveWorkspace(stack.store, world.path('new'), stack.leaser, { create: true });
    const controller = await rigOf(stack, placement).newSession({ seed: ref });
    expect(world.read('seed.txt', world.path('new'))).toBe('seed');
    await controller.shutdown();
  });

  const refusals: [string, WorkspacePlacement['mode'] | 'none', unknown, string][] = [
    ['without a placement', 'none', nowhere, 'no-placement'],
    ['in a shared root', 'shared', nowhere, 'shared'],
    ['into a root with files', 'exclusive', nowhere, 'root-not-empty'],
    ['that is no ref', 'exclusive', 'nonsense', 'invalid-ref'],
    ['that is no ref, without a placement', 'none', 'nonsense', 'no-placement'],
    ['that is no ref, in a shared root', 'shared', 'nonsense', 'shared'],
    ['that nobody has', 'per-session', nowhere, 'materialize-failed'],
  ];
  it.each(refusals)('is refused %s', async (_name, mode, seed, kind) => {
    world.write('a.txt', 'mine');
    const rig = mode === 'none' ? defineRig({ sessionStore: stack.sessionStore }) : rigOf(stack, mode);
    const error = await rig.newSession({ seed: seed as Ref }).catch((caught: unknown) => caught);
    if (!WorkspaceSeedError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'RIG_SEED', kind, ref: seed });
    if (kind === 'materialize-failed') expect(findCause(error, MaterializeError)?.ref).toBe(nowhere);
    expect(await sessionIds(rig)).toEqual([]);
    expect(world.read('a.txt')).toBe('mine');
    expect(existsSync(world.path('base')) ? readdirSync(world.path('base')) : []).toEqual([]);
  });

  it.each([
    ['missing', false],
    ['empty', true],
  ])('that does not arrive leaves what somebody put into a root that was %s', async (_name, exists) => {
    const ref = await seedRef();
    const root = exists ? world.path('root') : world.path('new');
    const placement = exclusiveWorkspace(stack.store, root, stack.leaser, { create: true });
    const rig = rigOf(stack, placement);
    const onProgress = (): void => world.write('theirs.txt', 'theirs', root);
    const error = await rig.newSession({ seed: ref, onProgress }).catch((caught: unknown) => caught);
    if (!WorkspaceSeedError.is(error)) throw error;
    expect(error.kind).toBe('materialize-failed');
    expect(world.read('theirs.txt', root)).toBe('theirs');
    expect(readdirSync(root)).toEqual(['theirs.txt']);
    expect(await sessionIds(rig)).toEqual([]);
  });

  it('that does not arrive leaves no root that it made', async () => {
    const ref = await seedRef();
    const abort = new AbortController();
    const placement = exclusiveWorkspace(stack.store, world.path('new'), stack.leaser, { create: true });
    const begun = rigOf(stack, placement).newSession({
      seed: ref,
      signal: abort.signal,
      onProgress: () => abort.abort(new Error('enough')),
    });
    await expect(begun).rejects.toThrow('enough');
    expect(existsSync(world.path('new'))).toBe(false);
  });
});

describe('an exclusive root', () => {
  it('has one session; others learn who has it', async () => {
    const rig = rigOf(stack, 'exclusive');
    const controller = await rig.newSession({ owner: { application: 'first' } });
    symlinkSync(world.path('root'), world.path('alias'));
    const other = await world.process();
    const alias = exclusiveWorkspace(other.store, world.path('alias'), other.leaser);
    for (const second of [rig, rigOf(other, 'exclusive'), rigOf(other, alias)]) {
      const error = await second.newSession().catch((caught: unknown) => caught);
      if (!WorkspaceRootBusyError.is(error)) throw error;
      expect(error).toMatchObject({
        code: 'RIG_ROOT_BUSY',
        root: world.path('root'),
        holderEpoch: 1,
        owner: { application: 'first', session: controller.id, pid: process.pid },
      });
      expect(findCause(error, LeaseHeldError)).toBeDefined();
      expect(await sessionIds(second)).toEqual([controller.id]);
    }
    await controller.shutdown();
    const next = await rigOf(other, 'exclusive').newSession();
    await next.shutdown();
  });

  it('is free as soon as its holder is dead', async () => {
    const controller = await rigOf(stack, 'exclusive').newSession();
    world.killHolders(controller, rootLeaseName(world.path('root')));
    const other = await world.process();
    const opened = await rigOf(other, 'exclusive').openSession(controller.id);
    expect(opened.state().phase).toBe('idle');
    await opened.shutdown();
  });

  it('is not called busy when the leaser is out of order', async () => {
    const { leaser } = stack;
    const broken = { ...stack.placement('exclusive'), leaser: brokenLeaser(leaser) } as WorkspacePlacement;
    const error = await rigOf(stack, broken)
      .newSession()
      .catch((caught: unknown) => caught);
    expect(LeaserBackendError.is(error)).toBe(true);
  });

  it('does not lie in another live one, in this process or another', async () => {
    mkdirSync(world.path('root', 'inner', 'deep'), { recursive: true });
    const at = (given: Stack, ...names: string[]): Rig =>
      rigOf(given, exclusiveWorkspace(given.store, world.path(...names), given.leaser));
    const outer = await at(stack, 'root').newSession();
    const error = await at(stack, 'root', 'inner', 'deep')
      .newSession()
      .catch((caught: unknown) => caught);
    if (!WorkspaceRootNestedError.is(error)) throw error;
    expect(error).toMatchObject({ root: world.path('root', 'inner', 'deep'), other: world.path('root') });
    const other = await world.process();
    await expect(at(other, 'root', 'inner').newSession()).rejects.toMatchObject({ code: 'RIG_ROOT_NESTED' });
    await outer.shutdown();
    const inner = await at(stack, 'root', 'inner').newSession();
    for (const given of [stack, other]) {
      await expect(at(given, 'root').newSession()).rejects.toMatchObject({
        code: 'RIG_ROOT_NESTED',
        other: world.path('root', 'inner'),
      });
    }
    await inner.shutdown();
    await (await at(other, 'root').newSession()).shutdown();
  });
});

it('of two nested roots that are opened at the same time at least one is refused', async () => {
  mkdirSync(world.path('root', 'inner'), { recursive: true });
  const other = await world.process();
  const open = async (given: Stack, ...names: string[]): Promise<OpenedSession> =>
    await rigOf(given, exclusiveWorkspace(given.store, world.path(...names), given.leaser)).newSession();
  const outcomes = await Promise.allSettled([open(stack, 'root'), open(other, 'root', 'inner')]);
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'RIG_ROOT_NESTED' });
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.shutdown();
});

function brokenLeaser(leaser: Stack['leaser']): Stack['leaser'] {
  return Object.create(leaser, {
    acquire: {
      value: async (name: string) => await Promise.reject(new LeaserBackendError('acquire', name)),
    },
    checkName: { value: () => undefined },
    supports: { value: leaser.supports },
    storagePaths: { value: () => [] },
  }) as Stack['leaser'];
}

describe('drift', () => {
  type Mode = WorkspacePlacement['mode'];
  async function left(mode: Mode, change: boolean): Promise<{ id: string; ref: Ref; root: string }> {
    const rig = rigOf(stack, mode);
    const controller = await rig.newSession();
    const root = rig.rootOf(controller.id) as string;
    world.write('a.txt', 'checkpointed', root);
    const ref = await controller.checkpointWorkspace();
    await controller.shutdown();
    if (change) {
      world.write('a.txt', 'changed', root);
      world.write('b.txt', 'added', root);
    }
    return { id: controller.id, ref, root };
  }
  const open = async (
    mode: Mode,
    id: string,
    drift?: 'record' | 'keep' | 'discard' | 'fail',
  ): Promise<OpenedSession> => await rigOf(await world.process(), mode).openSession(id, { drift });

  const table: [Mode, 'record' | 'keep' | 'discard', string, string[]][] = [
    ['exclusive', 'record', 'changed', ['WorkspaceCheckpointed:recovered', 'SessionRestored']],
    ['exclusive', 'keep', 'changed', ['WorkspaceCheckpointed:recovered', 'SessionRestored']],
    ['exclusive', 'discard', 'checkpointed', ['WorkspaceRestored', 'SessionRestored']],
    [
      'per-session',
      'record',
      'checkpointed',
      ['WorkspaceCheckpointed:recovered', 'WorkspaceRestored', 'SessionRestored'],
    ],
    ['per-session', 'keep', 'changed', ['WorkspaceCheckpointed:recovered', 'SessionRestored']],
    ['per-session', 'discard', 'checkpointed', ['WorkspaceRestored', 'SessionRestored']],
    ['shared', 'record', 'changed', ['SessionRestored']],
    ['shared', 'keep', 'changed', ['SessionRestored']],
    ['shared', 'discard', 'changed', ['SessionRestored']],
  ];
  it.each(table)('%s, %s: the file is %s, then %j', async (mode, drift, text, events) => {
    const { id, ref, root } = await left(mode, true);
    const opened = await open(mode, id, drift);
    expect(world.read('a.txt', root)).toBe(text);
    expect((await eventTypes(opened)).slice(-events.length)).toEqual(events);
    const recovered = events.includes('WorkspaceCheckpointed:recovered');
    expect(opened.opening.drift).toMatchObject({
      expected: ref,
      differences: [
        { path: 'a.txt', what: 'modified' },
        { path: 'b.txt', what: 'added' },
      ],
      broughtBack: text === 'checkpointed' && mode !== 'shared',
    });
    expect(opened.opening.drift?.recovered !== undefined).toBe(recovered);
    if (recovered) {
      await opened.restoreWorkspace(opened.opening.drift?.recovered as Ref);
      expect(world.read('a.txt', root)).toBe('changed');
    }
    await opened.shutdown();
  });

  it.each(['exclusive', 'per-session', 'shared'] as const)('%s, fail: nothing is changed', async (mode) => {
    const { id, ref, root } = await left(mode, true);
    const error = await open(mode, id, 'fail').catch((caught: unknown) => caught);
    if (!WorkspaceDriftError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'RIG_DRIFT', sessionId: id, root, ref });
    expect(error.differences).toHaveLength(2);
    expect(world.read('a.txt', root)).toBe('changed');
    const opened = await open(mode, id);
    await opened.shutdown();
  });

  it.each(['exclusive', 'per-session', 'shared'] as const)('%s: none when nothing changed', async (mode) => {
    const { id } = await left(mode, false);
    const opened = await open(mode, id, 'fail');
    expect(opened.opening).toMatchObject({ drift: undefined, materialized: undefined });
    expect((await eventTypes(opened)).at(-1)).toBe('SessionRestored');
    await opened.shutdown();
  });

  it('none after a restore that left something else than its ref on purpose', async () => {
    const rig = rigOf(stack, 'exclusive');
    const controller = await rig.newSession();
    world.write('a.txt', 'one');
    const ref = await controller.checkpointWorkspace();
    mkdirSync(world.path('root', 'left-alone'));
    symlinkSync('a.txt', world.path('root', 'link'));
    const receipt = await controller.restoreWorkspace(ref);
    expect(receipt.exact).toBe(false);
    await controller.shutdown();
    const opened = await open('exclusive', controller.id, 'fail');
    expect(opened.opening.drift).toBeUndefined();
    await opened.shutdown();
  });

  it('is not looked for before the first checkpoint', async () => {
    const controller = await rigOf(stack, 'exclusive').newSession();
    await controller.shutdown();
    world.write('a.txt', 'whatever');
    const opened = await open('exclusive', controller.id, 'fail');
    expect(opened.opening.drift).toBeUndefined();
    await opened.shutdown();
  });

  it('fails the opening when it cannot be recorded', async () => {
    const { id, root } = await left('exclusive', true);
    world.beforeAppend = (types) => {
      if (types.includes('WorkspaceCheckpointed')) throw new Error('full');
    };
    await expect(open('exclusive', id)).rejects.toMatchObject({ kind: 'append-failed' });
    world.beforeAppend = undefined;
    expect(world.read('a.txt', root)).toBe('changed');
    const opened = await open('exclusive', id);
    expect(opened.opening.drift?.recovered).toBeDefined();
    await opened.shutdown();
  });
});

describe('opening', () => {
  it('closes turns that were left open as interrupted', async () => {
    const loop = defineLoop({
      name: 'agent',
      turn: async () => await new Promise<never>(() => undefined),
    });
    const rig = defineRig({ loops: [loop], sessionStore: stack.sessionStore });
    const controller = await rig.newSession();
    const { turn } = await controller.submit('hang');
    while (controller.state().loops[0]?.turn === undefined)
      await new Promise((resolve) => setImmediate(resolve));
    world.killHolders(controller);
    const other = await world.process();
    const opened = await defineRig({ loops: [loop], sessionStore: other.sessionStore }).openSession(
      controller.id,
    );
    expect(opened.opening.interruptedTurns).toEqual([turn]);
    expect((await eventTypes(opened)).slice(-3)).toEqual([
      'TurnInterrupted',
      'SessionRestored',
      'LoopStarted',
    ]);
    await opened.shutdown();
  });

  it('fences the previous owner', async () => {
    const rig = rigOf(stack, 'per-session');
    const controller = await rig.newSession();
    // The owner is stopped: it has lost its lease and does not know.
    world.leases.expire(`sessions/${controller.id}`, { silently: true });
    const other = await world.process();
    const opened = await rigOf(other, 'per-session').openSession(controller.id);
    const error = await controller.boundary('turn-done').catch((caught: unknown) => caught);
    expect(
      findCause(error, JournalFencedError) ?? (isHoldfastError(error) ? error : undefined),
    ).toBeDefined();
    expect(controller.state().fault).toMatchObject({ kind: 'terminal' });
    await opened.shutdown();
  });

  it.each(['exclusive', 'per-session'] as const)(
    'materializes into a root that is gone or empty (%s)',
    async (mode) => {
      const placement: WorkspacePlacement =
        mode === 'exclusive'
          ? exclusiveWorkspace(stack.store, world.path('root'), stack.leaser, { create: true })
          : sessionWorkspaces(stack.store, world.path('base'));
      const rig = rigOf(stack, placement);
      const controller = await rig.newSession();
      const root = rig.rootOf(controller.id) as string;
      world.write('a.txt', 'kept', root);
      const ref = await controller.checkpointWorkspace();
      await controller.shutdown();
      for (const how of ['gone', 'empty'] as const) {
        rmSync(root, { recursive: true });
        if (how === 'empty') mkdirSync(root);
        const opened = await rig.openSession(controller.id);
        expect(opened.opening.materialized).toBe(ref);
        expect(world.read('a.txt', root)).toBe('kept');
        await opened.shutdown();
      }
    },
  );

  it('refuses a fixed root that is gone and may not be made', async () => {
    const rig = rigOf(stack, 'exclusive');
    const controller = await rig.newSession();
    await controller.shutdown();
    rmSync(world.path('root'), { recursive: true });
    for (const call of [() => rig.openSession(controller.id), () => rig.newSession()]) {
      const error = await call().catch((caught: unknown) => caught);
      if (!WorkspacePlacementError.is(error)) throw error;
      expect(error.kind).toBe('root-not-directory');
    }
  });

  it('another root, mode or none at all must be asked for', async () => {
    world.write('a.txt', 'mine');
    const controller = await rigOf(stack, 'exclusive').newSession();
    await controller.shutdown();
    mkdirSync(world.path('other'));
    const elsewhere = exclusiveWorkspace(stack.store, world.path('other'), stack.leaser);
    for (const rig of [
      rigOf(stack, elsewhere),
      rigOf(stack, 'shared'),
      defineRig({ sessionStore: stack.sessionStore }),
    ]) {
      const error = await rig.openSession(controller.id).catch((caught: unknown) => caught);
      if (!WorkspaceRelocatedError.is(error)) throw error;
      expect(error).toMatchObject({ code: 'RIG_RELOCATED', was: `exclusive root ${world.path('root')}` });
    }
    const moved = await rigOf(stack, elsewhere).openSession(controller.id, { relocate: true });
    expect(world.read('a.txt', world.path('other'))).toBe('mine');
    await moved.shutdown();
    const back = await rigOf(stack, elsewhere).openSession(controller.id);
    await back.shutdown();
  });

  it('another store must be asked for, and begins with the files that are there', async () => {
    world.write('a.txt', 'mine');
    const controller = await rigOf(stack, 'exclusive').newSession();
    await controller.shutdown();
    const otherStore = await WorkspaceStore.open(memoryBlobs());
    const other = rigOf(stack, exclusiveWorkspace(otherStore, world.path('root'), stack.leaser));
    const error = await other.openSession(controller.id).catch((caught: unknown) => caught);
    if (!WorkspaceRelocatedError.is(error)) throw error;
    expect(error.is).toBe('a store without it');
    const opened = await other.openSession(controller.id, { relocate: true });
    expect((await eventTypes(opened)).slice(-2)).toEqual([
      'WorkspaceCheckpointed:recovered',
      'SessionRestored',
    ]);
    expect(await otherStore.has(opened.opening.drift?.recovered as Ref)).toBe(true);
    await opened.shutdown();
    await (await other.openSession(controller.id, { drift: 'fail' })).shutdown();
    rmSync(world.path('root'), { recursive: true });
    mkdirSync(world.path('root'));
    const third = exclusiveWorkspace(
      await WorkspaceStore.open(memoryBlobs()),
      world.path('root'),
      stack.leaser,
    );
    await expect(rigOf(stack, third).openSession(controller.id, { relocate: true })).rejects.toMatchObject({
      code: 'RIG_RELOCATED',
    });
  });

  it('brings a root that is older than the journal forward, and keeps what was in it', async () => {
    world.write('a.txt', 'one');
    const controller = await rigOf(stack, 'exclusive').newSession();
    await controller.shutdown();
    mkdirSync(world.path('other'));
    const elsewhere = exclusiveWorkspace(stack.store, world.path('other'), stack.leaser);
    const moved = await rigOf(stack, elsewhere).openSession(controller.id, { relocate: true });
    world.write('a.txt', 'two', world.path('other'));
    await moved.checkpointWorkspace();
    await moved.shutdown();
    world.write('local.txt', 'only here');
    const back = await rigOf(stack, 'exclusive').openSession(controller.id, { relocate: true });
    expect(back.opening.drift).toMatchObject({ broughtBack: true });
    expect(world.read('a.txt')).toBe('two');
    const tree = await stack.store.list(back.opening.drift?.recovered as Ref);
    expect(tree.map(({ path }) => path)).toEqual(['a.txt', 'local.txt']);
    await back.shutdown();
  });

  it('of a session whose journal is lost must be asked for', async () => {
    const rig = rigOf(stack, 'exclusive');
    world.write('a.txt', 'mine');
    const controller = await rig.newSession();
    await controller.shutdown();
    await stack.sessionStore.delete(controller.id);
    const error = await rig.openSession(controller.id).catch((caught: unknown) => caught);
    expect(SessionNotFoundError.is(error)).toBe(true);
    const adopted = await rig.openSession(controller.id, { adopt: true });
    expect(await eventTypes(adopted)).toEqual(['WorkspaceCheckpointed:recovered', 'SessionRestored']);
    expect(world.read('a.txt')).toBe('mine');
    await adopted.shutdown();
  });

  it('is refused while another process has the session', async () => {
    const rig = rigOf(stack, 'per-session');
    const controller = await rig.newSession();
    const other = await world.process();
    await expect(rigOf(other, 'per-session').openSession(controller.id)).rejects.toMatchObject({
      code: 'LEASE_HELD',
    });
    await controller.shutdown();
  });
});

describe('what an interrupted construction left beside a root', () => {
  it.each(['exclusive', 'per-session'] as const)('goes when the root is taken (%s)', async (mode) => {
    const rig = rigOf(stack, mode);
    const root = rig.rootOf('some-session') as string;
    const named = (operation: string): string =>
      path.join(path.dirname(root), `.holdfast-trash-${operation}-0123456789abcdef`);
    const mine = named(`root-${createHash('sha256').update(root).digest('hex').slice(0, 24)}`);
    const theirs = named('root-0123456789abcdef01234567');
    for (const left of [mine, theirs]) {
      mkdirSync(path.join(left, 'deep'), { recursive: true });
      world.write('deep/a.txt', 'half', left);
    }
    const controller = await rig.newSession({ id: 'some-session' });
    expect([existsSync(mine), existsSync(theirs)]).toEqual([false, true]);
    await controller.shutdown();
    mkdirSync(mine);
    await (await rig.openSession('some-session')).shutdown();
    expect([existsSync(mine), existsSync(theirs)]).toEqual([false, true]);
  });

  it('is made under a name that tells whose it is', async () => {
    const ref = await seedRef();
    const beside: string[] = [];
    const rig = rigOf(stack, 'exclusive');
    const seen = (): void => {
      beside.push(...readdirSync(world.place).filter((name) => name.startsWith('.holdfast-')));
    };
    const controller = await rig.newSession({ seed: ref, onProgress: seen });
    const operation = createHash('sha256').update(world.path('root')).digest('hex').slice(0, 24);
    expect(beside.length).toBeGreaterThan(0);
    for (const name of beside) expect(name).toContain(`root-${operation}`);
    await controller.shutdown();
  });
});

describe('deletion', () => {
  it('removes the journal, what restores left, and the root when asked', async () => {
    const rig = rigOf(stack, 'per-session');
    const controller = await rig.newSession({ id: 'to-be-deleted' });
    await expect(rig.deleteSession(controller.id)).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await controller.shutdown();
    await rig.deleteSession(controller.id);
    expect(await sessionIds(rig)).toEqual([]);
    expect(readdirSync(world.path('base'))).toEqual(['to-be-deleted']);
    await rig.deleteSession(controller.id, { removeRoot: true });
    expect(readdirSync(world.path('base'))).toEqual([]);
  });

  it('leaves a fixed root alone', async () => {
    world.write('a.txt', 'mine');
    const rig = rigOf(stack, 'exclusive');
    const controller = await rig.newSession();
    await controller.shutdown();
    expect(readdirSync(world.place)).toContain('.root.holdfast');
    await rig.deleteSession(controller.id, { removeRoot: true });
    expect(world.read('a.txt')).toBe('mine');
    expect(readdirSync(world.place)).not.toContain('.root.holdfast');
  });
});

it('a root that was replaced while the session lived is not restored into', async () => {
  world.write('a.txt', 'mine');
  const controller = await rigOf(stack, 'exclusive').newSession();
  const [baseline] = await controller.checkpoints();
  renameSync(world.path('root'), world.path('moved'));
  mkdirSync(world.path('root'));
  await expect(controller.restoreWorkspace(baseline?.ref as Ref, { safety: false })).rejects.toMatchObject({
    kind: 'root-replaced',
  });
  expect(readdirSync(world.path('root'))).toEqual([]);
  await controller.shutdown();
});
