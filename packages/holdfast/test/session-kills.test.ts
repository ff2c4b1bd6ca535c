import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { SessionNotFoundError } from '@holdfast/journal';
import type { Local, OpenedSession, Ref, Rig } from 'holdfast';
import { afterEach, describe, expect, it } from 'vitest';

import { live, type Mode, makePlace, openPlace, type Told, treeDigest } from './support/session-life.js';

/**
 * Processes that are killed at any change they make to the disk, in any operation of a session, on the real stack: level
 * journals, blobs, leases and roots on the disk. Every third is killed a second time while it opens the session again.
 */

const kills = Number(process.env['HOLDFAST_KILLS'] ?? 12);
const seed = Number(process.env['HOLDFAST_SEED'] ?? 1);
/** Repeats chosen points: `17 911,40` (40 in the opening after 911). */
const replay = process.env['HOLDFAST_KILL_AT'];
const atOnce = 4;

const places: string[] = [];

afterEach(() => {
  for (const place of places.splice(0)) fs.rmSync(place, { recursive: true, force: true });
});

function newPlace(mode: Mode): string {
  // Short: sockets live below it.
  const place = fs.mkdtempSync(path.join(fs.realpathSync(tmpdir()), 'hf-kill-'));
  places.push(place);
  makePlace(place, mode);
  return place;
}

/** Copies that are only looked at need no disk. */
const memory = fs.existsSync('/dev/shm') ? '/dev/shm' : fs.realpathSync(tmpdir());

/** What one life has told of one session. */
class Testimony {
  readonly session: string;
  readonly told: readonly Told[];
  readonly where: string;

  constructor(session: string, told: readonly Told[], where: string) {
    this.session = session;
    const fork = told.findLast(({ operation }) => operation === 'fork');
    const begins: Told[] =
      fork === undefined || isNamed(session) ? [] : [{ ...fork, what: 'begins', session }];
    this.told = [...begins, ...told.filter((line) => line.session === session)];
    this.where = where;
  }

  /** Whether the call that makes the session has returned. */
  get made(): boolean {
    return this.#done(['new', 'seed']).length > 0 || this.told.some(({ what }) => what === 'forked');
  }

  /** The tree of the last line that told of one. */
  get lastTree(): string | undefined {
    return this.told.findLast(({ tree }) => tree !== undefined)?.tree;
  }

  /** The operation that was under way. */
  get inFlight(): Told | undefined {
    const last = this.told.findLast(({ what }) => what === 'begins' || what === 'done');
    return last?.what === 'begins' ? last : undefined;
  }

  get refs(): readonly string[] {
    return this.told.flatMap(({ ref }) => (ref === undefined ? [] : [ref]));
  }

  get turns(): readonly string[] {
    return this.told.flatMap(({ turn }) => (turn === undefined ? [] : [turn]));
  }

  get restores(): readonly Told[] {
    return this.told.filter(({ restoreId }) => restoreId !== undefined);
  }

  get trees(): readonly string[] {
    return this.told.flatMap(({ tree, target }) => [tree, target].filter((digest) => digest !== undefined));
  }

  #done(operations: readonly string[]): readonly Told[] {
    return this.told.filter(
      ({ what, operation }) => what === 'done' && operations.includes(operation as string),
    );
  }
}

function isNamed(session: string): boolean {
  return session === 'session-a' || session === 'session-b';
}

/** The tree of a ref as the judge sees it when it is written anew. */
async function digestOf(local: Local, ref: Ref): Promise<string> {
  const copies = fs.mkdtempSync(path.join(memory, 'hf-copy-'));
  try {
    await local.store.materialize(ref, path.join(copies, 'tree'));
    return treeDigest(path.join(copies, 'tree'));
  } finally {
    fs.rmSync(copies, { recursive: true });
  }
}

async function open(rig: Rig, testimony: Testimony): Promise<OpenedSession> {
  const { session, where } = testimony;
  try {
    return await rig.openSession(session);
  } catch (error) {
    // Killed before the session had a record: there is none, and one of this id can begin.
    if (!SessionNotFoundError.is(error)) throw error;
    expect(testimony.made, `${where}: a session that was made is there`).toBe(false);
    return await rig.newSession({ id: session });
  }
}

interface Found {
  readonly pointer: Ref | undefined;
  readonly types: readonly string[];
  readonly turnsEnded: readonly string[];
  readonly restored: readonly string[];
}

async function read(opened: OpenedSession): Promise<Found> {
  let pointer: Ref | undefined;
  const types: string[] = [];
  const turnsEnded: string[] = [];
  const restored: string[] = [];
  for await (const event of opened.events()) {
    const body = event.body as { readonly ref?: Ref; readonly turn?: string };
    types.push(event.type);
    if (event.type === 'WorkspaceCheckpointed' || event.type === 'WorkspaceRestored') pointer = body.ref;
    if (event.type === 'WorkspaceRestored') restored.push(event.id);
    if (event.type === 'TurnDone') turnsEnded.push(body.turn as string);
  }
  return { pointer, types, turnsEnded, restored };
}

async function check(place: string, mode: Mode, told: readonly Told[], where: string): Promise<void> {
  const { local, rigOf } = await openPlace(place, mode);
  await using _local = local;
  const sessions = new Set(told.flatMap(({ session }) => (session === undefined ? [] : [session])));
  for await (const { id } of rigOf('session-a').listSessions()) sessions.add(id);
  const digests = new Map<Ref, string>();
  for (const session of sessions) {
    const testimony = new Testimony(session, told, `${where}, ${session}`);
    await checkSession(local, rigOf(session), place, mode, testimony);
    for (const { ref } of await checkpointsOf(rigOf(session), session))
      digests.set(ref, await digestOf(local, ref));
  }
  const beside = fs
    .readdirSync(path.dirname(rigOf('session-a').rootOf('session-a') as string))
    .filter((name) => name.startsWith('.'));
  expect(
    beside.filter((name) => !/^\.[^.]+\.holdfast$/.test(name)),
    `${where}: beside the root`,
  ).toEqual([]);
  // What the sessions need is not garbage, however little else is left.
  await local.collect({ graceMs: 0 });
  for (const [ref, digest] of digests) expect(await digestOf(local, ref), where).toBe(digest);
}

/** Every checkpoint of a session that was left without drift. */
async function checkpointsOf(rig: Rig, session: string): Promise<readonly { readonly ref: Ref }[]> {
  await using again = await rig.openSession(session, { drift: 'fail' });
  return await again.checkpoints();
}

async function checkSession(
  local: Local,
  rig: Rig,
  place: string,
  mode: Mode,
  testimony: Testimony,
): Promise<void> {
  const { session, where } = testimony;
  const opened = await open(rig, testimony);
  expect(opened.state(), where).toMatchObject({ phase: 'idle', fault: undefined });
  const root = rig.rootOf(session) as string;
  const tree = treeDigest(root);
  const found = await read(opened);
  const checkpoints = (await opened.checkpoints()).map(({ ref }) => ref);
  const recorded = new Set<string>();
  for (const ref of checkpoints) recorded.add(await digestOf(local, ref));

  // Nothing that was acknowledged is lost.
  expect(checkpoints, where).toEqual(expect.arrayContaining([...testimony.refs]));
  expect(found.turnsEnded, where).toEqual(expect.arrayContaining([...testimony.turns]));
  expect(found.restored, where).toEqual(
    expect.arrayContaining(testimony.restores.map(({ restoreId }) => restoreId)),
  );
  for (const restore of testimony.restores) {
    const index = found.types.flatMap((type, at) => (type === 'WorkspaceRestored' ? [at] : []));
    const at = index[found.restored.indexOf(restore.restoreId as string)] as number;
    expect(found.types[at + 1] === 'ConversationRewound', where).toBe(restore.rewound === true);
  }
  // Files and pointer agree, as an independent judge sees them.
  if (found.pointer !== undefined) expect(tree, where).toBe(await digestOf(local, found.pointer));
  // The tree is one that there was or was to be, never a mixture; and the last one is there or recorded.
  const { inFlight, lastTree } = testimony;
  const nothing = treeDigest(path.join(place, 'nowhere'));
  const initial = session === 'session-a' && mode === 'exclusive' ? treeOfMine(place) : nothing;
  expect([initial, ...testimony.trees, ...recorded], where).toContain(tree);
  if (lastTree !== undefined) expect([tree, ...recorded], `${where}: the last work`).toContain(lastTree);
  // What was finished stays finished; what was under way is done or not done.
  if (lastTree !== undefined && mode === 'exclusive') {
    expect([lastTree, inFlight?.target], where).toContain(tree);
  }
  if (inFlight !== undefined && ['restore', 'undo', 'rewind'].includes(inFlight.operation as string)) {
    // Old or new, and the journal knows which: nothing looks like the work of a stranger.
    expect(opened.opening.drift, where).toBeUndefined();
    const isNew = tree === inFlight.target;
    expect(found.restored.length, where).toBe(testimony.restores.length + (isNew ? 1 : 0));
    expect(found.types.includes('ConversationRewound'), where).toBe(isNew && inFlight.operation === 'rewind');
  }
  if (!testimony.made && inFlight?.target !== undefined) {
    expect([nothing, inFlight.target], `${where}: a seed is whole or absent`).toContain(tree);
  }

  // And work goes on.
  fs.writeFileSync(path.join(root, 'after.txt'), 'after');
  const after = await opened.checkpointWorkspace();
  if (found.pointer !== undefined) {
    await opened.restoreWorkspace(found.pointer, { prune: 'exact' });
    expect(treeDigest(root), where).toBe(tree);
    await opened.undo({ prune: 'exact' });
  }
  expect(treeDigest(root), where).toBe(await digestOf(local, after));
  await opened.shutdown();
  const scratch = path.join(path.dirname(root), `.${path.basename(root)}.holdfast`);
  expect(
    fs.readdirSync(scratch, { recursive: true, encoding: 'utf8' }).sort(),
    `${where}: nothing is left behind`,
  ).toEqual([session, `${session}/owner`]);
}

function treeOfMine(place: string): string {
  const copy = path.join(place, 'initial');
  makePlace(fs.mkdirSync(copy, { recursive: true }) ?? copy, 'exclusive');
  return treeDigest(path.join(copy, 'root'));
}

/** `count` of the given points, evenly spread, beginning somewhere that the seed chooses. */
function spread(points: readonly number[], count: number): readonly number[] {
  const stride = Math.max(1, points.length / count);
  const offset = (seed * 0.618) % 1;
  const chosen = Array.from({ length: count }, (_, index) => points[Math.floor((index + offset) * stride)]);
  return chosen.filter((point) => point !== undefined);
}

/**
 * Points at which to kill a life: half of them right before a record gets into the journal, where files and
 * journal can disagree, the others anywhere.
 */
function choose(sequence: NonNullable<Told['sequence']>, count: number): readonly number[] {
  const all = sequence.map((_, index) => index + 1);
  const atRecords = all.filter((point) => sequence[point - 1]?.[1] === 'batch');
  const first = spread(atRecords, Math.ceil(count / 2));
  return [...first, ...spread(all, count - first.length)];
}

describe.each(['exclusive', 'per-session'] as const)(
  'a process killed at any change of the disk (%s)',
  (mode) => {
    it('leaves sessions that open, agree with their files and have lost nothing', {
      timeout: 60_000 + kills * 20_000,
    }, async () => {
      const whole = newPlace(mode);
      const life = (await live(whole, mode, 'life', 0)).at(-1)?.sequence ?? [];
      for (const operation of [
        'new',
        'turn',
        'checkpoint',
        'restore',
        'undo',
        'rewind',
        'seed',
        'shutdown',
        'open',
      ])
        expect(life.filter(([name]) => name === operation).length, operation).toBeGreaterThan(20);
      const opening = (await live(whole, mode, 'open', 0)).at(-1)?.sequence ?? [];
      const again = choose(opening, Math.ceil(kills / 3));
      const planned = choose(life, kills).map((killAt, index) => ({
        killAt,
        killAgainAt: index % 3 === 0 ? again[index / 3] : undefined,
      }));
      const repeated = (replay ?? '').split(' ').map((points) => {
        const [killAt, killAgainAt] = points.split(',').map(Number);
        return { killAt: killAt as number, killAgainAt };
      });
      const next = (replay === undefined ? planned : repeated).values();
      const workers = Array.from({ length: atOnce }, async () => {
        for (const kill of next) await killOnce(mode, kill);
      });
      await Promise.all(workers);
    });
  },
);

async function killOnce(
  mode: Mode,
  { killAt, killAgainAt }: { readonly killAt: number; readonly killAgainAt: number | undefined },
): Promise<void> {
  const place = newPlace(mode);
  const told = await live(place, mode, 'life', killAt);
  // The number of changes varies a little; the last points may lie behind the end.
  let where = `HOLDFAST_KILL_AT=${killAt}: ${told.at(-1)?.at ?? 'not killed'}`;
  const made = told.some(({ what, operation }) => what === 'done' && operation === 'new');
  if (killAgainAt !== undefined && made) {
    const second = await live(place, mode, 'open', killAgainAt);
    where = `HOLDFAST_KILL_AT=${killAt},${killAgainAt}: ${told.at(-1)?.at}, then ${second.at(-1)?.at ?? 'not killed'}`;
  }
  await check(place, mode, told, where);
  fs.rmSync(place, { recursive: true, force: true });
}
