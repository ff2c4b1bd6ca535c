import { readdirSync, rmSync } from 'node:fs';

import { type RestoreStrategy, reconcile, WorkspaceRestoreError } from '@holdfast/restore';
import {
  defineRig,
  exclusiveWorkspace,
  type OpenedSession,
  type Rig,
  rootLeaseName,
  sessionWorkspaces,
} from '@holdfast/rig';
import type { Ref } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, it } from 'vitest';

import { eventTypes, type Stack, World } from './support/world.js';

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

type Mode = 'exclusive' | 'per-session';

function rigOf(given: Stack, mode: Mode, strategy?: RestoreStrategy): Rig {
  const workspace =
    mode === 'exclusive'
      ? exclusiveWorkspace(given.store, world.path('root'), given.leaser, { strategy, create: true })
      : sessionWorkspaces(given.store, world.path('base'), { strategy });
  return defineRig({ sessionStore: given.sessionStore, workspace, snapshots: { trigger: 'manual' } });
}

interface Prepared {
  readonly controller: OpenedSession;
  readonly root: string;
  readonly first: Ref;
  readonly second: Ref;
}

/** A session whose files are at `second`. */
async function prepared(mode: Mode, strategy?: RestoreStrategy): Promise<Prepared> {
  const rig = rigOf(stack, mode, strategy);
  const controller = await rig.newSession();
  const root = rig.rootOf(controller.id) as string;
  world.write('a.txt', 'old a', root);
  world.write('b.txt', 'old b', root);
  const first = await controller.checkpointWorkspace();
  world.write('a.txt', 'new a', root);
  world.write('b.txt', 'new b', root);
  const second = await controller.checkpointWorkspace();
  return { controller, root, first, second };
}

/** The tree is restored and the journal does not know. */
async function unrecorded(mode: Mode): Promise<Prepared> {
  const made = await prepared(mode);
  world.beforeAppend = (types) => {
    if (types.includes('restore-prepared')) throw new Error('the disk is full');
  };
  await expect(made.controller.restoreWorkspace(made.first, { safety: false })).rejects.toMatchObject({
    kind: 'append-failed',
  });
  world.beforeAppend = undefined;
  return made;
}

/** The process is gone in the middle: it can neither finish nor undo nor record anything any more. */
async function torn(mode: Mode): Promise<Prepared> {
  const strategy: RestoreStrategy = {
    ...reconcile(),
    commit: async (context, state) => {
      await reconcile().commit(context, state);
      throw new Error('killed');
    },
    undo: async () => await Promise.reject(new Error('killed')),
  };
  const made = await prepared(mode, strategy);
  await expect(made.controller.restoreWorkspace(made.first, { safety: false })).rejects.toMatchObject({
    kind: 'rollback-failed',
  });
  return made;
}

async function reopened(made: Prepared, mode: Mode): Promise<OpenedSession> {
  world.killHolders(made.controller, rootLeaseName(world.path('root')));
  return await rigOf(await world.process(), mode).openSession(made.controller.id);
}

const texts = (root: string): string[] => ['a.txt', 'b.txt'].map((name) => world.read(name, root));
const dropScratch = (made: Prepared): void => {
  rmSync(made.root.replace(/([^/]+)$/, '.$1.holdfast'), { recursive: true, force: true });
};

describe.each(['exclusive', 'per-session'] as const)('%s: an opening after', (mode) => {
  it('a restore that was committed and not recorded: it is recorded', async () => {
    const made = await unrecorded(mode);
    const opened = await reopened(made, mode);
    expect(opened.opening).toMatchObject({ recovery: { action: 'kept', ref: made.first }, drift: undefined });
    expect(texts(made.root)).toEqual(['old a', 'old b']);
    expect((await eventTypes(opened)).slice(-2)).toEqual(['WorkspaceRestored', 'SessionRestored']);
    await opened.shutdown();
    const again = await rigOf(stack, mode).openSession(made.controller.id);
    expect((await eventTypes(again)).filter((type) => type === 'WorkspaceRestored')).toHaveLength(1);
    expect(again.opening.recovery.action).toBe('none');
    await again.shutdown();
  });

  it('a restore that was torn: it is taken back', async () => {
    const made = await torn(mode);
    const opened = await reopened(made, mode);
    expect(opened.opening).toMatchObject({
      recovery: { action: 'undone', ref: made.first },
      drift: undefined,
    });
    expect(texts(made.root)).toEqual(['new a', 'new b']);
    expect((await eventTypes(opened)).at(-1)).toBe('SessionRestored');
    await opened.restoreWorkspace(made.first);
    expect(texts(made.root)).toEqual(['old a', 'old b']);
    await opened.shutdown();
  });

  it('an unrecorded restore whose scratch is lost: the files tell that it happened', async () => {
    const made = await unrecorded(mode);
    dropScratch(made);
    const opened = await reopened(made, mode);
    expect(texts(made.root)).toEqual(['old a', 'old b']);
    expect((await eventTypes(opened)).slice(-2)).toEqual(['WorkspaceRestored', 'SessionRestored']);
    await opened.shutdown();
  });

  it('a restore whose scratch is lost and that changed nothing: it is over', async () => {
    const made = await unrecorded(mode);
    dropScratch(made);
    world.write('a.txt', 'new a', made.root);
    world.write('b.txt', 'new b', made.root);
    const opened = await reopened(made, mode);
    expect(texts(made.root)).toEqual(['new a', 'new b']);
    expect(opened.opening.drift).toBeUndefined();
    expect((await eventTypes(opened)).at(-2)).toBe('WorkspaceCheckpointed:manual');
    await opened.shutdown();
  });

  it('a restore whose scratch is lost half-way: the files are brought back from the store', async () => {
    const made = await unrecorded(mode);
    dropScratch(made);
    world.write('b.txt', 'new b', made.root);
    // The first attempt cannot say that it is over; the second finds the same and does.
    world.beforeAppend = (types) => {
      if (types.includes('restore-aborted')) throw new Error('the disk is full');
    };
    await expect(reopened(made, mode)).rejects.toMatchObject({ kind: 'append-failed' });
    world.beforeAppend = undefined;
    const opened = await reopened(made, mode);
    expect(texts(made.root)).toEqual(['new a', 'new b']);
    expect((await eventTypes(opened)).slice(-2)).toEqual(['WorkspaceCheckpointed:manual', 'SessionRestored']);
    await opened.shutdown();
  });

  it('a restore whose scratch is lost and whose files are neither: it is refused, and nothing is touched', async () => {
    const made = await unrecorded(mode);
    dropScratch(made);
    world.write('b.txt', 'something else', made.root);
    const error = await reopened(made, mode).catch((caught: unknown) => caught);
    if (!WorkspaceRestoreError.is(error)) throw error;
    expect(error).toMatchObject({ kind: 'recovery-refused', paths: ['b.txt'] });
    expect(texts(made.root)).toEqual(['old a', 'something else']);
  });

  it('a restore whose root is gone: it is over, and the journal decides', async () => {
    const made = await unrecorded(mode);
    rmSync(made.root, { recursive: true });
    dropScratch(made);
    const opened = await reopened(made, mode);
    expect(opened.opening.materialized).toBe(made.second);
    expect(texts(made.root)).toEqual(['new a', 'new b']);
    await opened.shutdown();
  });

  it('a restore on another host: it is over, and the journal decides', async () => {
    const made = await prepared(mode);
    await made.controller.shutdown();
    const journal = await stack.sessionStore.open(made.controller.id);
    await journal.appendPrivate({
      type: 'restore-started',
      body: {
        restoreId: 'a'.repeat(32),
        ref: made.first,
        previousRef: made.second,
        strategy: 'reconcile',
        host: 'elsewhere',
      },
    });
    await journal.close();
    const opened = await rigOf(stack, mode).openSession(made.controller.id);
    expect(texts(made.root)).toEqual(['new a', 'new b']);
    const again = await opened.checkpointWorkspace();
    expect(again).toBe(made.second);
    await opened.shutdown();
  });
});

it('scratch is removed when the journal has the outcome', async () => {
  const made = await unrecorded('exclusive');
  const opened = await reopened(made, 'exclusive');
  const scratch = world.path('.root.holdfast', made.controller.id);
  expect(readdirSync(scratch)).toEqual(['owner']);
  await opened.shutdown();
});

it('a new session on a root with an interrupted restore of another one recovers it first', async () => {
  const made = await torn('exclusive');
  world.killHolders(made.controller, rootLeaseName(world.path('root')));
  const other = await rigOf(await world.process(), 'exclusive').newSession();
  expect(other.opening.recovery.action).toBe('undone');
  expect(texts(made.root)).toEqual(['new a', 'new b']);
  await other.shutdown();
  const opened = await rigOf(await world.process(), 'exclusive').openSession(made.controller.id);
  expect(opened.opening.recovery.action).toBe('undone');
  await opened.shutdown();
});

it('a rewind that was committed and not recorded rewinds the conversation too', async () => {
  const rig = defineRig({
    sessionStore: stack.sessionStore,
    workspace: stack.placement('exclusive'),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  const controller = await rig.newSession();
  world.write('a.txt', 'one');
  await controller.boundary('turn-done', { cause: { turn: 'first' } });
  world.write('a.txt', 'two');
  await controller.boundary('turn-done', { cause: { turn: 'second' } });
  world.beforeAppend = (types) => {
    if (types.includes('restore-prepared')) throw new Error('the disk is full');
  };
  await expect(controller.rewindTo('first')).rejects.toMatchObject({ kind: 'append-failed' });
  world.beforeAppend = undefined;
  world.killHolders(controller, rootLeaseName(world.path('root')));
  const opened = await rigOf(await world.process(), 'exclusive').openSession(controller.id);
  expect(world.read('a.txt')).toBe('one');
  expect((await eventTypes(opened)).slice(-3)).toEqual([
    'WorkspaceRestored',
    'ConversationRewound',
    'SessionRestored',
  ]);
  await opened.shutdown();
});
