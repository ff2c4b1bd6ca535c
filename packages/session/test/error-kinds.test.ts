import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

import { findCause, HoldfastError } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { CoordinatorClosedError, CoordinatorUnhealthyError } from '@holdfast/coordinator';
import { LeaseLostError, LeaserBackendError } from '@holdfast/lease';
import { type RestoreStrategy, reconcile, swap } from '@holdfast/restore';
import {
  CheckpointError,
  type CheckpointErrorKind,
  ControlClient,
  ControlUnavailableError,
  type ControlUnavailableKind,
  defineLoop,
  type FaultReason,
  MaterializeError,
  type MissingKind,
  PermitUnavailableError,
  ScratchUnavailableError,
  SessionClosedError,
  type SessionErrorCode,
  SessionFaultedError,
  SessionPointError,
  ShutdownError,
  ToolCallError,
  type ToolErrorKind,
  WorkspaceNotConfiguredError,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
} from '@holdfast/session';
import { InvalidRefError, NotDirectoryError, type Ref } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, type KitOptions, settle } from './support/kit.js';

/**
 * Every kind of every error of a session, thrown through its public calls. The tables are records over the unions of
 * kinds: a kind without a way to it does not compile.
 */

async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function twoStates(options: KitOptions = {}): Promise<{ kit: Kit; first: Ref; second: Ref }> {
  const kit = await Kit.open(options);
  mkdirSync(path.join(kit.root, 'deep'));
  kit.write('deep/d.txt', 'zero');
  const first = await kit.controller.checkpointWorkspace();
  kit.write('a.txt', 'one');
  kit.write('deep/d.txt', 'one');
  const second = await kit.controller.checkpointWorkspace();
  return { kit, first, second };
}

async function inTurn(options: KitOptions = {}): Promise<Kit> {
  const held = barrier();
  const busy = defineLoop({
    name: 'busy',
    turn: async ({ signal }) => {
      signal.addEventListener('abort', held.open);
      await held.wait();
    },
  });
  const kit = await Kit.open({ ...options, loops: [busy] });
  await kit.controller.submit(null);
  await held.reached;
  return kit;
}

const nowhere = `v1:sha256:${'0'.repeat(64)}` as Ref;
const at = (kit: Kit, step: string, run: () => void): void => {
  kit.controller.observe((notice) => {
    if (notice.type === 'restore-progress' && notice.step === step) run();
  });
};

describe('a checkpoint that is not taken says why:', () => {
  type Way = () => Promise<{ error: unknown; cause?: { is(value: unknown): boolean } }>;
  const ways: Record<CheckpointErrorKind, Way> = {
    unavailable: async () => {
      const kit = await Kit.open();
      await kit.controller.shutdown();
      return { error: await thrownBy(kit.controller.checkpointWorkspace()), cause: SessionClosedError };
    },
    'not-idle': async () => ({ error: await thrownBy((await inTurn()).controller.checkpointWorkspace()) }),
    faulted: async () => {
      const kit = await Kit.open();
      kit.loseSessionLease();
      return { error: await thrownBy(kit.controller.checkpointWorkspace()), cause: SessionFaultedError };
    },
    timeout: async () => {
      const clock = new ManualClock();
      const kit = await Kit.open({ clock, policy: { timeout: 50 } });
      using _permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
      const waiting = thrownBy(kit.controller.checkpointWorkspace());
      await settle();
      await clock.advance(50);
      return { error: await waiting };
    },
    canceled: async () => {
      const kit = await Kit.open();
      kit.snapshots.before = () => {
        kit.loseRootLease();
      };
      return { error: await thrownBy(kit.controller.checkpointWorkspace()), cause: LeaseLostError };
    },
    failed: async () => {
      const kit = await Kit.open();
      rmSync(kit.root, { recursive: true });
      return { error: await thrownBy(kit.controller.checkpointWorkspace()), cause: NotDirectoryError };
    },
    'trigger-append-failed': async () => {
      const kit = await Kit.open({ policy: { trigger: 'turn-done', priority: 'required' } });
      kit.failAppends('TurnDone');
      return { error: await thrownBy(kit.controller.boundary('turn-done')) };
    },
    'append-failed': async () => {
      const kit = await Kit.open();
      kit.failAppends('WorkspaceCheckpointed');
      return { error: await thrownBy(kit.controller.checkpointWorkspace()) };
    },
  };
  it.each(Object.entries(ways))('%s', async (kind, way) => {
    const { cause, error } = await way();
    if (!CheckpointError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'SESSION_CHECKPOINT', kind, sessionId: 'session-under-test' });
    if (cause !== undefined) expect(causes(error).some((found) => cause.is(found))).toBe(true);
  });

  it('the first that applies: closing, faulted, a turn that runs', async () => {
    const kit = await inTurn();
    const kindOf = async (): Promise<unknown> =>
      ((await thrownBy(kit.controller.checkpointWorkspace())) as CheckpointError).kind;
    expect(await kindOf()).toBe('not-idle');
    kit.loseSessionLease();
    expect(await kindOf()).toBe('faulted');
    const ended = kit.controller.shutdown().catch(() => undefined);
    expect(await kindOf()).toBe('unavailable');
    await ended;
  });
});

describe('a restore that does not happen says why:', () => {
  type Way = () => Promise<{ error: unknown; cause?: { is(value: unknown): boolean } }>;
  const failing = (steps: Partial<RestoreStrategy>): RestoreStrategy => ({ ...reconcile(), ...steps });
  const noCommit = async (): Promise<never> => await Promise.reject(new Error('the disk is gone'));
  const ways: Record<WorkspaceRestoreKind, Way> = {
    closing: async () => {
      const { kit, first } = await twoStates();
      await kit.controller.shutdown();
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)), cause: SessionClosedError };
    },
    faulted: async () => {
      const { kit, first } = await twoStates();
      kit.loseSessionLease();
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)), cause: SessionFaultedError };
    },
    'not-idle': async () => ({
      error: await thrownBy((await inTurn()).controller.restoreWorkspace(nowhere)),
    }),
    'invalid-ref': async () => {
      const { kit } = await twoStates();
      return { error: await thrownBy(kit.controller.restoreWorkspace('no' as Ref)), cause: InvalidRefError };
    },
    'permit-failed': async () => {
      const { kit, first } = await twoStates();
      using _permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
      const error = await thrownBy(kit.controller.restoreWorkspace(first, { drain: 'fail' }));
      return { error, cause: PermitUnavailableError };
    },
    'lease-unhealthy': async () => {
      const { kit, first } = await twoStates();
      // The lease may well stand, but nobody can say so.
      kit.leaseOutage = new LeaserBackendError('check', 'workspace-roots/kit');
      const error = await thrownBy(kit.controller.restoreWorkspace(first));
      expect(causes(error).some((found) => CoordinatorUnhealthyError.is(found))).toBe(true);
      return { error, cause: LeaserBackendError };
    },
    'safety-failed': async () => {
      const { kit, first } = await twoStates();
      kit.snapshots.before = () => {
        throw new Error('disk full');
      };
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)), cause: CheckpointError };
    },
    'symlink-root': async () => {
      const { kit, first } = await twoStates();
      renameSync(kit.root, `${kit.root}-moved`);
      symlinkSync(`${kit.root}-moved`, kit.root);
      return { error: await thrownBy(kit.controller.restoreWorkspace(first, { safety: false })) };
    },
    'symlink-component': async () => {
      const { kit, first } = await twoStates();
      const outside = path.join(kit.place, 'outside');
      mkdirSync(outside);
      writeFileSync(path.join(outside, 'd.txt'), 'theirs');
      at(kit, 'secure', () => {
        renameSync(path.join(kit.root, 'deep'), path.join(kit.root, 'moved'));
        symlinkSync(outside, path.join(kit.root, 'deep'));
      });
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)) };
    },
    'path-escape': async () => {
      const { kit, first } = await twoStates();
      return { error: await thrownBy(kit.controller.restoreWorkspace(first, { paths: ['../x'] })) };
    },
    'root-replaced': async () => {
      const { kit, first } = await twoStates();
      renameSync(kit.root, `${kit.root}-moved`);
      return { error: await thrownBy(kit.controller.restoreWorkspace(first, { safety: false })) };
    },
    'scratch-unavailable': async () => {
      const { kit, first } = await twoStates();
      writeFileSync(path.join(kit.place, '.root.holdfast'), 'in the way');
      return {
        error: await thrownBy(kit.controller.restoreWorkspace(first)),
        cause: ScratchUnavailableError,
      };
    },
    'swap-unavailable': async () => {
      const { kit, first } = await twoStates({ mode: 'per-session', strategy: swap({ fallback: false }) });
      using _stands = await kit.coordinator.acquire({ operation: 'lifetime', access: 'read-only' });
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)) };
    },
    'materialize-failed': async () => {
      const { kit } = await twoStates();
      return { error: await thrownBy(kit.controller.restoreWorkspace(nowhere)), cause: MaterializeError };
    },
    'swap-failed': async () => {
      const strategy: RestoreStrategy = { ...swap(), commit: noCommit };
      const { kit, first } = await twoStates({ mode: 'per-session', strategy });
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)) };
    },
    'reconcile-failed': async () => {
      const { kit, first } = await twoStates({ strategy: failing({ commit: noCommit }) });
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)) };
    },
    'concurrent-change': async () => {
      const { kit, first } = await twoStates();
      const plan = await kit.controller.previewRestore(first);
      kit.write('a.txt', 'meanwhile');
      return { error: await thrownBy(kit.controller.restoreWorkspace(first, { plan })) };
    },
    'rollback-failed': async () => {
      const { kit, first } = await twoStates({ strategy: failing({ commit: noCommit, undo: noCommit }) });
      const error = await thrownBy(kit.controller.restoreWorkspace(first));
      expect(existsSync((error as WorkspaceRestoreError).keptAt ?? '')).toBe(true);
      expect(causes(error).filter((found) => String(found).includes('the disk is gone'))).toHaveLength(2);
      return { error };
    },
    'append-failed': async () => {
      const { kit, first } = await twoStates();
      kit.failAppends('restore-prepared');
      const error = await thrownBy(kit.controller.restoreWorkspace(first));
      expect(kit.controller.state().fault).toMatchObject({ reason: 'restore-append-failed' });
      return { error };
    },
    'recovery-refused': async () => {
      const { kit, first, second } = await twoStates({
        strategy: failing({ commit: noCommit, undo: noCommit }),
      });
      await thrownBy(kit.controller.restoreWorkspace(first));
      // The same root again, while nobody has settled what the first restore left.
      const other = await Kit.open({ place: kit.place });
      return { error: await thrownBy(other.controller.restoreWorkspace(await copyOf(kit, other, second))) };
    },
    canceled: async () => {
      const { kit, first } = await twoStates();
      kit.snapshots.before = () => {
        kit.loseRootLease();
      };
      return { error: await thrownBy(kit.controller.restoreWorkspace(first)), cause: LeaseLostError };
    },
  };
  it.each(Object.entries(ways))('%s', async (kind, way) => {
    const { cause, error } = await way();
    if (!WorkspaceRestoreError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'RESTORE_FAILED', kind });
    if (cause !== undefined) expect(causes(error).some((found) => cause.is(found))).toBe(true);
  });
});

describe('a session is faulted because of:', () => {
  const ways: Record<FaultReason, () => Promise<Kit>> = {
    'append-failed': async () => {
      const kit = await Kit.open();
      kit.failAppends('TurnDone');
      await thrownBy(kit.controller.boundary('turn-done'));
      return kit;
    },
    'lease-lost': async () => {
      const kit = await Kit.open();
      kit.loseRootLease();
      return kit;
    },
    'rollback-failed': async () => {
      const broken = async (): Promise<never> => await Promise.reject(new Error('the disk is gone'));
      const { kit, first } = await twoStates({
        strategy: { ...reconcile(), commit: broken, undo: broken },
      });
      await thrownBy(kit.controller.restoreWorkspace(first));
      return kit;
    },
    'restore-append-failed': async () => {
      const { kit, first } = await twoStates();
      kit.failAppends('restore-prepared');
      await thrownBy(kit.controller.restoreWorkspace(first));
      return kit;
    },
    'checkpoint-failed': async () => {
      const kit = await Kit.open({ policy: { trigger: 'turn-done', priority: 'required' } });
      kit.snapshots.before = () => {
        throw new Error('disk full');
      };
      await kit.controller.boundary('turn-done');
      return kit;
    },
  };
  it.each(Object.entries(ways))('%s', async (reason, way) => {
    const kit = await way();
    const kind = reason === 'checkpoint-failed' ? 'recoverable' : 'terminal';
    expect(kit.controller.state().fault).toMatchObject({ kind, reason });
    const errors = await Promise.all([
      thrownBy(kit.controller.boundary('turn-done')),
      thrownBy(kit.controller.submit(null)),
    ]);
    for (const error of errors) {
      if (!SessionFaultedError.is(error)) throw error;
      expect(error).toMatchObject({ code: 'SESSION_FAULTED', kind, reason });
      // The chain of causes does not grow with each refused call.
      expect(error.cause).toBe(kit.controller.state().fault?.cause);
    }
    kit.beforeAppend = undefined;
    kit.snapshots.before = undefined;
    // Reading, interrupting and ending go on.
    expect((await kit.types()).length).toBeGreaterThan(0);
    await kit.controller.interrupt();
    if (kind === 'recoverable') {
      await kit.controller.checkpointWorkspace();
      expect(kit.controller.state().fault).toBeUndefined();
    }
    await kit.controller.shutdown();
  });
});

describe('what is not there:', () => {
  const ways: Record<MissingKind, (kit: Kit) => Promise<unknown>> = {
    loop: async (kit) => await kit.controller.submit(null, { loop: 'nobody' }),
    point: async (kit) => await kit.controller.rewindTo('nowhere'),
    undo: async (kit) => await kit.controller.undo(),
    checkpoint: async (kit) => await kit.controller.fork(),
  };
  it.each(Object.entries(ways))('%s', async (kind, way) => {
    const kit = await Kit.open();
    const error = await thrownBy(way(kit));
    if (!SessionPointError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'SESSION_POINT', kind });
  });
});

describe('a tool call that is refused:', () => {
  const ways: Record<ToolErrorKind, unknown> = {
    'input-invalid': {
      name: 'strict',
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => ({ issues: [{ message: 'not like this' }] }),
        },
      },
      bind: () => async () => await Promise.resolve(null),
    },
  };
  it.each(Object.entries(ways))('%s', async (kind, tool) => {
    let error: unknown;
    const loop = defineLoop({
      name: 'agent',
      tools: [tool as never],
      turn: async ({ tools }) => {
        const { strict } = tools as unknown as Record<string, { call(input: unknown): Promise<unknown> }>;
        error = await thrownBy(strict?.call({}) ?? Promise.resolve());
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    await (await kit.controller.submit(null)).outcome;
    if (!ToolCallError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'SESSION_TOOL_CALL', kind, tool: 'strict' });
  });
});

describe('an owner that cannot be reached:', () => {
  const ways: Record<ControlUnavailableKind, (place: string) => Promise<unknown>> = {
    'not-listening': async (place) => await ControlClient.connect(path.join(place, 'nobody.sock')),
    'path-too-long': async (place) =>
      await Kit.open({ controlDirectory: path.join(place, 'deep'.repeat(25)) }),
    'not-private': async (place) => {
      const open = path.join(place, 'open');
      mkdirSync(open, { mode: 0o777 });
      const { chmodSync } = await import('node:fs');
      chmodSync(open, 0o777);
      await Kit.open({ controlDirectory: open });
    },
    disconnected: async (place) => {
      const server = createServer((socket) => socket.once('data', () => socket.destroy()));
      const name = path.join(place, 'd.sock');
      await new Promise<void>((resolve) => server.listen(name, resolve));
      const client = await ControlClient.connect(name);
      try {
        await client.call('describe', {});
      } finally {
        server.close();
      }
    },
    protocol: async (place) => {
      const server = createServer((socket) => socket.once('data', () => socket.end('not json\n')));
      const name = path.join(place, 'p.sock');
      await new Promise<void>((resolve) => server.listen(name, resolve));
      const client = await ControlClient.connect(name);
      try {
        await client.call('describe', {});
      } finally {
        server.close();
      }
    },
  };
  it.each(Object.entries(ways))('%s', async (kind, way) => {
    const kit = await Kit.open();
    const error = await thrownBy(way(kit.place));
    if (!ControlUnavailableError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'SESSION_CONTROL_UNAVAILABLE', kind });
  });
});

it('every class has one code, found by the class of another copy of the package too', () => {
  const classes: readonly ErrorClass[] = [
    CheckpointError,
    ControlUnavailableError,
    SessionClosedError,
    SessionFaultedError,
    SessionPointError,
    ShutdownError,
    ToolCallError,
    WorkspaceNotConfiguredError,
  ] as unknown as readonly ErrorClass[];
  expect(new Set(classes.map(({ code }) => code)).size).toBe(classes.length);
  for (const Class of classes) {
    const copy = class extends HoldfastError {
      static override readonly code = Class.code;
    };
    expect(Class.is(new copy('from elsewhere'))).toBe(true);
    expect(Class.is(new Error(Class.code))).toBe(false);
  }
});

it('a closed coordinator is found among the causes', async () => {
  const kit = await Kit.open();
  await kit.coordinator.close();
  const error = await thrownBy(kit.controller.checkpointWorkspace());
  expect(findCause(error, CoordinatorClosedError)).toBeDefined();
});

interface ErrorClass {
  readonly code: SessionErrorCode;
  is(value: unknown): boolean;
}

/** Everything in the chain of causes. */
function causes(error: unknown): unknown[] {
  if (error === undefined || error === null) return [];
  const inner = error instanceof AggregateError ? error.errors.flatMap(causes) : [];
  return [error, ...inner, ...causes((error as { cause?: unknown }).cause)];
}

async function copyOf(from: Kit, to: Kit, ref: Ref): Promise<Ref> {
  const copy = path.join(from.place, 'copy-of-ref');
  await from.store.materialize(ref, copy);
  return (await to.store.snapshot(copy)).ref;
}
