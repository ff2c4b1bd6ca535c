import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { SessionNotFoundError } from '@holdfast/journal';
import { type OpenedSession, WorkspaceRootBusyError } from '@holdfast/rig';
import type { Ref } from '@holdfast/workspacestore';
import { afterEach, describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { type DiskStack, openDisk } from './support/disk-stack.js';

const worker = fileURLToPath(new URL('fixtures/worker.mjs', import.meta.url));
const id = 'killed-session';

interface Told {
  readonly what: string;
  readonly text?: string;
  readonly ref?: string;
  readonly safety?: string;
  readonly at?: string;
  readonly points?: number;
}

const places: string[] = [];

afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true });
});

function makePlace(mode: string): string {
  const place = mkdtempSync(path.join(realpathSync(tmpdir()), 'holdfast-kill-'));
  places.push(place);
  if (mode === 'exclusive') {
    mkdirSync(path.join(place, 'root'));
    writeFileSync(path.join(place, 'root', 'a.txt'), 'mine');
  }
  return place;
}

/** Runs a worker until it ends or kills itself, and returns what it told. */
async function work(place: string, mode: string, killAt: number, mistake = ''): Promise<readonly Told[]> {
  const child = spawn(process.execPath, [worker, place, mode, String(killAt), '', mistake], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  const told = Buffer.concat(out)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Told);
  if (code !== 0 && signal !== 'SIGKILL')
    throw new Error(`worker: ${String(code)} ${Buffer.concat(err).toString()}`);
  return told;
}

async function textAt(stack: DiskStack, ref: Ref): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of await stack.store.read(ref, 'a.txt')) parts.push(part);
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString('utf8');
}

async function openOrBegin(stack: DiskStack, mode: 'exclusive' | 'per-session'): Promise<OpenedSession> {
  const rig = stack.rig(mode);
  try {
    return await rig.openSession(id);
  } catch (error) {
    // Killed before the session had its first record: there is no session, and one of this id can begin.
    if (!SessionNotFoundError.is(error)) throw error;
    return await rig.newSession({ id });
  }
}

async function check(place: string, mode: 'exclusive' | 'per-session', told: readonly Told[]): Promise<void> {
  await using stack = await openDisk(place);
  const opened = await openOrBegin(stack, mode);
  const where = `killed at ${told.find(({ what }) => what === 'killed')?.at ?? 'nothing'}`;
  const root = stack.rig(mode).rootOf(id) as string;
  expect(opened.state(), where).toMatchObject({ phase: 'idle', fault: undefined });
  const checkpoints = await opened.checkpoints();
  // Nothing that was acknowledged is lost.
  for (const { ref, safety } of told) {
    for (const acknowledged of [ref, safety]) {
      if (acknowledged === undefined) continue;
      expect(
        checkpoints.map((checkpoint) => checkpoint.ref),
        where,
      ).toContain(acknowledged);
      await stack.store.openTree(acknowledged as Ref);
    }
  }
  // Files and journal agree.
  const pointer = await pointerOf(opened);
  if (pointer !== undefined) {
    const live = await stack.store.scan(root);
    expect(live.treeKey, where).toBe((await stack.store.openTree(pointer)).treeKey);
  }
  // What was written is recorded, in the files or in a checkpoint.
  const texts = new Set<string | undefined>();
  for (const { ref } of checkpoints) texts.add(await textAt(stack, ref));
  if (existsSync(path.join(root, 'a.txt'))) texts.add(readFileSync(path.join(root, 'a.txt'), 'utf8'));
  for (const { text, what } of told) if (what === 'wrote') expect(texts, where).toContain(text);
  // A finished restore stays finished, unless another one had begun: that one may be finished too.
  const at = told.findLastIndex(({ what }) => /^(?:restored|wrote|checkpointed)$/.test(what));
  if (told[at]?.what === 'restored') {
    const begun = told.slice(at).filter(({ what }) => what === 'restoring');
    expect(
      [told[at], ...begun].map(({ text }) => text),
      where,
    ).toContain(readFileSync(path.join(root, 'a.txt'), 'utf8'));
  }
  // And work goes on.
  writeFileSync(path.join(root, 'after.txt'), 'after');
  const ref = await opened.checkpointWorkspace();
  if (pointer !== undefined) await opened.restoreWorkspace(pointer, { prune: 'exact' });
  expect(await stack.store.has(ref), where).toBe(true);
  await opened.shutdown();
}

async function pointerOf(opened: OpenedSession): Promise<Ref | undefined> {
  let pointer: Ref | undefined;
  for await (const event of opened.events()) {
    if (event.type === 'WorkspaceCheckpointed' || event.type === 'WorkspaceRestored') {
      pointer = (event.body as { ref: Ref }).ref;
    }
  }
  return pointer;
}

/** Places at which a session is killed, in each mode; `HOLDFAST_KILLS` raises it. */
const samples = Number(process.env['HOLDFAST_KILLS'] ?? 12);

describe.each(['exclusive', 'per-session'] as const)('a killed process (%s)', (mode) => {
  it('leaves a session that opens, agrees with its files and has lost nothing', {
    timeout: 300_000 + samples * 20_000,
  }, async () => {
    const whole = await work(makePlace(mode), mode, 0);
    const points = whole.at(-1)?.points ?? 0;
    expect(points).toBeGreaterThan(60);
    const stride = Math.max(1, points / samples);
    for (let sample = 0; sample < Math.min(samples, points); sample += 1) {
      const killAt = 1 + Math.floor(sample * stride);
      const place = makePlace(mode);
      const told = await work(place, mode, killAt);
      expect(told.at(-1)?.what, `point ${killAt} of ${points}`).toBe('killed');
      await check(place, mode, told);
    }
    countForCampaign('sessions killed', Math.min(samples, points));
  });
});

it('a planted mistake is found by kills: a ledger that acknowledges before it writes', async () => {
  const mistake = 'tardy ledger';
  const points = (await work(makePlace('exclusive'), 'exclusive', 0, mistake)).at(-1)?.points ?? 0;
  expect(points).toBeGreaterThan(60);
  const found: string[] = [];
  // From the middle on: something has been acknowledged by then.
  for (let killAt = points >> 1; killAt <= points && found.length === 0; killAt += 1) {
    const place = makePlace('exclusive');
    const told = await work(place, 'exclusive', killAt, mistake);
    await check(place, 'exclusive', told).catch((error: unknown) => found.push(String(error)));
  }
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/killed at/);
});

it('two processes and one exclusive root: the second learns who has it, and gets it when the first is killed', async () => {
  const place = makePlace('exclusive');
  const child = spawn(process.execPath, [path.join(path.dirname(worker), 'holder.mjs'), place], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ready = await new Promise<{ id: string }>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) =>
      resolve(JSON.parse(chunk.toString('utf8')) as { id: string }),
    );
    child.once('close', (code) => {
      reject(new Error(`the holder ended with ${String(code)}`));
    });
  });
  await using stack = await openDisk(place);
  const rig = stack.rig('exclusive');
  const error = await rig.newSession().catch((caught: unknown) => caught);
  if (!WorkspaceRootBusyError.is(error)) throw error;
  expect(error).toMatchObject({ holderEpoch: 1, owner: { pid: child.pid, session: ready.id } });
  await expect(rig.openSession(ready.id)).rejects.toMatchObject({ code: 'LEASE_HELD' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
  const opened = await rig.openSession(ready.id);
  expect(opened.state().phase).toBe('idle');
  await opened.shutdown();
});
