import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { defineRig, exclusiveWorkspace, sessionWorkspaces } from '@holdfast/rig';
import { defineLoop, type SessionController } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';
import { expect, it } from 'vitest';

import { World } from './support/world.js';

async function types(controller: SessionController): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of controller.events()) seen.push(event.type);
  return seen;
}

it('a session edits, checkpoints, ends, is opened again and restored', async () => {
  const world = new World();
  const root = world.path('root');
  writeFileSync(path.join(root, 'a.txt'), 'zero');
  const editor = defineLoop({
    name: 'editor',
    turn: async ({ input, step }) =>
      await step(async () => {
        writeFileSync(path.join(root, 'a.txt'), input as string);
        return input;
      }),
  });
  const first = await world.process();
  const define = (stack: typeof first) =>
    defineRig({
      loops: [editor],
      primers: ['editor'],
      sessionStore: stack.sessionStore,
      workspace: exclusiveWorkspace(stack.store, root, stack.leaser),
      snapshots: { trigger: 'turn-done', priority: 'required' },
    });
  const controller = await define(first).newSession({ title: 'demo' });
  const one = await controller.submit('one');
  expect(await one.outcome).toMatchObject({ status: 'done', output: 'one' });
  const two = await controller.submit('two');
  await two.outcome;
  const checkpoints = await controller.checkpoints();
  expect(checkpoints.map(({ trigger }) => trigger)).toEqual(['baseline', 'turn-done', 'turn-done']);
  const plan = await controller.previewRestore(checkpoints[1]?.ref as Ref);
  expect(plan.replace.map((change) => change.path)).toEqual(['a.txt']);
  const receipt = await controller.restoreWorkspace(checkpoints[1]?.ref as Ref, { plan });
  expect(receipt).toMatchObject({ replaced: 1, exact: true });
  expect(readFileSync(path.join(root, 'a.txt'), 'utf8')).toBe('one');
  await controller.undo();
  expect(readFileSync(path.join(root, 'a.txt'), 'utf8')).toBe('two');
  await controller.rewindTo(one.turn);
  expect(readFileSync(path.join(root, 'a.txt'), 'utf8')).toBe('one');
  await controller.shutdown();

  writeFileSync(path.join(root, 'a.txt'), 'outside');
  const second = await world.process();
  const again = await define(second).openSession(controller.id);
  expect(again.opening.drift).toMatchObject({
    differences: [{ path: 'a.txt', what: 'modified' }],
    broughtBack: false,
  });
  expect(again.state()).toMatchObject({ phase: 'idle', fault: undefined });
  expect(await types(again)).toMatchInlineSnapshot(`
    [
      "SessionStarted",
      "WorkspaceCheckpointed",
      "LoopStarted",
      "SessionActive",
      "TurnStarted",
      "StepDone",
      "TurnDone",
      "WorkspaceCheckpointed",
      "LoopIdle",
      "SessionIdle",
      "SessionActive",
      "TurnStarted",
      "StepDone",
      "TurnDone",
      "WorkspaceCheckpointed",
      "LoopIdle",
      "SessionIdle",
      "WorkspaceCheckpointed",
      "WorkspaceRestored",
      "WorkspaceCheckpointed",
      "WorkspaceRestored",
      "WorkspaceCheckpointed",
      "WorkspaceRestored",
      "ConversationRewound",
      "SessionStopped",
      "WorkspaceCheckpointed",
      "SessionRestored",
      "LoopStarted",
    ]
  `);
  await again.shutdown();
});

it('a session has a root of its own, seeded and swapped', async () => {
  const world = new World();
  const stack = await world.process();
  writeFileSync(world.path('root', 'seed.txt'), 'seed');
  const { ref } = await stack.store.snapshot(world.path('root'));
  const rig = defineRig({
    sessionStore: stack.sessionStore,
    workspace: sessionWorkspaces(stack.store, world.path('base')),
    snapshots: { trigger: 'manual' },
  });
  const controller = await rig.newSession({ seed: ref });
  const root = rig.rootOf(controller.id) as string;
  expect(readFileSync(path.join(root, 'seed.txt'), 'utf8')).toBe('seed');
  writeFileSync(path.join(root, 'seed.txt'), 'changed');
  const changed = await controller.checkpointWorkspace();
  expect(changed).not.toBe(ref);
  const receipt = await controller.restoreWorkspace(ref);
  expect(receipt).toMatchObject({ strategy: 'swap', exact: true });
  expect(readFileSync(path.join(root, 'seed.txt'), 'utf8')).toBe('seed');
  const fork = await controller.fork();
  expect(fork.id).not.toBe(controller.id);
  expect(readFileSync(path.join(rig.rootOf(fork.id) as string, 'seed.txt'), 'utf8')).toBe('seed');
  await fork.shutdown();
  await controller.shutdown();
});
