import { mkdirSync } from 'node:fs';

import {
  type DriftPolicy,
  defineRig,
  type Rig,
  SnapshotPolicyError,
  WorkspaceDriftError,
  type WorkspacePlacement,
  WorkspaceSeedError,
} from '@holdfast/rig';
import { defineLoop, type SnapshotPriority, type SnapshotTrigger } from '@holdfast/session';
import type { Ref } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, it } from 'vitest';

import { listTree } from '../../../tools/oracle/oracle.mjs';
import { eventTypes, type Stack, World } from './support/world.js';

/**
 * Every placement with every trigger, priority, seed or none, and every way to open a session whose files did or did not
 * change meanwhile: what is recorded, and which tree stands in the root, as the independent judge sees it.
 */

type Mode = WorkspacePlacement['mode'];

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

const modes: readonly Mode[] = ['exclusive', 'per-session', 'shared'];
const triggers: readonly SnapshotTrigger[] = ['manual', 'idle', 'turn-done', 'step-done'];
const priorities: readonly SnapshotPriority[] = ['best-effort', 'required'];
const drifts: readonly DriftPolicy[] = ['record', 'keep', 'discard', 'fail'];

/** Checkpoints of one turn of two steps. A best-effort one may give way to the next step; the last is always taken. */
const ofTurn: Readonly<Record<SnapshotTrigger, readonly string[]>> = {
  manual: [],
  idle: ['idle'],
  'turn-done': ['turn-done'],
  'step-done': ['step-done', 'step-done'],
};

/** The first checkpoint, before any turn: of the seed, or of what stood in a fixed root. */
const firstOf: Readonly<Record<Mode, readonly string[]>> = {
  exclusive: ['baseline'],
  'per-session': [],
  shared: ['baseline'],
};

interface Opened {
  /** What is recorded before `SessionRestored`. */
  readonly events: readonly string[];
  /** Which tree stands there afterwards: the one that was found, or the one of the pointer. */
  readonly tree: 'found' | 'pointer';
}

/** What opening does with files that differ from the pointer. `fail` is refused in every placement. */
const onDrift: Readonly<Record<Mode, Readonly<Record<Exclude<DriftPolicy, 'fail'>, Opened>>>> = {
  exclusive: {
    record: { events: ['WorkspaceCheckpointed:recovered'], tree: 'found' },
    keep: { events: ['WorkspaceCheckpointed:recovered'], tree: 'found' },
    discard: { events: ['WorkspaceRestored'], tree: 'pointer' },
  },
  'per-session': {
    record: { events: ['WorkspaceCheckpointed:recovered', 'WorkspaceRestored'], tree: 'pointer' },
    keep: { events: ['WorkspaceCheckpointed:recovered'], tree: 'found' },
    discard: { events: ['WorkspaceRestored'], tree: 'pointer' },
  },
  shared: {
    record: { events: [], tree: 'found' },
    keep: { events: [], tree: 'found' },
    discard: { events: [], tree: 'found' },
  },
};

const combinations = modes.flatMap((mode) =>
  triggers.flatMap((trigger) =>
    priorities.flatMap((priority) => [false, true].map((seeded) => ({ mode, trigger, priority, seeded }))),
  ),
);

describe('the matrix', () => {
  it.each(combinations)(
    '$mode placement, $trigger trigger, $priority, seed: $seeded',
    async ({ mode, trigger, priority, seeded }) => {
      const define = (given: Stack): Rig =>
        defineRig({
          loops: [agent],
          sessionStore: given.sessionStore,
          workspace: given.placement(mode),
          snapshots: { trigger, priority },
        });
      if (mode === 'shared' && priority === 'required') {
        expect(kindOf(SnapshotPolicyError, () => define(stack))).toBe('shared-required');
        return;
      }
      const seed = seeded ? await seedRef() : undefined;
      if (mode === 'shared' && seeded) {
        const error = await define(stack)
          .newSession({ seed })
          .catch((caught: unknown) => caught);
        if (!WorkspaceSeedError.is(error)) throw error;
        expect(error.kind).toBe('shared');
        return;
      }
      for (const isChanged of [false, true]) {
        for (const drift of drifts)
          await liveAndOpen(define, mode, trigger, priority, seed, isChanged, drift);
      }
    },
  );
});

async function liveAndOpen(
  define: (given: Stack) => Rig,
  mode: Mode,
  trigger: SnapshotTrigger,
  priority: SnapshotPriority,
  seed: Ref | undefined,
  isChanged: boolean,
  drift: DriftPolicy,
): Promise<void> {
  const where = `changed: ${isChanged}, drift: ${drift}`;
  world.reset();
  if (seed === undefined) world.write('mine.txt', 'mine');
  const rig = define(stack);
  const controller = await rig.newSession({ seed });
  const root = rig.rootOf(controller.id) as string;
  roots.set(controller.id, root);
  await (await controller.submit('go')).outcome;
  await quiet();
  const recorded = await eventTypes(controller);
  const pointerBefore = (await controller.checkpoints()).at(-1)?.ref;
  await controller.shutdown();

  const taken = recorded.flatMap((type) => (/^WorkspaceCheckpointed:(.+)$/.exec(type) ?? []).slice(1));
  const first = seed === undefined ? firstOf[mode] : ['seed'];
  const last = ofTurn[trigger];
  const expected = [[...first, ...last]];
  if (priority === 'best-effort') expected.push([...first, ...last.slice(-1)]);
  expect(expected, where).toContainEqual(taken);

  if (isChanged) world.write('a.txt', 'changed from outside', root);
  const found = listTree(root);
  const isDrifted = pointerBefore !== undefined && (isChanged || trigger === 'manual');
  const opening = define(await world.process()).openSession(controller.id, { drift });
  if (isDrifted && drift === 'fail') {
    const error = await opening.catch((caught: unknown) => caught);
    if (!WorkspaceDriftError.is(error)) throw error;
    expect(error, where).toMatchObject({ sessionId: controller.id, root, ref: pointerBefore });
    expect(listTree(root), where).toEqual(found);
    return;
  }
  const opened = await opening;
  const wanted = isDrifted
    ? onDrift[mode][drift as Exclude<DriftPolicy, 'fail'>]
    : ({ events: [], tree: 'found' } as const);
  const events = (await eventTypes(opened)).slice(recorded.length + 1);
  expect(events, where).toEqual([...wanted.events, 'SessionRestored', 'LoopStarted']);
  expect(opened.opening.drift === undefined, where).toBe(!isDrifted);
  if (wanted.tree === 'found') expect(listTree(root), where).toEqual(found);
  else expectTree(listTree(root), await treeOf(pointerBefore as Ref), mode, where);
  // What was found is not lost, unless that was asked for.
  if (isDrifted && drift !== 'discard' && mode !== 'shared') {
    expect(await treeOf(opened.opening.drift?.recovered as Ref), where).toEqual(found);
  }
  await opened.shutdown();
}

const roots = new Map<string, string>();
const agent = defineLoop({
  name: 'agent',
  turn: async ({ session, step }) => {
    for (const text of ['one', 'two']) {
      await step(async () => {
        world.write('a.txt', text, roots.get(session.id) as string);
        world.write(`deep/${text}.txt`, text, roots.get(session.id) as string);
        await Promise.resolve();
      });
    }
  },
});

async function seedRef(): Promise<Ref> {
  mkdirSync(world.path('seed'));
  world.write('seed.txt', 'seed', world.path('seed'));
  return (await stack.store.snapshot(world.path('seed'))).ref;
}

/** A fixed root keeps directories that the ref does not have; nothing else may be left over. */
function expectTree(live: readonly Row[], target: readonly Row[], mode: Mode, where: string): void {
  const known = new Set(target.map(({ path }) => path));
  const extra = live.filter(({ path }) => !known.has(path));
  expect(
    live.filter(({ path }) => known.has(path)),
    where,
  ).toEqual(target);
  expect(new Set(extra.map(({ kind }) => kind)), where).toEqual(
    mode === 'exclusive' && extra.length > 0 ? new Set(['directory']) : new Set(),
  );
}

type Row = ReturnType<typeof listTree>[number];

let copies = 0;

async function treeOf(ref: Ref): Promise<readonly Row[]> {
  copies += 1;
  const copy = world.path(`copy-${copies}`);
  await stack.store.materialize(ref, copy);
  return listTree(copy);
}

async function quiet(): Promise<void> {
  for (let round = 0; round < 60; round += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

function kindOf(Class: { is(error: unknown): boolean }, run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (!Class.is(error)) throw error;
    return (error as { kind: unknown }).kind;
  }
  return undefined;
}
