import { parseCanonicalPath } from '@holdfast/coordinator';
import { defineRig, type OpenedSession } from '@holdfast/rig';
import { defineLoop, defineTool } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';
import { expect, it } from 'vitest';

import { World } from './support/world.js';

/** A loop whose tool writes one file under a permit, as file tools do. */
function editorOf(world: World) {
  const write = defineTool({
    name: 'write',
    requires: { workspace: true },
    bind:
      ({ loop, workspace }) =>
      async ([name, text]: readonly [string, string]) => {
        if (workspace === undefined) throw new TypeError('bound without a workspace');
        using _permit = await workspace.coordinator.acquire(
          { operation: 'path-mutation', path: parseCanonicalPath(`${workspace.root}/${name}`) },
          { holder: { loop, toolCall: 'write' } },
        );
        world.write(name, text, workspace.root);
      },
  });
  return defineLoop({
    name: 'editor',
    tools: [write],
    turn: async ({ input, tools }) => {
      await tools.write.call(input as unknown as readonly [string, string]);
    },
  });
}

async function edit(session: OpenedSession, name: string, text: string): Promise<void> {
  const outcome = await (await session.submit([name, text])).outcome;
  expect(outcome.status).toBe('done');
}

async function twoSessions(world: World): Promise<readonly [OpenedSession, OpenedSession]> {
  const open = async (): Promise<OpenedSession> => {
    const stack = await world.process();
    const rig = defineRig({
      loops: [editorOf(world)],
      sessionStore: stack.sessionStore,
      workspace: stack.placement('shared'),
      snapshots: { trigger: 'manual' },
    });
    return await rig.newSession();
  };
  return [await open(), await open()];
}

it('two sessions and a person on one root: a restore touches what is its own (T7)', async () => {
  const world = new World();
  world.write('frontend/app.ts', '1');
  world.write('backend/server.go', '1');
  const [a, b] = await twoSessions(world);
  const [baseline] = await a.checkpoints();
  const ref = baseline?.ref as Ref;
  await edit(a, 'frontend/app.ts', '2');
  await edit(b, 'backend/server.go', '2');
  world.write('backend/server.go', '3');
  const plan = await a.previewRestore(ref);
  expect(plan.conflicts).toEqual([{ path: 'backend/server.go', reason: 'foreign' }]);
  await expect(a.restoreWorkspace(ref)).rejects.toMatchObject({ kind: 'concurrent-change' });
  await a.restoreWorkspace(ref, { paths: ['frontend'] });
  expect([world.read('frontend/app.ts'), world.read('backend/server.go')]).toEqual(['1', '3']);
  await a.restoreWorkspace(ref, { onConflict: 'overwrite' });
  expect(world.read('backend/server.go')).toBe('1');
  await a.undo({ onConflict: 'overwrite' });
  expect(world.read('backend/server.go')).toBe('3');
  await a.shutdown();
  await b.shutdown();
});

it('two sessions that restore one root at once do it one after another', async () => {
  const world = new World();
  world.write('a.txt', 'one');
  const [a, b] = await twoSessions(world);
  const [first] = await a.checkpoints();
  world.write('a.txt', 'two');
  const second = await b.checkpointWorkspace();
  const options = { onConflict: 'overwrite' } as const;
  const receipts = await Promise.all([
    a.restoreWorkspace(first?.ref as Ref, options),
    b.restoreWorkspace(second, options),
  ]);
  expect(receipts.map(({ ref }) => ref)).toEqual([first?.ref, second]);
  expect(['one', 'two']).toContain(world.read('a.txt'));
  await a.shutdown();
  await b.shutdown();
});
