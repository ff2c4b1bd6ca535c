import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Blobs } from '@holdfast/blobs';
import { type SessionLedgers, SessionStore } from '@holdfast/journal';
import type { Leaser } from '@holdfast/lease';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { defineLoop, defineRig, type Rig, sessionWorkspaces, workspaceTools } from 'holdfast';
import { expect } from 'vitest';

/** What a rig stands on. Each opening gets new ones over what outlives it. */
export interface Parts {
  readonly blobs: Blobs;
  readonly ledgers: SessionLedgers;
  readonly leaser: Leaser;
  /** Closes them, last the blobs. */
  close(): Promise<void>;
}

async function open(place: string, parts: Parts): Promise<{ rig: Rig } & AsyncDisposable> {
  const sessionStore = await SessionStore.open(parts);
  const store = await WorkspaceStore.open(parts.blobs);
  const agent = defineLoop({
    name: 'agent',
    tools: workspaceTools(),
    turn: async ({ input, step, tools }) =>
      await step(async (signal) => {
        await tools.read.call({ path: 'a.txt' }, { signal }).catch(() => undefined);
        await tools.write.call({ path: 'a.txt', content: input as string }, { signal });
      }),
  });
  const rig = defineRig({
    loops: [agent],
    primers: ['agent'],
    sessionStore,
    workspace: sessionWorkspaces(store, path.join(place, 'roots')),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  return {
    rig,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await sessionStore.close();
      await parts.close();
    },
  };
}

/** One life of a session from end to end, over two openings. */
export async function travel(place: string, partsOf: () => Promise<Parts>): Promise<void> {
  let id: string;
  let file: string;
  {
    await using stack = await open(place, await partsOf());
    const session = await stack.rig.newSession({ title: 'swap' });
    id = session.id;
    file = path.join(stack.rig.rootOf(id) as string, 'a.txt');
    const first = await session.submit('one');
    expect((await first.outcome).status).toBe('done');
    expect((await (await session.submit('two')).outcome).status).toBe('done');
    const [checkpoint] = await session.checkpoints();
    await session.restoreWorkspace(checkpoint?.ref as Ref);
    expect(readFileSync(file, 'utf8')).toBe('one');
    await session.undo();
    expect(readFileSync(file, 'utf8')).toBe('two');
    await session.rewindTo(first.turn);
    await session.shutdown();
  }
  await using stack = await open(place, await partsOf());
  const listed = [];
  for await (const summary of stack.rig.listSessions()) listed.push(summary.title);
  expect(listed).toEqual(['swap']);
  const opened = await stack.rig.openSession(id, { drift: 'fail' });
  expect(readFileSync(file, 'utf8')).toBe('one');
  const fork = await opened.fork();
  expect(readFileSync(path.join(stack.rig.rootOf(fork.id) as string, 'a.txt'), 'utf8')).toBe('one');
  await fork.shutdown();
  expect((await (await opened.submit('three')).outcome).status).toBe('done');
  await opened.shutdown();
  await stack.rig.deleteSession(id, { removeRoot: true });
  expect(existsSync(file)).toBe(false);
}
