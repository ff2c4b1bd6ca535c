import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import {
  MemorySessionStorage,
  memorySessionLedgers,
  type SessionLedgers,
  SessionStore,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { defineLoop, defineRig, type Rig, sessionWorkspaces, workspaceTools } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openFileLedger } from '../../../examples/file-ledger/src/file-ledger.mjs';
import { temporaryDirectory } from './run-command.js';

/** The same rig over every combination of parts, from end to end and over two openings: each swap is one line. */

/** What outlives an opening when it is not on the disk. */
interface Outlives {
  readonly place: string;
  readonly blobs: Blobs;
  readonly journals: MemorySessionStorage;
  readonly leases: MemoryLeases;
}

const blobs: Record<string, (given: Outlives) => Promise<Blobs>> = {
  memory: async (given) => await Promise.resolve(given.blobs),
  fs: async ({ place }) => await openFsBlobs(path.join(place, 'blobs')),
};
const ledgers: Record<string, (given: Outlives) => Promise<SessionLedgers>> = {
  memory: async ({ journals }) => await Promise.resolve(memorySessionLedgers({ storage: journals })),
  level: async ({ place }) => await openLevelLedgers(path.join(place, 'level')),
  'multi-process file': async ({ place }) =>
    sharedSessionLedgers(await openFileLedger(path.join(place, 'files'))),
};
const leasers: Record<string, (given: Outlives) => Promise<Leaser>> = {
  memory: async ({ leases }) => await Promise.resolve(memoryLeaser({ leases })),
  fs: async ({ place }) => await openFsLeaser(path.join(place, 'leases')),
};

const combinations = Object.keys(blobs).flatMap((blob) =>
  Object.keys(ledgers).flatMap((ledger) =>
    Object.keys(leasers).map((leaser) => [blob, ledger, leaser] as const),
  ),
);

let temporary: ReturnType<typeof temporaryDirectory>;

beforeEach(() => {
  temporary = temporaryDirectory();
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

type Parts = readonly [blobs: string, ledgers: string, leaser: string];

async function open(
  given: Outlives,
  [blob, ledger, leaserName]: Parts,
): Promise<{ rig: Rig } & AsyncDisposable> {
  const leaser = await (leasers[leaserName] as (typeof leasers)['x'])(given);
  const stored = await (blobs[blob] as (typeof blobs)['x'])(given);
  const opened = await (ledgers[ledger] as (typeof ledgers)['x'])(given);
  const sessionStore = await SessionStore.open({ ledgers: opened, leaser, blobs: stored });
  const store = await WorkspaceStore.open(stored);
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
    workspace: sessionWorkspaces(store, path.join(given.place, 'roots')),
    snapshots: { trigger: 'turn-done', priority: 'required' },
  });
  return {
    rig,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await sessionStore.close();
      await opened.close();
      await leaser.close();
      // The one in memory is the world's.
      if (stored !== given.blobs) await stored.close();
    },
  };
}

describe('the same rig', () => {
  it.each(combinations)('over %s blobs, %s ledgers and %s leases', async (...parts) => {
    const given: Outlives = {
      place: temporary.path,
      blobs: memoryBlobs(),
      journals: new MemorySessionStorage(),
      leases: new MemoryLeases(),
    };
    let id: string;
    let file: string;
    {
      await using stack = await open(given, parts);
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
    await using stack = await open(given, parts);
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
  });
});
