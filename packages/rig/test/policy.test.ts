import { defineRig, type SnapshotOptions, type WorkspacePlacement } from '@holdfast/rig';
import { defaultSnapshotTimeout, defineLoop } from '@holdfast/session';
import { beforeEach, describe, expect, it } from 'vitest';

import { eventTypes, type Stack, World } from './support/world.js';

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

const quiet = async (): Promise<void> => {
  for (let round = 0; round < 40; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
};

/** One turn of two steps under a placement and a policy; what was checkpointed. */
async function triggersOf(mode: WorkspacePlacement['mode'], snapshots: SnapshotOptions): Promise<string[]> {
  const root = { path: '' };
  const agent = defineLoop({
    name: 'agent',
    turn: async ({ step }) => {
      for (const text of ['one', 'two']) {
        await step(async () => {
          world.write('a.txt', text, root.path);
          await Promise.resolve();
        });
      }
    },
  });
  const rig = defineRig({
    loops: [agent],
    sessionStore: stack.sessionStore,
    workspace: stack.placement(mode),
    snapshots,
  });
  const controller = await rig.newSession();
  root.path = rig.rootOf(controller.id) as string;
  await (await controller.submit('go')).outcome;
  await quiet();
  const triggers = (await eventTypes(controller)).filter((type) => type.startsWith('WorkspaceCheckpointed'));
  await controller.shutdown();
  return triggers.map((type) => type.slice(type.indexOf(':') + 1));
}

describe('a session checkpoints what its policy says', () => {
  const rows: [WorkspacePlacement['mode'], string, string, string[]][] = [];
  for (const mode of ['exclusive', 'per-session', 'shared'] as const) {
    for (const priority of ['best-effort', 'required']) {
      if (mode === 'shared' && priority === 'required') continue;
      rows.push([mode, 'manual', priority, []]);
      rows.push([mode, 'idle', priority, ['idle']]);
      rows.push([mode, 'turn-done', priority, ['turn-done']]);
      rows.push([mode, 'step-done', priority, ['step-done', 'step-done']]);
    }
  }
  it.each(rows)('%s placement, %s trigger, %s priority', async (mode, trigger, priority, expected) => {
    const triggers = await triggersOf(mode, { trigger, priority } as SnapshotOptions);
    if (priority === 'required') expect(triggers).toEqual(expected);
    // The next step may be faster than a checkpoint in the background; the last one is always taken.
    else expect([expected, expected.slice(-1)]).toContainEqual(triggers);
  });

  it('unset means idle, best effort and 60 seconds', async () => {
    expect(await triggersOf('exclusive', {})).toEqual(['idle']);
    expect(defaultSnapshotTimeout).toBe(60_000);
  });
});
