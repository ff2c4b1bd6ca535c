import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';

import { findCause, InvalidNameError, isHoldfastError } from '@holdfast/base';
import { openFsBlobs } from '@holdfast/blobs/fs';
import { Leaser, memoryLeaser, prefixedLeaser } from '@holdfast/lease';
import {
  defineRig,
  exclusiveWorkspace,
  PersistenceOverlapError,
  RigDefinitionError,
  type RigFragment,
  rootLeaseName,
  SnapshotPolicyError,
  sessionWorkspaces,
  sharedWorkspace,
  type WorkspacePlacement,
  WorkspacePlacementError,
} from '@holdfast/rig';
import { defineLoop, defineTool } from '@holdfast/session';
import { WorkspaceStore } from '@holdfast/workspacestore';
import { beforeEach, describe, expect, it } from 'vitest';

import { type Stack, World } from './support/world.js';

let world: World;
let stack: Stack;

beforeEach(async () => {
  world = new World();
  stack = await world.process();
});

const policy = { trigger: 'manual' } as const;
const loop = defineLoop({ name: 'agent', turn: async () => await Promise.resolve(null) });

function thrown(...fragments: readonly unknown[]): unknown {
  try {
    defineRig(...(fragments as RigFragment[]));
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('fragments', () => {
  it('are joined: lists one after another, single options from wherever they are', () => {
    const other = defineLoop({ name: 'other', turn: async () => await Promise.resolve(null) });
    const rig = defineRig(
      { loops: [loop], primers: ['agent'] },
      { loops: [other], primers: ['other'], sessionStore: stack.sessionStore },
      { workspace: sessionWorkspaces(stack.store, world.path('base')), snapshots: policy },
    );
    expect(Object.isFrozen(rig)).toBe(true);
    expect(rig.placement?.mode).toBe('per-session');
    expect(rig.rootOf('some-session')).toBe(world.path('base', 'some-session'));
  });

  it('may name as primers only loops that there are: the compiler says so too', () => {
    expect(() => {
      // @ts-expect-error there is no loop of this name
      defineRig({ loops: [loop], primers: ['nobody'] }, { sessionStore: stack.sessionStore });
    }).toThrow(RigDefinitionError);
    defineRig({ loops: [loop] }, { primers: ['agent'], sessionStore: stack.sessionStore });
    const given: RigFragment = { loops: [loop], primers: ['agent'] };
    defineRig(given, { sessionStore: stack.sessionStore });
  });

  it.each(['sessionStore', 'snapshots', 'deadlines', 'clock', 'random', 'controlDirectory'])(
    'may give %s once only, even the same',
    (key) => {
      const fragment = { [key]: key === 'sessionStore' ? stack.sessionStore : {} };
      const error = thrown(fragment, fragment);
      if (!RigDefinitionError.is(error)) throw error;
      expect(error).toMatchObject({ code: 'RIG_DEFINITION_INVALID', kind: 'duplicate-option', subject: key });
    },
  );

  it('may give one placement, even the same', () => {
    const workspace = sharedWorkspace(stack.store, world.path('root'));
    const error = thrown({ workspace }, { workspace, sessionStore: stack.sessionStore });
    if (!WorkspacePlacementError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'RIG_PLACEMENT_INVALID', kind: 'multiple-placements' });
  });

  const broken: [string, unknown, string][] = [
    ['an option nobody knows', { workspaces: [] }, 'unknown-option'],
    ['no session store', { loops: [loop] }, 'session-store-missing'],
    ['a session store that is none', { sessionStore: { open: 1 } }, 'session-store-missing'],
    ['a loop without a name', { loops: [{ turn: () => null }] }, 'loop-invalid'],
    ['a loop without a turn', { loops: [{ name: 'x' }] }, 'loop-invalid'],
    ['a loop that is nothing', { loops: [null] }, 'loop-invalid'],
    ['two loops of one name', { loops: [loop, loop] }, 'loop-duplicate'],
    ['a tool that is none', { loops: [{ ...loop, tools: [{ name: 'x' }] }] }, 'tool-invalid'],
    [
      'two tools of one name',
      {
        loops: [
          {
            ...loop,
            tools: [
              { name: 'x', bind: () => null },
              { name: 'x', bind: () => null },
            ],
          },
        ],
      },
      'tool-duplicate',
    ],
    ['a primer that is no loop', { loops: [loop], primers: ['nobody'] }, 'primer-unknown'],
  ];
  it.each(broken)('%s', (_name, fragment, kind) => {
    const store = Object.hasOwn(fragment as object, 'sessionStore')
      ? {}
      : { sessionStore: stack.sessionStore };
    const error = kind === 'session-store-missing' ? thrown(fragment) : thrown(fragment, store);
    if (!RigDefinitionError.is(error)) throw error;
    expect(error.kind).toBe(kind);
  });
});

describe('placements', () => {
  type Case = [string, () => unknown, string];
  const withMissingMethods = { ...{ acquire: undefined } } as unknown as Leaser;
  const cases: Case[] = [
    ['no store', () => exclusiveWorkspace(undefined as never, world.path('root'), stack.leaser), 'nil-store'],
    ['a store that is none', () => sharedWorkspace({} as never, world.path('root')), 'nil-store'],
    ['no root', () => exclusiveWorkspace(stack.store, '', stack.leaser), 'empty-root'],
    ['a root that is no text', () => sharedWorkspace(stack.store, 7 as never), 'empty-root'],
    ['no base directory', () => sessionWorkspaces(stack.store, ''), 'empty-root'],
    [
      'a dangling link',
      () => exclusiveWorkspace(stack.store, world.path('dangling'), stack.leaser),
      'canonicalize-failed',
    ],
    [
      'something below a dangling link',
      () => sessionWorkspaces(stack.store, world.path('dangling', 'base')),
      'canonicalize-failed',
    ],
    ['a link in a circle', () => sharedWorkspace(stack.store, world.path('circle')), 'canonicalize-failed'],
    ['a NUL', () => sharedWorkspace(stack.store, `${world.path('root')}\0`), 'canonicalize-failed'],
    [
      'something below a file',
      () => sessionWorkspaces(stack.store, world.path('file', 'x')),
      'canonicalize-failed',
    ],
    ['a file', () => exclusiveWorkspace(stack.store, world.path('file'), stack.leaser), 'root-not-directory'],
    ['a file as base', () => sessionWorkspaces(stack.store, world.path('file')), 'root-not-directory'],
    [
      'nothing',
      () => exclusiveWorkspace(stack.store, world.path('missing'), stack.leaser),
      'root-not-directory',
    ],
    ['nothing, shared', () => sharedWorkspace(stack.store, world.path('missing')), 'root-not-directory'],
    ['the root of the file system', () => sharedWorkspace(stack.store, '/'), 'root-is-filesystem-root'],
    [
      'no leaser',
      () => exclusiveWorkspace(stack.store, world.path('root'), undefined as never),
      'nil-leaser',
    ],
    [
      'a leaser without methods',
      () => exclusiveWorkspace(stack.store, world.path('root'), withMissingMethods),
      'nil-leaser',
    ],
    [
      'a leaser that hides nothing behind its methods',
      () =>
        exclusiveWorkspace(stack.store, world.path('root'), {
          acquire: () => undefined,
          checkName: () => undefined,
          storagePaths: () => [],
          supports: null,
        } as never),
      'nil-leaser',
    ],
    [
      'a leaser that reaches too little',
      () => exclusiveWorkspace(stack.store, world.path('root'), stack.leaser, { scope: 'host' }),
      'leaser-scope-too-small',
    ],
    [
      'a leaser that refuses the name',
      () =>
        exclusiveWorkspace(stack.store, world.path('root'), {
          acquire: () => undefined,
          storagePaths: () => [],
          supports: { scope: 'fleet' },
          checkName: () => {
            throw new TypeError('too long');
          },
        } as never),
      'lease-name-invalid',
    ],
  ];
  it.each(cases)('%s', (_name, workspace, kind) => {
    writeFileSync(world.path('file'), '');
    symlinkSync(world.path('nowhere'), world.path('dangling'));
    symlinkSync(world.path('circle'), world.path('circle'));
    const error = thrown({ sessionStore: stack.sessionStore, workspace: workspace(), snapshots: policy });
    if (!WorkspacePlacementError.is(error)) throw error;
    expect(error).toMatchObject({ kind, effect: 'none' });
  });

  it('a leaser whose prefix leaves no room for the name is refused at once', () => {
    const workspace = (prefix: string): WorkspacePlacement =>
      exclusiveWorkspace(stack.store, world.path('root'), prefixedLeaser(stack.leaser, prefix));
    const given = (prefix: string): unknown =>
      thrown({ sessionStore: stack.sessionStore, workspace: workspace(prefix), snapshots: policy });
    const longest = 512 - rootLeaseName(world.path('root')).length - 1;
    expect(given('p'.repeat(longest))).toBeUndefined();
    const error = given('p'.repeat(longest + 1));
    if (!WorkspacePlacementError.is(error)) throw error;
    expect(error).toMatchObject({ kind: 'lease-name-invalid', root: world.path('root') });
    expect(findCause(error, InvalidNameError)?.rule).toBe('too-long');
  });

  it('a leaser whose driver cannot say so beforehand is refused when the root is taken', async () => {
    const inner = prefixedLeaser(stack.leaser, 'p'.repeat(500)).driver;
    const leaser = new Leaser({
      contract: inner.contract,
      supports: inner.supports,
      storagePaths: () => [],
      acquire: async (name, options) => await inner.acquire(name, options),
      changed: async (name, options) => {
        await inner.changed(name, options);
      },
      close: async () => await Promise.resolve(),
    });
    const rig = defineRig({
      sessionStore: stack.sessionStore,
      workspace: exclusiveWorkspace(stack.store, world.path('root'), leaser),
      snapshots: policy,
    });
    const error = await rig.newSession().catch((caught: unknown) => caught);
    if (!WorkspacePlacementError.is(error)) throw error;
    expect(error.kind).toBe('lease-name-invalid');
    const sessions: string[] = [];
    for await (const { id } of rig.listSessions()) sessions.push(id);
    expect(sessions).toEqual([]);
  });

  it('a missing root may be asked for', () => {
    const rig = defineRig({
      sessionStore: stack.sessionStore,
      workspace: exclusiveWorkspace(stack.store, world.path('missing', 'deep'), stack.leaser, {
        create: true,
      }),
      snapshots: policy,
    });
    expect(rig.rootOf('any')).toBe(world.path('missing', 'deep'));
  });

  it('two names of one directory are one root with one lease', () => {
    symlinkSync(world.path('root'), world.path('alias'));
    const roots = [world.path('root'), world.path('alias'), `${world.path('alias')}/../root/.`].map((root) =>
      defineRig({
        sessionStore: stack.sessionStore,
        workspace: exclusiveWorkspace(stack.store, root, stack.leaser),
        snapshots: policy,
      }).rootOf('any'),
    );
    expect(new Set(roots)).toEqual(new Set([world.path('root')]));
    expect(rootLeaseName('/w')).toMatch(/^workspace-roots\/[0-9a-f]{64}$/);
  });

  it('are inert: the helpers throw nothing', () => {
    expect(exclusiveWorkspace(undefined as never, '', undefined as never).mode).toBe('exclusive');
  });
});

describe('a tool that needs a workspace', () => {
  it.each([true, 'read'] as const)('(%j) needs a placement', (workspace) => {
    const tool = defineTool({
      name: 'edit',
      requires: { workspace },
      bind: () => async () => await Promise.resolve(0),
    });
    const error = thrown({ sessionStore: stack.sessionStore, loops: [{ ...loop, tools: [tool] }] });
    if (!WorkspacePlacementError.is(error)) throw error;
    expect(error).toMatchObject({ kind: 'tool-without-placement', root: undefined });
    const free = defineTool({ name: 'ask', bind: () => async () => await Promise.resolve(0) });
    expect(thrown({ sessionStore: stack.sessionStore, loops: [{ ...loop, tools: [free] }] })).toBeUndefined();
  });
});

describe('the snapshot policy', () => {
  const modes = {
    exclusive: () => exclusiveWorkspace(stack.store, world.path('root'), stack.leaser),
    'per-session': () => sessionWorkspaces(stack.store, world.path('base')),
    shared: () => sharedWorkspace(stack.store, world.path('root')),
  };
  type Mode = keyof typeof modes | 'none';
  const rows: [Mode, unknown, string | undefined][] = [];
  for (const mode of ['exclusive', 'per-session', 'shared', 'none'] as const) {
    const placed = mode !== 'none';
    rows.push([mode, undefined, placed ? 'required' : undefined]);
    for (const trigger of ['manual', 'idle', 'turn-done', 'step-done', undefined]) {
      rows.push([mode, { trigger }, placed ? undefined : 'without-workspace']);
      const required = mode === 'shared' ? 'shared-required' : placed ? undefined : 'without-workspace';
      rows.push([mode, { trigger, priority: 'required' }, required]);
    }
    rows.push([mode, { trigger: 'sometimes' }, 'invalid-trigger']);
    rows.push([mode, { trigger: 7 }, 'invalid-trigger']);
    rows.push([mode, { priority: 'urgent' }, 'invalid-priority']);
    rows.push([mode, { trigger: 'sometimes', priority: 'urgent', timeout: -1 }, 'invalid-trigger']);
    rows.push([mode, { priority: 'urgent', timeout: -1 }, 'invalid-priority']);
    for (const timeout of [-1, Number.NaN, Number.POSITIVE_INFINITY, '5']) {
      rows.push([mode, { timeout }, 'invalid-timeout']);
    }
    rows.push([mode, { timeout: 0 }, placed ? undefined : 'without-workspace']);
    rows.push([mode, { timeout: 1 }, placed ? undefined : 'without-workspace']);
  }
  it.each(rows)('%s, %j: %s', (mode, snapshots, kind) => {
    const workspace = mode === 'none' ? undefined : modes[mode]();
    const error = thrown({ sessionStore: stack.sessionStore, workspace, snapshots });
    if (kind === undefined) {
      expect(error).toBeUndefined();
      return;
    }
    if (!SnapshotPolicyError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'RIG_SNAPSHOT_POLICY_INVALID', kind });
  });
});

describe('persistence', () => {
  async function storeIn(...names: string[]): Promise<WorkspaceStore> {
    return await WorkspaceStore.open(await openFsBlobs(world.path(...names)));
  }
  const shared = (store: WorkspaceStore, root: string): unknown =>
    thrown({ sessionStore: stack.sessionStore, workspace: sharedWorkspace(store, root), snapshots: policy });

  it('may not be the managed directory or lie in it', async () => {
    for (const names of [['root'], ['root', 'deep', 'blobs']]) {
      const error = shared(await storeIn(...names), world.path('root'));
      if (!PersistenceOverlapError.is(error)) throw error;
      expect(error).toMatchObject({ persistencePath: world.path(...names), root: world.path('root') });
    }
    const store = await storeIn('base', 'blobs');
    const error = thrown({
      sessionStore: stack.sessionStore,
      workspace: sessionWorkspaces(store, world.path('base')),
      snapshots: policy,
    });
    expect(PersistenceOverlapError.is(error)).toBe(true);
  });

  it('may be above it, beside it, or share a text prefix with it', async () => {
    mkdirSync(world.path('root', 'inner'));
    expect(shared(await storeIn('root2'), world.path('root'))).toBeUndefined();
    expect(shared(await storeIn('root'), world.path('root', 'inner'))).toBeUndefined();
  });

  it('is found behind a link', async () => {
    mkdirSync(world.path('root', 'real'));
    symlinkSync(world.path('root', 'real'), world.path('elsewhere'));
    const error = shared(await storeIn('elsewhere'), world.path('root'));
    expect(PersistenceOverlapError.is(error)).toBe(true);
  });

  it('of sessions is named before that of snapshots', async () => {
    const store = await storeIn('root', 'blobs');
    const sessionStore = Object.create(stack.sessionStore, {
      create: { value: () => undefined },
      open: { value: () => undefined },
      storagePaths: { value: () => [world.path('root', 'sessions')] },
    }) as typeof stack.sessionStore;
    const error = thrown({
      sessionStore,
      workspace: sharedWorkspace(store, world.path('root')),
      snapshots: policy,
    });
    expect(error).toMatchObject({ persistencePath: world.path('root', 'sessions') });
  });
});

describe('when several things are wrong', () => {
  it('the first of the documented order is thrown', async () => {
    const tool = defineTool({
      name: 'edit',
      requires: { workspace: true },
      bind: () => async () => await Promise.resolve(0),
    });
    const inside = await WorkspaceStore.open(await openFsBlobs(world.path('root', 'blobs')));
    const everything = {
      sessionStore: stack.sessionStore,
      snapshots: { trigger: 'sometimes', priority: 'urgent', timeout: -1 },
    };
    const nil = undefined as never;
    // Each line repairs what the one before complained about.
    const repairs: [unknown[], string][] = [
      [
        [
          everything,
          { snapshots: {}, workspace: exclusiveWorkspace(nil, '', nil) },
          { workspace: sharedWorkspace(nil, '') },
        ],
        'duplicate-option',
      ],
      [
        [
          everything,
          { workspace: exclusiveWorkspace(nil, '', nil) },
          { workspace: sharedWorkspace(nil, '') },
        ],
        'multiple-placements',
      ],
      [[everything, { workspace: exclusiveWorkspace(nil, '', nil) }], 'nil-store'],
      [[everything, { workspace: exclusiveWorkspace(inside, '', nil) }], 'empty-root'],
      [[everything, { workspace: exclusiveWorkspace(inside, '\0', nil) }], 'canonicalize-failed'],
      [
        [everything, { workspace: exclusiveWorkspace(inside, world.path('missing'), nil) }],
        'root-not-directory',
      ],
      [[everything, { workspace: exclusiveWorkspace(inside, '/', nil) }], 'root-is-filesystem-root'],
      [[everything, { workspace: exclusiveWorkspace(inside, world.path('root'), nil) }], 'nil-leaser'],
      [
        [
          everything,
          { workspace: exclusiveWorkspace(inside, world.path('root'), memoryLeaser(), { scope: 'fleet' }) },
        ],
        'leaser-scope-too-small',
      ],
      [
        [
          everything,
          {
            loops: [{ ...loop, tools: [tool] }],
            workspace: exclusiveWorkspace(
              inside,
              world.path('root'),
              prefixedLeaser(memoryLeaser(), 'p'.repeat(500)),
            ),
          },
        ],
        'lease-name-invalid',
      ],
      [[everything, { loops: [{ ...loop, tools: [tool] }] }], 'tool-without-placement'],
      [[everything, { workspace: sharedWorkspace(inside, world.path('root')) }], 'invalid-trigger'],
      [
        [
          { sessionStore: stack.sessionStore, snapshots: { priority: 'required' } },
          { workspace: sharedWorkspace(inside, world.path('root')) },
        ],
        'shared-required',
      ],
    ];
    for (const [fragments, kind] of repairs) {
      const error = thrown(...fragments);
      expect(isHoldfastError(error), kind).toBe(true);
      expect((error as { kind: string }).kind).toBe(kind);
    }
    const last = thrown(
      { sessionStore: stack.sessionStore, snapshots: {} },
      { workspace: sharedWorkspace(inside, world.path('root')) },
    );
    expect(PersistenceOverlapError.is(last)).toBe(true);
  });
});
