import { mkdirSync } from 'node:fs';

import { ManualClock } from '@holdfast/base/testing';
import type { Lease } from '@holdfast/lease';
import {
  defineRig,
  exclusiveWorkspace,
  type OpenedSession,
  refuseNestedRoots,
  rootLeaseName,
  sharedWorkspace,
} from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { beforeEach, describe, expect, it } from 'vitest';

import { type Stack, World } from './support/world.js';

/** Openings beside others that are in the middle of theirs. */

let world: World;
let stack: Stack;
let other: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
  other = await world.process();
});

/** A clock on which every pause takes a second, and `paused` happens meanwhile. */
class PausesClock extends ManualClock {
  readonly #paused: (() => Promise<void>) | undefined;
  pauses = 0;

  constructor(paused?: () => Promise<void>) {
    super();
    this.#paused = paused;
  }

  override async sleep(): Promise<void> {
    this.pauses += 1;
    await this.#paused?.();
    await this.advance(1000);
  }
}

async function open(clock: ManualClock, ...names: string[]): Promise<OpenedSession> {
  const rig = defineRig({
    sessionStore: stack.sessionStore,
    workspace: exclusiveWorkspace(stack.store, world.path('root', ...names), stack.leaser),
    snapshots: { trigger: 'manual' },
    clock,
  });
  return await rig.newSession();
}

describe('an opening', () => {
  beforeEach(async () => {
    mkdirSync(world.path('root', 'inner'), { recursive: true });
    // From now on it has scratch: whoever opens a root above or below asks for its lease.
    await (await open(new ManualClock())).shutdown();
  });

  /** What another process has while it looks whether `root` is live. */
  async function looking(): Promise<Lease> {
    let seen: unknown;
    const watched = Object.create(other.leaser, {
      acquire: {
        value: async (name: string, options: { owner: object }) => {
          seen = options.owner;
          return await other.leaser.acquire(name, options as never);
        },
      },
    }) as Stack['leaser'];
    await refuseNestedRoots(watched, world.path('root', 'sibling'), { clock: new ManualClock() });
    return await other.leaser.acquire(rootLeaseName(world.path('root')), { owner: seen as never });
  }

  it.each([[[]], [['inner']]])(
    'waits while another process looks whether the root is live (%j)',
    async (names) => {
      const look = await looking();
      const clock = new PausesClock(async () => await look.release());
      const session = await open(clock, ...names);
      expect(clock.pauses).toBe(1);
      await session.shutdown();
    },
  );

  it('does not wait for a look without an end', async () => {
    const look = await looking();
    const clock = new PausesClock();
    await expect(open(clock)).rejects.toMatchObject({ code: 'RIG_ROOT_BUSY' });
    expect(clock.monotonic()).toBe(10_000);
    await expect(open(clock, 'inner')).rejects.toMatchObject({ code: 'RIG_ROOT_NESTED' });
    expect(clock.monotonic()).toBe(20_000);
    await look.release();
  });

  it('does not wait for a session', async () => {
    const holder = await open(new ManualClock(), 'inner');
    const clock = new PausesClock();
    await expect(open(clock)).rejects.toMatchObject({ code: 'RIG_ROOT_NESTED' });
    await expect(open(clock, 'inner')).rejects.toMatchObject({ code: 'RIG_ROOT_BUSY' });
    expect(clock.pauses).toBe(0);
    await holder.shutdown();
  });
});

it('a shared root that an opening made stays when the opening fails: others may be in it', async () => {
  const inRoot = async (given: Stack): Promise<OpenedSession> => {
    const loop = defineLoop({ name: 'agent', turn: async () => await Promise.resolve(null) });
    const workspace = sharedWorkspace(given.store, world.path('new'), { create: true });
    const { sessionStore } = given;
    return await defineRig({ loops: [loop], sessionStore, workspace, snapshots: {} }).newSession();
  };
  world.beforeAppend = async (types) => {
    if (!types.includes('LoopStarted')) return;
    world.beforeAppend = undefined;
    const session = await inRoot(other);
    world.write('a.txt', 'theirs', world.path('new'));
    await session.shutdown();
    throw new Error('the disk is full');
  };
  await expect(inRoot(stack)).rejects.toThrow();
  expect(world.read('a.txt', world.path('new'))).toBe('theirs');
});

it('a root that was taken over meanwhile is left alone when the opening fails', async () => {
  const inRoot = async (given: Stack): Promise<OpenedSession> => {
    const loop = defineLoop({ name: 'agent', turn: async () => await Promise.resolve(null) });
    const workspace = exclusiveWorkspace(given.store, world.path('new'), given.leaser, { create: true });
    const { sessionStore } = given;
    return await defineRig({ loops: [loop], sessionStore, workspace, snapshots: {} }).newSession();
  };
  world.beforeAppend = async (types) => {
    if (!types.includes('LoopStarted')) return;
    world.beforeAppend = undefined;
    world.leases.expire(rootLeaseName(world.path('new')));
    const session = await inRoot(other);
    world.write('a.txt', 'theirs', world.path('new'));
    await session.shutdown();
    throw new Error('the disk is full');
  };
  await expect(inRoot(stack)).rejects.toMatchObject({ code: 'RIG_SESSION_OPENING' });
  expect(world.read('a.txt', world.path('new'))).toBe('theirs');
});

it('the root of a session stays when somebody begins another of its id while it is deleted', async () => {
  const id = 'session-again';
  const rigOf = (given: Stack) => {
    const { sessionStore } = given;
    return defineRig({ sessionStore, workspace: given.placement('per-session'), snapshots: {} });
  };
  await (await rigOf(stack).newSession({ id })).shutdown();
  const deleting = stack.sessionStore.delete.bind(stack.sessionStore);
  stack.sessionStore.delete = async (...call) => {
    await deleting(...call);
    const session = await rigOf(other).newSession({ id });
    world.write('a.txt', 'theirs', world.path('base', id));
    await session.shutdown();
  };
  await rigOf(stack).deleteSession(id, { removeRoot: true });
  expect(world.read('a.txt', world.path('base', id))).toBe('theirs');
});
