import { SessionNotFoundError } from '@holdfast/journal';
import { defineRig } from '@holdfast/rig';
import { defineLoop } from '@holdfast/session';
import { beforeEach, describe, expect, it } from 'vitest';

import { rigOf, sessionIds } from './support/rigs.js';
import { eventTypes, type Stack, World } from './support/world.js';

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

/** A session with two turns, each of which left its input in `a.txt`. */
async function afterTwoTurns(mode: 'exclusive' | 'per-session') {
  const loop = defineLoop({ name: 'agent', turn: async ({ input }) => await Promise.resolve(input) });
  const rig = defineRig({
    loops: [loop],
    sessionStore: stack.sessionStore,
    workspace: stack.placement(mode),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  const controller = await rig.newSession();
  const turns: string[] = [];
  for (const input of ['one', 'two']) {
    world.write('a.txt', input, rig.rootOf(controller.id));
    const { outcome, turn } = await controller.submit(input);
    await outcome;
    turns.push(turn);
  }
  return { controller, rig, turns };
}

describe('a fork', () => {
  it('begins with the files and the conversation of a point, and goes its own way', async () => {
    const loop = defineLoop({
      name: 'agent',
      turn: async ({ input, step }) =>
        await step(async () => {
          world.write('a.txt', input as string, (input as string).length > 0 ? rootHolder.root : '');
          await Promise.resolve();
          return input;
        }),
    });
    const rootHolder = { root: '' };
    const rig = defineRig({
      loops: [loop],
      sessionStore: stack.sessionStore,
      workspace: stack.placement('per-session'),
      snapshots: { trigger: 'turn-done', priority: 'required' },
    });
    const controller = await rig.newSession();
    rootHolder.root = rig.rootOf(controller.id) as string;
    const turns: string[] = [];
    for (const input of ['one', 'two']) {
      const { outcome, turn } = await controller.submit(input);
      await outcome;
      turns.push(turn);
    }
    const fork = await controller.fork({ at: turns[0] });
    const forkRoot = rig.rootOf(fork.id) as string;
    expect(world.read('a.txt', forkRoot)).toBe('one');
    expect(await eventTypes(fork)).toEqual([
      'TurnStarted',
      'StepDone',
      'TurnDone',
      'SessionStarted',
      'WorkspaceCheckpointed:seed',
      'LoopStarted',
    ]);
    for await (const event of fork.events()) {
      if (event.type === 'SessionStarted') {
        expect(event.body).toMatchObject({ forkedFrom: { session: controller.id } });
      }
    }
    rootHolder.root = forkRoot;
    await (await fork.submit('other way')).outcome;
    expect(world.read('a.txt', rig.rootOf(controller.id))).toBe('two');
    await fork.shutdown();
    await controller.shutdown();
  });

  it('after a rewind begins with the conversation that the rewind left, and after its undo with all of it', async () => {
    const { controller, rig, turns } = await afterTwoTurns('per-session');
    const begun = async (at?: string): Promise<[string, number]> => {
      const fork = await controller.fork({ at });
      const text = world.read('a.txt', rig.rootOf(fork.id) as string);
      const kinds = await eventTypes(fork);
      await fork.shutdown();
      return [text, kinds.filter((type) => type === 'TurnDone').length];
    };
    const restores = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { type, id } of controller.events()) if (type === 'WorkspaceRestored') ids.push(id);
      return ids;
    };
    await controller.rewindTo(turns[0] as string);
    expect(await begun()).toEqual(['one', 1]);
    const [rewind] = await restores();
    await controller.undo();
    expect(await begun()).toEqual(['two', 2]);
    expect(await begun(rewind)).toEqual(['one', 1]);
    expect(await begun((await restores())[1])).toEqual(['two', 2]);
    await controller.shutdown();
  });

  it('of a session that nobody has begins under the placement of the rig that makes it', async () => {
    const { controller, rig, turns } = await afterTwoTurns('exclusive');
    const { id } = controller;
    await controller.shutdown();
    const others = rigOf(stack, 'per-session');
    const fork = await others.forkSession(id, { at: turns[0] as string, title: 'other way' });
    expect(world.read('a.txt', others.rootOf(fork.id))).toBe('one');
    expect((await eventTypes(fork)).filter((type) => type.startsWith('Turn'))).toEqual([
      'TurnStarted',
      'TurnDone',
    ]);
    for await (const event of fork.events()) {
      if (event.type === 'SessionStarted') expect(event.body.forkedFrom?.session).toBe(id);
    }
    await fork.shutdown();
    const last = await others.forkSession(id);
    expect(world.read('a.txt', others.rootOf(last.id))).toBe('two');
    await last.shutdown();
    expect(world.read('a.txt')).toBe('two');
    await expect(others.forkSession(id, { at: 'nowhere' })).rejects.toMatchObject({ kind: 'point' });
    await expect(others.forkSession('no-such-session')).rejects.toSatisfy((error) =>
      SessionNotFoundError.is(error),
    );
    expect(await sessionIds(rig)).toHaveLength(3);
  });

  it('needs a checkpoint', async () => {
    const controller = await rigOf(stack, 'per-session').newSession();
    await expect(controller.fork()).rejects.toMatchObject({ code: 'SESSION_POINT', kind: 'checkpoint' });
    await expect(controller.fork({ at: 'nowhere' })).rejects.toMatchObject({ kind: 'point' });
    await controller.shutdown();
  });
});
