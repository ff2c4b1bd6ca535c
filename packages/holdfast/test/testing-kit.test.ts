import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { findCause } from '@holdfast/base';
import { BlobsBackendError } from '@holdfast/blobs';
import { LeaseHeldError } from '@holdfast/lease';
import { CheckpointError, type LoopDefinition, type SessionController } from '@holdfast/session';
import { defineLoop, workspaceTools } from 'holdfast';
import { type TestPlacement, type TestProcess, TestWorld } from 'holdfast/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** The kit as an application uses it: everything comes from `holdfast/testing`. */

let world: TestWorld;

beforeEach(async () => {
  world = await TestWorld.open();
});

afterEach(async () => {
  const { directory } = world;
  await world[Symbol.asyncDispose]();
  expect(existsSync(directory)).toBe(false);
});

/** Writes its input into `a.txt`, with the real tools. */
function writer() {
  return defineLoop({
    name: 'writer',
    tools: workspaceTools(),
    turn: async ({ input, step, tools }) =>
      await step(async (signal) => {
        await tools.read.call({ path: 'a.txt' }, { signal }).catch(() => undefined);
        await tools.write.call({ path: 'a.txt', content: input as string }, { signal });
      }),
  });
}

async function say(session: SessionController, text: string): Promise<string> {
  return (await (await session.submit(text)).outcome).status;
}

async function typesOf(session: SessionController): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of session.events()) types.push(type);
  return types;
}

function begin(process: TestProcess, placement?: TestPlacement) {
  return process.rig({ loops: [writer()], placement });
}

describe('a rig over a test world', () => {
  it.each(['per-session', 'exclusive', 'shared'] as const)(
    'works, restores and undoes on real files (%s)',
    async (placement) => {
      const rig = begin(await world.process(), placement);
      const session = await rig.newSession();
      const file = join(rig.rootOf(session.id) as string, 'a.txt');
      await say(session, 'one');
      const first = await session.checkpointWorkspace();
      await say(session, 'two');
      await session.restoreWorkspace(first);
      expect(readFileSync(file, 'utf8')).toBe('one');
      await session.undo();
      expect(readFileSync(file, 'utf8')).toBe('two');
      await session.shutdown();
    },
  );

  it('has no workspace when none is wanted', async () => {
    const talker = defineLoop({ name: 'talker', turn: async ({ input }) => await Promise.resolve(input) });
    const rig = (await world.process()).rig({ loops: [talker], placement: 'none' });
    const session = await rig.newSession();
    expect(await say(session, 'hello')).toBe('done');
    await expect(session.checkpointWorkspace()).rejects.toMatchObject({
      code: 'SESSION_WORKSPACE_NOT_CONFIGURED',
    });
    await session.shutdown();
  });

  it('gives the same ids and times to the same seed', async () => {
    const told = async (): Promise<unknown> => {
      await using again = await TestWorld.open({ seed: 7, startWall: 1_000_000 });
      const session = await begin(await again.process()).newSession();
      await again.clock.advance(5);
      await say(session, 'one');
      const events = [];
      for await (const { id, time, type } of session.events()) events.push({ id, time, type });
      await session.shutdown();
      return events;
    };
    const first = await told();
    expect(await told()).toEqual(first);
    expect(first).toContainEqual(expect.objectContaining({ type: 'TurnDone', time: 1_000_005 }));
  });
});

describe('a killed process', () => {
  it('is overtaken at once, and what it still tries fails', async () => {
    const first = await world.process();
    const session = await begin(first).newSession();
    await say(session, 'one');
    const second = await world.process();
    await expect(begin(second).openSession(session.id)).rejects.toSatisfy((error) =>
      LeaseHeldError.is(error),
    );
    first.kill();
    first.kill();
    const rig = begin(second);
    const opened = await rig.openSession(session.id);
    expect(await say(opened, 'two')).toBe('done');
    expect(await say(session, 'three')).not.toBe('done');
    await session.shutdown().catch(() => undefined);
    expect(readFileSync(join(rig.rootOf(session.id) as string, 'a.txt'), 'utf8')).toBe('two');
    await opened.shutdown();
  });

  it('leaves what it had written to be recorded', async () => {
    const first = await world.process();
    const rig = begin(first, 'exclusive');
    const session = await rig.newSession();
    await say(session, 'one');
    first.kill();
    writeFileSync(join(world.root, 'b.txt'), 'half');
    const opened = await begin(await world.process(), 'exclusive').openSession(session.id);
    expect(opened.opening.drift?.differences).toEqual([expect.objectContaining({ path: 'b.txt' })]);
    await session.shutdown().catch(() => undefined);
    await opened.shutdown();
  });
});

describe('faults', () => {
  it('an append of one type of event fails, and only that', async () => {
    const session = await begin(await world.process()).newSession();
    await say(session, 'one');
    const [first] = await session.checkpoints();
    world.faults.journal({ operation: 'append', event: 'WorkspaceRestored', kind: 'error' });
    expect(await say(session, 'two')).toBe('done');
    expect(world.faults.pending).toBe(1);
    await expect(session.restoreWorkspace(first?.ref as never)).rejects.toMatchObject({
      kind: 'append-failed',
    });
    expect(world.faults.pending).toBe(0);
    expect(session.state().fault).toBeDefined();
    await session.shutdown().catch(() => undefined);
  });

  it('a lost reply is found out about, without a second event', async () => {
    const session = await begin(await world.process()).newSession();
    world.faults.journal({ operation: 'append', event: 'TurnDone', kind: 'landed' });
    expect(await say(session, 'one')).toBe('done');
    expect(world.faults.pending).toBe(0);
    expect((await typesOf(session)).filter((type) => type === 'TurnDone')).toHaveLength(1);
    await session.shutdown();
  });

  it('faults can let calls pass first and hit several', async () => {
    const process = await world.process();
    world.faults.journal({ operation: 'tip', kind: 'error', after: 1, times: 2 });
    const ledger = await process.sessions.create({ id: 'plain-journal' });
    await ledger.close();
    const tries = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      tries.push(
        await process.sessions.open('plain-journal').then(
          async (journal) => {
            await journal.close();
            return 'opened';
          },
          () => 'failed',
        ),
      );
    }
    expect(tries.filter((outcome) => outcome === 'failed').length).toBeGreaterThan(0);
    expect(tries.at(-1)).toBe('opened');
    expect(world.faults.pending).toBe(0);
  });

  it('a store that refuses lets a required checkpoint fail, and the next one is fine', async () => {
    const session = await begin(await world.process()).newSession();
    world.faults.blobs({ operation: 'put', kind: 'denied' });
    await say(session, 'one');
    expect(world.faults.pending).toBe(0);
    const { fault } = session.state();
    expect(CheckpointError.is(fault?.cause) || findCause(fault?.cause, BlobsBackendError)).toBeTruthy();
    await session.checkpointWorkspace();
    expect(session.state().fault).toBeUndefined();
    expect(await say(session, 'two')).toBe('done');
    await session.shutdown();
  });

  it('a fault that makes no sense is refused', () => {
    expect(() => {
      world.faults.blobs({ operation: 'put', kind: 'flipped' });
    }).toThrow(TypeError);
  });

  it('a lost lease ends the session; nobody has it afterwards', async () => {
    const process = await world.process();
    const session = await begin(process, 'exclusive').newSession();
    expect(world.faults.loseRoot(world.root)).toBe(true);
    expect(world.faults.loseRoot(world.root)).toBe(false);
    await expect(session.submit('one')).rejects.toThrow();
    await session.shutdown().catch(() => undefined);
    const other = await begin(process).newSession();
    expect(world.faults.loseSession(other.id)).toBe(true);
    expect(world.faults.loseSession(other.id)).toBe(false);
    await expect(other.submit('one')).rejects.toThrow();
    await other.shutdown().catch(() => undefined);
  });
});

it('a checkpoint that takes too long is ended by the world’s clock', async () => {
  const loop: LoopDefinition<'slow', never> = { name: 'slow', turn: async () => await Promise.resolve() };
  const rig = (await world.process()).rig({
    loops: [loop],
    snapshots: { trigger: 'manual', timeout: 1_000 },
  });
  const session = await rig.newSession();
  writeFileSync(join(rig.rootOf(session.id) as string, 'a.txt'), 'one');
  world.faults.blobs({ operation: 'put', kind: 'hang' });
  const failure = session.checkpointWorkspace().catch((error: unknown) => error);
  await expect.poll(() => world.faults.pending).toBe(0);
  await world.clock.advance(1_000);
  expect(await failure).toMatchObject({ code: 'SESSION_CHECKPOINT', kind: 'timeout' });
  await session.shutdown();
});
