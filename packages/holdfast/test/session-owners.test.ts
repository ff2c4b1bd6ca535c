import { type ChildProcessByStdio, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { nodeFileSystem } from '@holdfast/durable';
import { ControlClient } from '@holdfast/session';
import { defineRig, openLocal, type Ref, WorkspaceNotConfiguredError } from 'holdfast';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** Who owns a root and a session, among real processes on the real stack. */

interface Told {
  readonly pid: number;
  readonly won: boolean;
  readonly id?: string;
  readonly code?: string;
  readonly holderEpoch?: number;
  readonly root?: string;
  readonly owner?: { readonly pid: number; readonly session: string };
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

const contender = fileURLToPath(new URL('fixtures/contender.mjs', import.meta.url));
const children: Child[] = [];
let place: string;

beforeEach(() => {
  // Short: sockets live below it.
  place = fs.mkdtempSync(path.join(fs.realpathSync(tmpdir()), 'hf-own-'));
  fs.mkdirSync(at('root'));
  fs.writeFileSync(at('root', 'a.txt'), 'mine');
});

afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  fs.rmSync(place, { recursive: true, force: true });
});

function at(...names: readonly string[]): string {
  return path.join(place, ...names);
}

async function contend(
  root: string,
  session?: string,
): Promise<{ readonly child: Child; readonly told: Told }> {
  const words = [contender, at('home'), at('run'), root, ...(session === undefined ? [] : [session])];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  for await (const line of createInterface(child.stdout)) return { child, told: JSON.parse(line) as Told };
  throw new Error('a contender ended without a word');
}

async function kill(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
}

function sockets(): readonly string[] {
  return fs
    .readdirSync(at('run'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sock'))
    .map((name) => at('run', name));
}

it('one of many that want an exclusive root under several names gets it; the next one when it was killed', async () => {
  for (const alias of ['alias', 'other-alias']) fs.symlinkSync(at('root'), at(alias));
  fs.symlinkSync(place, at('root', '..', 'way'));
  const names = [at('root'), at('alias'), at('other-alias'), at('way', 'root')];
  const all = await Promise.all(names.map(async (name) => await contend(name)));
  const winners = all.filter(({ told }) => told.won);
  expect(winners, JSON.stringify(all.map(({ told }) => told))).toHaveLength(1);
  const winner = winners[0] as (typeof all)[number];
  for (const { told } of all) {
    if (told.won) continue;
    expect(told).toMatchObject({
      code: 'RIG_ROOT_BUSY',
      root: at('root'),
      owner: { pid: winner.told.pid, session: winner.told.id },
    });
    expect(told.holderEpoch).toBe(all.find((other) => !other.told.won)?.told.holderEpoch);
  }
  const epoch = all.find(({ told }) => !told.won)?.told.holderEpoch as number;
  await kill(winner.child);
  const next = await contend(at('other-alias'));
  expect(next.told.won).toBe(true);
  const late = await contend(at('alias'));
  expect(late.told).toMatchObject({ code: 'RIG_ROOT_BUSY', owner: { pid: next.told.pid } });
  expect(late.told.holderEpoch).toBeGreaterThan(epoch);
});

it('two rigs of one process with two names of one root are two contenders', async () => {
  fs.symlinkSync(at('root'), at('alias'));
  const { exclusiveWorkspace } = await import('holdfast');
  await using local = await openLocal(at('home'), { runtimeDirectory: at('run') });
  const rigs = [at('root'), at('alias')].map((root) =>
    defineRig(local.fragment, {
      workspace: exclusiveWorkspace(local.store, root, local.leaser),
      snapshots: {},
    }),
  );
  const attempts = await Promise.allSettled(rigs.map(async (rig) => await rig.newSession()));
  const won = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  const lost = attempts.flatMap((attempt) =>
    attempt.status === 'rejected' ? [attempt.reason as unknown] : [],
  );
  expect([won.length, lost.length]).toEqual([1, 1]);
  expect(lost[0]).toMatchObject({ code: 'RIG_ROOT_BUSY', holderEpoch: 1, root: at('root') });
  await won[0]?.shutdown();
});

it('the socket of a killed owner is taken over by the next one', async () => {
  const first = await contend(at('root'));
  const [socket] = sockets();
  expect(fs.statSync(socket as string).mode & 0o777).toBe(0o600);
  expect(Buffer.byteLength(socket as string)).toBeLessThan(104);
  await kill(first.child);
  // The name is still there, and nobody listens.
  expect(fs.existsSync(socket as string)).toBe(true);
  await expect(ControlClient.connect(socket as string)).rejects.toMatchObject({ kind: 'not-listening' });
  const second = await contend(at('root'), first.told.id);
  expect(second.told).toMatchObject({ won: true, id: first.told.id });
  expect(sockets()).toEqual([socket]);
  expect(fs.statSync(socket as string).mode & 0o777).toBe(0o600);
  const client = await ControlClient.connect(socket as string);
  expect(await client.call('describe', {})).toMatchObject({
    sessionId: first.told.id,
    phase: 'idle',
  });
  await client.close();
});

it('without a workspace the calls on it touch neither the disk nor the journal', async () => {
  await using local = await openLocal(at('home'), { runtimeDirectory: at('run') });
  const rig = defineRig(local.fragment);
  await using session = await rig.newSession();
  const events = async (): Promise<number> => {
    let count = 0;
    for await (const { seq } of session.events()) count = seq;
    return count;
  };
  const before = await events();
  const listing = (): readonly string[] =>
    fs
      .readdirSync(at('home'), { recursive: true, encoding: 'utf8' })
      .map((name) => [name, fs.lstatSync(at('home', name), { bigint: true })] as const)
      .map(([name, { ctimeNs, ino, size }]) => `${name} ${ino} ${size} ${ctimeNs}`);
  const disk = listing();
  const nowhere = `v1:sha256:${'0'.repeat(64)}` as Ref;
  const calls = await traced(async () => {
    for (const call of [
      () => session.checkpointWorkspace(),
      () => session.restoreWorkspace(nowhere),
      () => session.restoreWorkspace('nonsense' as Ref),
      () => session.previewRestore(nowhere),
      () => session.rewindTo('nowhere'),
      () => session.undo(),
      () => session.fork(),
    ]) {
      const error = await call().catch((caught: unknown) => caught);
      if (!WorkspaceNotConfiguredError.is(error)) throw error;
    }
  });
  expect(calls).toEqual([]);
  expect(await events()).toBe(before);
  expect(listing()).toEqual(disk);
  // The trace sees what there is to see.
  expect(await traced(async () => await (await rig.newSession()).shutdown())).toContain('createFile');
});

/** The calls of the file system, reading ones too, that `run` leads to. */
async function traced(run: () => Promise<unknown>): Promise<readonly string[]> {
  const calls: string[] = [];
  const restore: (() => void)[] = [];
  for (
    let owner = Object.getPrototypeOf(nodeFileSystem()) as Record<string, unknown>;
    owner !== Object.prototype;
    owner = Object.getPrototypeOf(owner) as Record<string, unknown>
  ) {
    for (const name of Object.getOwnPropertyNames(owner)) {
      const method = owner[name];
      if (name === 'constructor' || typeof method !== 'function') continue;
      owner[name] = function tracing(this: unknown, ...given: unknown[]): unknown {
        calls.push(name);
        return (method as (...values: unknown[]) => unknown).apply(this, given);
      };
      restore.push(() => {
        owner[name] = method;
      });
    }
  }
  try {
    await run();
  } finally {
    for (const back of restore) back();
  }
  return calls;
}
