import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';

import { findCause, isHoldfastError } from '@holdfast/base';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { prefixedLeaser } from '@holdfast/lease';
import * as rigPackage from '@holdfast/rig';
import {
  defineRig,
  exclusiveWorkspace,
  MaterializeError,
  type RigDefinitionErrorKind,
  type RigErrorCode,
  type RigFragment,
  rootLeaseName,
  type SnapshotPolicyErrorKind,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacementErrorKind,
  type WorkspaceSeedErrorKind,
} from '@holdfast/rig';
import { defineLoop, defineTool } from '@holdfast/session';
import { type Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, it } from 'vitest';

import { type Stack, World } from './support/world.js';

/**
 * Every code and every kind of a rig, thrown through its public calls. The tables are records over the unions: a kind
 * without a way to it does not compile.
 */

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

const nowhere = `v1:sha256:${'0'.repeat(64)}` as Ref;
const loop = defineLoop({ name: 'agent', turn: async () => await Promise.resolve(null) });
const editing = defineTool({
  name: 'edit',
  requires: { workspace: true },
  bind: () => async () => await Promise.resolve(0),
});

function thrownBy(define: () => unknown): unknown {
  try {
    define();
    return undefined;
  } catch (error) {
    return error;
  }
}

const define = (...fragments: unknown[]): unknown =>
  thrownBy(() => defineRig(...([{ sessionStore: stack.sessionStore }, ...fragments] as RigFragment[])));
const placed = (workspace: unknown): unknown => define({ workspace, snapshots: {} });
const exclusive = (root = world.path('root')): ReturnType<typeof exclusiveWorkspace> =>
  exclusiveWorkspace(stack.store, root, stack.leaser);

describe('a definition is refused:', () => {
  const ways: Record<RigDefinitionErrorKind, () => unknown> = {
    'duplicate-option': () => define({ snapshots: {} }, { snapshots: {} }),
    'unknown-option': () => define({ snapshot: {} }),
    'session-store-missing': () => thrownBy(() => defineRig({ loops: [loop] })),
    'loop-invalid': () => define({ loops: [{ name: 'x' }] }),
    'loop-duplicate': () => define({ loops: [loop] }, { loops: [loop] }),
    'tool-invalid': () => define({ loops: [{ ...loop, tools: [{ name: 'x' }] }] }),
    'tool-duplicate': () => define({ loops: [{ ...loop, tools: [editing, editing] }] }),
    'primer-unknown': () => define({ loops: [loop], primers: ['nobody'] }),
  };
  it.each(Object.entries(ways))('%s', (kind, way) => {
    expect(way()).toMatchObject({ code: 'RIG_DEFINITION_INVALID', kind, effect: 'none' });
  });
});

describe('a placement is refused:', () => {
  const nil = undefined as never;
  const ways: Record<WorkspacePlacementErrorKind, () => unknown> = {
    'multiple-placements': () => define({ workspace: exclusive() }, { workspace: exclusive() }),
    'nil-store': () => placed(sharedWorkspace(nil, world.path('root'))),
    'empty-root': () => placed(exclusive('')),
    'canonicalize-failed': () => {
      symlinkSync(world.path('nowhere'), world.path('dangling'));
      return placed(exclusive(world.path('dangling')));
    },
    'root-not-directory': () => placed(exclusive(world.path('missing'))),
    'root-is-filesystem-root': () => placed(exclusive('/')),
    'nil-leaser': () => placed(exclusiveWorkspace(stack.store, world.path('root'), nil)),
    'leaser-scope-too-small': () =>
      placed(exclusiveWorkspace(stack.store, world.path('root'), stack.leaser, { scope: 'fleet' })),
    'lease-name-invalid': () => {
      const leaser = prefixedLeaser(stack.leaser, 'p'.repeat(500));
      return placed(exclusiveWorkspace(stack.store, world.path('root'), leaser));
    },
    'tool-without-placement': () => define({ loops: [{ ...loop, tools: [editing] }] }),
  };
  it.each(Object.entries(ways))('%s', (kind, way) => {
    expect(way()).toMatchObject({ code: 'RIG_PLACEMENT_INVALID', kind, effect: 'none' });
  });
});

describe('a snapshot policy is refused:', () => {
  const ways: Record<SnapshotPolicyErrorKind, () => unknown> = {
    'invalid-trigger': () => define({ workspace: exclusive(), snapshots: { trigger: 'never' } }),
    'invalid-priority': () => define({ workspace: exclusive(), snapshots: { priority: 'high' } }),
    'invalid-timeout': () => define({ workspace: exclusive(), snapshots: { timeout: -1 } }),
    required: () => define({ workspace: exclusive() }),
    'without-workspace': () => define({ snapshots: {} }),
    'shared-required': () =>
      define({
        workspace: sharedWorkspace(stack.store, world.path('root')),
        snapshots: { priority: 'required' },
      }),
  };
  it.each(Object.entries(ways))('%s', (kind, way) => {
    expect(way()).toMatchObject({ code: 'RIG_SNAPSHOT_POLICY_INVALID', kind, effect: 'none' });
  });
});

describe('a seed is refused:', () => {
  const begin = async (workspace: unknown, seed: unknown): Promise<unknown> => {
    const fragment = { sessionStore: stack.sessionStore, workspace, snapshots: workspace && {} };
    const rig = defineRig(fragment as RigFragment);
    return await rig.newSession({ seed: seed as Ref }).catch((error: unknown) => error);
  };
  const ways: Record<WorkspaceSeedErrorKind, () => Promise<unknown>> = {
    'no-placement': async () => await begin(undefined, nowhere),
    shared: async () => await begin(stack.placement('shared'), nowhere),
    'root-not-empty': async () => {
      world.write('mine.txt', 'mine');
      return await begin(stack.placement('exclusive'), nowhere);
    },
    'invalid-ref': async () => await begin(stack.placement('exclusive'), 'nonsense'),
    'materialize-failed': async () => {
      const error = await begin(stack.placement('per-session'), nowhere);
      expect(findCause(error, MaterializeError)).toMatchObject({ ref: nowhere });
      return error;
    },
  };
  it.each(Object.entries(ways))('%s', async (kind, way) => {
    expect(await way()).toMatchObject({ code: 'RIG_SEED', kind, effect: 'none' });
    // Whatever it was, nothing of the session is there.
    for await (const { id } of stack.sessionStore.list()) throw new Error(`${id} was left`);
    expect(existsSync(world.path('base')) ? readdirSync(world.path('base')) : []).toEqual([]);
    expect(world.leases.holder(rootLeaseName(world.path('root')))).toBeUndefined();
  });

  it('by what the rig is before what the ref is, and by the ref before the root', async () => {
    world.write('mine.txt', 'mine');
    const kinds: unknown[] = [];
    for (const [workspace, seed] of [
      [undefined, 'nonsense'],
      [stack.placement('shared'), 'nonsense'],
      [stack.placement('exclusive'), 'nonsense'],
      [stack.placement('exclusive'), nowhere],
    ] as const) {
      kinds.push(((await begin(workspace, seed)) as { kind: string }).kind);
    }
    expect(kinds).toEqual(['no-placement', 'shared', 'invalid-ref', 'root-not-empty']);
  });
});

describe('every other error of a rig:', () => {
  const rigOn = (workspace: unknown): ReturnType<typeof defineRig> =>
    defineRig({ sessionStore: stack.sessionStore, workspace, snapshots: {} } as RigFragment);
  const caught = async (promise: Promise<unknown>): Promise<unknown> =>
    await promise.then(
      () => undefined,
      (error: unknown) => error,
    );
  const drifted = async (): Promise<string> => {
    world.write('a.txt', 'one');
    const controller = await rigOn(exclusive()).newSession();
    await controller.shutdown();
    world.write('a.txt', 'two');
    return controller.id;
  };
  type Listed =
    | 'RIG_DEFINITION_INVALID'
    | 'RIG_PLACEMENT_INVALID'
    | 'RIG_SNAPSHOT_POLICY_INVALID'
    | 'RIG_SEED';
  const ways: Record<Exclude<RigErrorCode, Listed>, () => Promise<unknown>> = {
    RIG_PERSISTENCE_OVERLAP: async () => {
      const store = await WorkspaceStore.open(await openFsBlobs(world.path('root', 'blobs')));
      return thrownBy(() => rigOn(exclusiveWorkspace(store, world.path('root'), stack.leaser)));
    },
    RIG_ROOT_BUSY: async () => {
      await using _held = await rigOn(exclusive()).newSession();
      const error = await caught(rigOn(exclusive()).newSession());
      expect(error).toMatchObject({ holderEpoch: 1, root: world.path('root') });
      return error;
    },
    RIG_ROOT_NESTED: async () => {
      mkdirSync(world.path('root', 'inner'));
      await using _held = await rigOn(exclusive()).newSession();
      return await caught(rigOn(exclusive(world.path('root', 'inner'))).newSession());
    },
    RIG_DRIFT: async () => {
      const id = await drifted();
      return await caught(rigOn(exclusive()).openSession(id, { drift: 'fail' }));
    },
    RIG_RELOCATED: async () => {
      const id = await drifted();
      return await caught(rigOn(sessionWorkspaces(stack.store, world.path('base'))).openSession(id));
    },
    RIG_SESSION_OPENING: async () => {
      world.write('a.txt', 'one');
      world.beforeAppend = (types) => {
        if (types.includes('WorkspaceCheckpointed')) throw new Error('full');
      };
      stack.sessionStore.delete = async () => await Promise.reject(new Error('and read-only'));
      return await caught(rigOn(exclusive()).newSession());
    },
  };
  it.each(Object.entries(ways))('%s', async (code, way) => {
    const error = await way();
    expect(isHoldfastError(error) && error.code).toBe(code);
    const classes = Object.values(rigPackage).filter(
      (value) => typeof value === 'function' && (value as { code?: string }).code === code,
    );
    expect(classes).toHaveLength(1);
    expect((classes[0] as unknown as { is(error: unknown): boolean }).is(error)).toBe(true);
  });

  it('a session on another root is said to be so before its files are looked at', async () => {
    const id = await drifted();
    const other = rigOn(sessionWorkspaces(stack.store, world.path('base')));
    const error = await caught(other.openSession(id, { drift: 'fail' }));
    expect(error).toMatchObject({ code: 'RIG_RELOCATED' });
  });
});
