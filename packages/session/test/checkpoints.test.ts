import { rmSync } from 'node:fs';

import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { LeaseLostError } from '@holdfast/lease';
import {
  CheckpointError,
  defineLoop,
  SessionFaultedError,
  type SessionNotice,
  type SnapshotPriority,
  type SnapshotTrigger,
  WorkspaceNotConfiguredError,
} from '@holdfast/session';
import { NotDirectoryError, type Ref } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, settle } from './support/kit.js';

const loop = defineLoop({
  name: 'agent',
  turn: async ({ input, step }) => {
    await step(async () => await Promise.resolve(input));
    if (input === 'fail') throw new Error('no more ideas');
    return input;
  },
});

async function failure(promise: Promise<unknown>): Promise<CheckpointError> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!CheckpointError.is(error)) throw error;
  return error;
}

async function turn(kit: Kit, input: string): Promise<void> {
  await (await kit.controller.submit(input)).outcome;
  await settle();
}

const checkpointsOf = async (kit: Kit): Promise<string[]> =>
  (await kit.types())
    .filter((type) => type.startsWith('WorkspaceCheckpointed'))
    .map((type) => type.slice(22));

describe('manual checkpoints', () => {
  it('return the ref that the event names', async () => {
    const kit = await Kit.open();
    const ref = await kit.controller.checkpointWorkspace();
    expect(await kit.bodies('WorkspaceCheckpointed')).toMatchObject([
      { ref, trigger: 'manual', consistency: 'quiescent', stats: { files: 1 }, coverage: { omitted: [] } },
    ]);
    expect(await kit.controller.checkpoints()).toMatchObject([{ ref, trigger: 'manual' }]);
    expect(kit.coordinator.inspect().active).toEqual([]);
  });

  it('that come together each have their own ref, one after another', async () => {
    const kit = await Kit.open();
    const first = kit.controller.checkpointWorkspace();
    const second = kit.controller.checkpointWorkspace();
    kit.snapshots.before = () => {
      kit.snapshots.before = undefined;
    };
    const refs = await Promise.all([first, second]);
    expect(new Set(refs).size).toBe(1);
    expect(await checkpointsOf(kit)).toEqual(['manual', 'manual']);
  });

  it('are refused while a turn runs', async () => {
    const held = barrier();
    const kit = await Kit.open({
      loops: [defineLoop({ name: 'busy', turn: async () => await held.wait() })],
    });
    const { outcome } = await kit.controller.submit(null);
    await held.reached;
    expect(await failure(kit.controller.checkpointWorkspace())).toMatchObject({ kind: 'not-idle' });
    held.open();
    await outcome;
    await settle();
    await kit.controller.checkpointWorkspace();
    expect(await kit.types()).not.toContain('WorkspaceCheckpointFailed:manual');
  });

  it('are refused when a turn began while they waited', async () => {
    const held = barrier();
    const busy = barrier();
    const kit = await Kit.open({
      loops: [defineLoop({ name: 'busy', turn: async () => await busy.wait() })],
    });
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await held.wait();
    };
    const first = kit.controller.checkpointWorkspace();
    await held.reached;
    const { outcome } = await kit.controller.submit(null);
    await settle();
    const second = failure(kit.controller.checkpointWorkspace());
    held.open();
    await first;
    expect(await second).toMatchObject({ kind: 'not-idle' });
    busy.open();
    await outcome;
  });

  it('are refused after the shutdown began, and in a terminal fault', async () => {
    const kit = await Kit.open();
    kit.loseSessionLease();
    const faulted = await failure(kit.controller.checkpointWorkspace());
    expect(faulted).toMatchObject({ kind: 'faulted' });
    expect(findCause(faulted, SessionFaultedError)).toBeDefined();
    await kit.controller.shutdown().catch(() => undefined);
    expect(await failure(kit.controller.checkpointWorkspace())).toMatchObject({ kind: 'unavailable' });
  });

  it('reject with the reason of the caller, before and during, and leave no event', async () => {
    const kit = await Kit.open();
    const before = new Error('before');
    await expect(kit.controller.checkpointWorkspace({ signal: AbortSignal.abort(before) })).rejects.toBe(
      before,
    );
    const controller = new AbortController();
    const during = new Error('during');
    kit.snapshots.before = () => {
      controller.abort(during);
    };
    await expect(kit.controller.checkpointWorkspace({ signal: controller.signal })).rejects.toBe(during);
    expect(await kit.types()).toEqual(['SessionStarted']);
    expect(kit.coordinator.inspect().active).toEqual([]);
  });

  it('time out', async () => {
    const clock = new ManualClock();
    const kit = await Kit.open({ clock, policy: { timeout: 500 } });
    const permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
    const waiting = failure(kit.controller.checkpointWorkspace());
    await settle();
    await clock.advance(499);
    expect(kit.coordinator.inspect().queued).toHaveLength(1);
    await clock.advance(1);
    expect(await waiting).toMatchObject({ kind: 'timeout' });
    expect(await kit.types()).toContain('WorkspaceCheckpointFailed:manual');
    permit.release();
  });

  it('fail with the cause when the tree cannot be captured', async () => {
    const kit = await Kit.open();
    rmSync(kit.root, { recursive: true });
    const error = await failure(kit.controller.checkpointWorkspace());
    expect(error).toMatchObject({ kind: 'failed' });
    expect(findCause(error, NotDirectoryError)).toBeDefined();
    expect(kit.controller.state().fault).toBeUndefined();
    expect(await kit.bodies('WorkspaceCheckpointFailed')).toMatchObject([
      { trigger: 'manual', error: { code: 'SESSION_CHECKPOINT', kind: 'failed' } },
    ]);
  });

  it('are unavailable when the workspace is closed under them', async () => {
    const kit = await Kit.open();
    await kit.coordinator.close();
    expect(await failure(kit.controller.checkpointWorkspace())).toMatchObject({ kind: 'unavailable' });
  });

  it('fault the session when the event cannot be appended', async () => {
    const kit = await Kit.open();
    const cause = kit.failAppends('WorkspaceCheckpointed');
    const error = await failure(kit.controller.checkpointWorkspace());
    expect(error).toMatchObject({ kind: 'append-failed', effect: 'unknown' });
    expect((error.cause as { cause?: unknown }).cause).toBe(cause);
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'append-failed' });
  });

  it('are cancelled by the loss of the root lease, and write nothing afterwards', async () => {
    const kit = await Kit.open();
    kit.snapshots.before = () => {
      kit.loseRootLease();
    };
    const error = await failure(kit.controller.checkpointWorkspace());
    expect(error).toMatchObject({ kind: 'canceled' });
    expect(findCause(error, LeaseLostError)).toBeDefined();
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'lease-lost' });
    expect(await kit.types()).toEqual(['SessionStarted']);
  });

  it('fail when a lease is found lost at the last look', async () => {
    const kit = await Kit.open();
    kit.loseRootLease({ silently: true });
    const error = await failure(kit.controller.checkpointWorkspace());
    expect(error).toMatchObject({ kind: expect.stringMatching(/failed|canceled/) as string });
    expect(findCause(error, LeaseLostError)).toBeDefined();
    expect(await checkpointsOf(kit)).toEqual([]);
  });

  it('fail when a lease was lost silently while the tree was captured', async () => {
    const kit = await Kit.open();
    kit.snapshots.before = () => {
      kit.loseRootLease({ silently: true });
    };
    const error = await failure(kit.controller.checkpointWorkspace());
    expect(findCause(error, LeaseLostError)).toBeDefined();
    expect(await checkpointsOf(kit)).toEqual([]);
  });

  it('need a workspace', async () => {
    const kit = await Kit.open({ workspace: false });
    const tip = kit.runtime.journal.tip;
    for (const call of [
      () => kit.controller.checkpointWorkspace(),
      () => kit.controller.restoreWorkspace('v1:sha256:0' as Ref),
      () => kit.controller.previewRestore('nonsense' as Ref),
      () => kit.controller.rewindTo('x'),
      () => kit.controller.undo(),
      () => kit.controller.fork(),
    ]) {
      const error = await call().catch((caught: unknown) => caught);
      if (!WorkspaceNotConfiguredError.is(error)) throw error;
      expect(error.sessionId).toBe(kit.id);
    }
    expect(kit.runtime.journal.tip).toBe(tip);
  });
});

describe('the policy', () => {
  const table: [SnapshotTrigger, SnapshotPriority, string, string[]][] = [
    ['manual', 'best-effort', 'go', []],
    ['manual', 'required', 'go', []],
    ['idle', 'best-effort', 'go', ['idle']],
    ['idle', 'required', 'go', ['idle']],
    ['turn-done', 'best-effort', 'go', ['turn-done']],
    ['turn-done', 'required', 'go', ['turn-done']],
    ['turn-done', 'required', 'fail', ['turn-done']],
    ['step-done', 'best-effort', 'go', ['step-done']],
    ['step-done', 'required', 'go', ['step-done']],
  ];
  it.each(table)('%s, %s, turn %j: %j', async (trigger, priority, input, expected) => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger, priority } });
    await turn(kit, input);
    for (let round = 0; round < 50 && (await checkpointsOf(kit)).length < expected.length; round += 1)
      await settle();
    expect(await checkpointsOf(kit)).toEqual(expected);
    const [body] = await kit.bodies('WorkspaceCheckpointed');
    if (body === undefined) return;
    const { event } = body['cause'] as { event: string };
    const wanted = {
      idle: 'SessionIdle',
      'turn-done': input === 'fail' ? 'TurnFailed' : 'TurnDone',
    } as const;
    for await (const entry of kit.controller.events()) {
      if (entry.id === event) expect(entry.type).toBe(wanted[trigger as 'idle'] ?? 'StepDone');
    }
  });

  it('names the interrupted turn in the idle checkpoint after an interruption', async () => {
    const held = barrier();
    const waiting = defineLoop({ name: 'agent', turn: async () => await held.wait() });
    const kit = await Kit.open({ loops: [waiting], policy: { trigger: 'idle', priority: 'required' } });
    const submission = await kit.controller.submit(null);
    await held.reached;
    const interrupted = kit.controller.interrupt();
    held.open();
    await interrupted;
    await settle();
    expect(await checkpointsOf(kit)).toEqual(['interrupt']);
    expect(await kit.bodies('WorkspaceCheckpointed')).toMatchObject([{ cause: { turn: submission.turn } }]);
  });

  it('counts boundaries of applications that run their own loops', async () => {
    const kit = await Kit.open({ policy: { trigger: 'step-done', priority: 'required' } });
    const { event, ref } = await kit.controller.boundary('step-done', { cause: { turn: 'mine', step: 4 } });
    expect(await kit.bodies('StepDone')).toEqual([{ turn: 'mine', loop: 'application', step: 4 }]);
    expect(await kit.bodies('WorkspaceCheckpointed')).toMatchObject([
      { ref, cause: { event: event.id, turn: 'mine' } },
    ]);
    expect((await kit.controller.boundary('turn-done')).ref).toBeUndefined();
    expect((await kit.controller.boundary('idle')).ref).toBeUndefined();
    expect(await kit.types()).toContain('TurnDone');
  });
});

describe('required checkpoints', () => {
  it('are in the journal before the boundary is acknowledged', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done', priority: 'required' } });
    const { outcome } = await kit.controller.submit('go');
    await outcome;
    expect(await checkpointsOf(kit)).toEqual(['turn-done']);
  });

  it('never hide the event that triggered them, and latch a fault that a manual checkpoint takes away', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done', priority: 'required' } });
    const cause = new Error('disk full');
    kit.snapshots.before = () => {
      throw cause;
    };
    const { outcome } = await kit.controller.submit('go');
    expect(await outcome).toMatchObject({ status: 'done' });
    await settle();
    expect(await kit.types()).toEqual(
      expect.arrayContaining(['TurnDone', 'WorkspaceCheckpointFailed:turn-done']),
    );
    expect(kit.controller.state().fault).toMatchObject({ kind: 'recoverable', reason: 'checkpoint-failed' });
    const refused = await kit.controller.submit('more').catch((error: unknown) => error);
    if (!SessionFaultedError.is(refused)) throw refused;
    expect(refused).toMatchObject({ kind: 'recoverable' });
    await expect(kit.controller.restoreWorkspace(`v1:sha256:${'0'.repeat(64)}` as Ref)).rejects.toMatchObject(
      {
        kind: 'faulted',
      },
    );
    expect(await failure(kit.controller.checkpointWorkspace())).toMatchObject({ kind: 'failed' });
    expect(kit.controller.state().fault).toBeDefined();
    kit.snapshots.before = undefined;
    await kit.controller.checkpointWorkspace();
    expect(kit.controller.state().fault).toBeUndefined();
    await turn(kit, 'more');
    expect(await checkpointsOf(kit)).toEqual(['manual', 'turn-done']);
  });

  it('that never get the permit record their trigger all the same', async () => {
    const clock = new ManualClock();
    const kit = await Kit.open({
      clock,
      policy: { trigger: 'turn-done', priority: 'required', timeout: 100 },
    });
    const permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
    const boundary = kit.controller.boundary('turn-done', { cause: { turn: 'mine' } });
    await settle();
    expect(await kit.bodies('TurnDone')).toEqual([]);
    await clock.advance(100);
    expect((await boundary).ref).toBeUndefined();
    expect(await kit.bodies('TurnDone')).toMatchObject([{ turn: 'mine' }]);
    expect(kit.controller.state().fault).toMatchObject({ kind: 'recoverable' });
    permit.release();
  });

  it('keep queued turns and steps from starting while the fault stands', async () => {
    const entered: string[] = [];
    const two = defineLoop({
      name: 'agent',
      turn: async ({ input, step }) => {
        entered.push(input as string);
        await step(async () => await Promise.resolve(null));
        await step(async () => await Promise.resolve(entered.push(`${input as string} second step`)));
      },
    });
    const kit = await Kit.open({ loops: [two], policy: { trigger: 'step-done', priority: 'required' } });
    kit.snapshots.before = () => {
      throw new Error('disk full');
    };
    const first = await kit.controller.submit('one');
    const second = await kit.controller.submit('two');
    const outcome = await first.outcome;
    expect(outcome.status).toBe('failed');
    expect(SessionFaultedError.is((outcome as { error?: unknown }).error)).toBe(true);
    await settle();
    expect(entered).toEqual(['one']);
    kit.snapshots.before = undefined;
    await kit.controller.checkpointWorkspace();
    expect((await second.outcome).status).toBe('done');
    expect(entered).toEqual(['one', 'two', 'two second step']);
  });

  it('wait for model calls and keep new ones out', async () => {
    const call = barrier();
    const order: string[] = [];
    const slow = defineLoop({
      name: 'slow',
      turn: async ({ step }) => {
        await step(async () => {
          await call.wait();
          order.push('model call ends');
        });
        await step(async () => await Promise.resolve(order.push('next model call')));
      },
    });
    const kit = await Kit.open({ loops: [slow], policy: { trigger: 'turn-done', priority: 'required' } });
    const { outcome } = await kit.controller.submit(null);
    await call.reached;
    kit.snapshots.before = () => {
      order.push('snapshot');
    };
    const boundary = kit.controller.boundary('turn-done');
    await settle();
    expect(order).toEqual([]);
    call.open();
    await boundary;
    await outcome;
    expect(order).toEqual(['model call ends', 'snapshot', 'next model call', 'snapshot']);
  });

  it('of the idle session are recorded before the next activity begins', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'idle', priority: 'required' } });
    const held = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await held.wait();
    };
    await (await kit.controller.submit('one')).outcome;
    await held.reached;
    const { outcome } = await kit.controller.submit('two');
    await settle();
    held.open();
    await outcome;
    await settle();
    const order = (await kit.types()).filter((type) => /^Session(Active|Idle)$|Checkpointed/.test(type));
    expect(order.slice(0, 4)).toEqual([
      'SessionActive',
      'SessionIdle',
      'WorkspaceCheckpointed:idle',
      'SessionActive',
    ]);
  });

  it('fail as trigger-append-failed when the trigger cannot be recorded', async () => {
    const kit = await Kit.open({ policy: { trigger: 'turn-done', priority: 'required' } });
    kit.failAppends('TurnDone');
    expect(await failure(kit.controller.boundary('turn-done'))).toMatchObject({
      kind: 'trigger-append-failed',
    });
    expect(kit.controller.state().fault).toMatchObject({ kind: 'terminal', reason: 'append-failed' });
  });
});

describe('best-effort checkpoints', () => {
  it('fail as an event and let the work go on', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done' } });
    kit.snapshots.before = () => {
      throw new Error('disk full');
    };
    await turn(kit, 'go');
    await turn(kit, 'on');
    expect(kit.controller.state().fault).toBeUndefined();
    expect((await kit.types()).filter((type) => type === 'WorkspaceCheckpointFailed:turn-done')).toHaveLength(
      2,
    );
  });

  it('hold a boundary up for at most 200 ms', async () => {
    const clock = new ManualClock();
    const kit = await Kit.open({ loops: [loop], clock, policy: { trigger: 'turn-done' } });
    const permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
    const { outcome } = await kit.controller.submit('go');
    let ended = false;
    const watching = outcome.then(() => {
      ended = true;
    });
    await settle();
    await clock.advance(199);
    await settle();
    expect(ended).toBe(false);
    await clock.advance(1);
    await watching;
    permit.release();
    await settle(200);
    expect(await checkpointsOf(kit)).toEqual(['turn-done']);
  });

  it('give way to a new turn, and the next boundary tries again', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done' } });
    const walking = barrier();
    kit.snapshots.before = async (_root, { signal }) => {
      await new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
        walking.reach();
      });
    };
    await turn(kit, 'one');
    await walking.reached;
    kit.snapshots.before = undefined;
    await turn(kit, 'two');
    await settle(100);
    const types = await kit.types();
    expect(types.filter((type) => type.includes('Checkpoint'))).toEqual([
      'WorkspaceCheckpointFailed:turn-done',
      'WorkspaceCheckpointed:turn-done',
    ]);
    expect(await kit.bodies('WorkspaceCheckpointFailed')).toMatchObject([{ error: { kind: 'canceled' } }]);
    expect(types.filter((type) => type === 'TurnDone')).toHaveLength(2);
  });

  it('give way to somebody who has to wait for the permit', async () => {
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done' } });
    const walking = barrier();
    kit.snapshots.before = async (_root, { signal }) => {
      await new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
        walking.reach();
      });
    };
    await turn(kit, 'one');
    await walking.reached;
    (await kit.coordinator.acquire({ operation: 'whole-mutation' })).release();
    await settle();
    expect(await kit.bodies('WorkspaceCheckpointFailed')).toMatchObject([{ error: { kind: 'canceled' } }]);
  });

  it('do not give way in a shared root', async () => {
    const kit = await Kit.open({ mode: 'shared', loops: [loop], policy: { trigger: 'turn-done' } });
    const walking = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await walking.wait();
    };
    await turn(kit, 'one');
    await walking.reached;
    await turn(kit, 'two');
    walking.open();
    await settle(200);
    expect(await checkpointsOf(kit)).toEqual(['turn-done', 'turn-done']);
    expect(await kit.bodies('WorkspaceCheckpointed')).toMatchObject([
      { consistency: 'fuzzy' },
      { consistency: 'fuzzy' },
    ]);
  });

  it('are not lost when a boundary comes in the moment in which a walk ends', async () => {
    const kit = await Kit.open({ mode: 'shared', policy: { trigger: 'turn-done' } });
    for (let count = 0; count < 30; count += 1) {
      await kit.controller.boundary('turn-done', { cause: { turn: `t${count}` } });
      for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
    }
    await settle(100);
    const last = (await kit.bodies('WorkspaceCheckpointed')).at(-1);
    expect(last).toMatchObject({ cause: { turn: 't29' } });
  });

  it('do not make a restore that may not wait fail', async () => {
    const kit = await Kit.open({ policy: { trigger: 'turn-done' } });
    const ref = await kit.controller.checkpointWorkspace();
    kit.snapshots.before = async (_root, { signal }) => {
      kit.snapshots.before = undefined;
      await new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    };
    await kit.controller.boundary('turn-done');
    await kit.controller.restoreWorkspace(ref, { drain: 'fail' });
  });

  it('do not hold new input up while the session becomes idle', async () => {
    const clock = new ManualClock();
    const kit = await Kit.open({ loops: [loop], clock, policy: { trigger: 'idle' } });
    const permit = await kit.coordinator.acquire({ operation: 'whole-mutation' });
    await (await kit.controller.submit('one')).outcome;
    await settle();
    const { outcome } = await kit.controller.submit('two');
    expect((await outcome).status).toBe('done');
    permit.release();
    await settle();
    const order = (await kit.types()).filter((type) => /^Session(Active|Idle)$/.test(type));
    expect(order.slice(0, 3)).toEqual(['SessionActive', 'SessionIdle', 'SessionActive']);
  });

  it('keep at most one in line: the latest', async () => {
    const kit = await Kit.open({ mode: 'shared', policy: { trigger: 'turn-done' } });
    const walking = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await walking.wait();
    };
    const first = await kit.controller.boundary('turn-done', { cause: { turn: 'a' } });
    expect(first.ref).toBeUndefined();
    await walking.reached;
    const later = ['b', 'c', 'd'].map((name) =>
      kit.controller.boundary('turn-done', { cause: { turn: name } }),
    );
    await settle();
    walking.open();
    await Promise.all(later);
    await settle(200);
    expect(
      (await kit.bodies('WorkspaceCheckpointed')).map((body) => (body['cause'] as { turn: string }).turn),
    ).toEqual(['a', 'd']);
    expect((await kit.bodies('TurnDone')).map((body) => body['turn'])).toEqual(['a', 'b', 'c', 'd']);
  });
});

it('observers learn what happens, and cannot disturb it', async () => {
  const kit = await Kit.open();
  const notices: SessionNotice[] = [];
  const watching = kit.controller.observe((notice) => {
    notices.push(notice);
    throw new Error('an observer must not matter');
  });
  const ref = await kit.controller.checkpointWorkspace();
  watching[Symbol.dispose]();
  await kit.controller.checkpointWorkspace();
  expect(notices.map(({ type }) => type).filter((type) => type !== 'checkpoint-progress')).toEqual([
    'checkpoint-started',
    'checkpoint-finished',
  ]);
  expect(notices.at(-1)).toMatchObject({ ref, trigger: 'manual', filesRead: 1 });
});
