import { findCause } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { LeaseLostError } from '@holdfast/lease';
import { WorkspaceRestoreError } from '@holdfast/restore';
import { defineLoop, FaultLatch, SessionFaultedError, ShutdownError } from '@holdfast/session';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, settle } from './support/kit.js';

describe('shutdown', () => {
  it('stops the loops, records the end, and lets the root go before the session', async () => {
    const held = barrier();
    const loop = defineLoop({
      name: 'agent',
      turn: async ({ signal }) => {
        await held.wait();
        signal.throwIfAborted();
      },
    });
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done', priority: 'required' } });
    const running = await kit.controller.submit('running');
    const queued = await kit.controller.submit('queued');
    await held.reached;
    const shutdown = kit.controller.shutdown();
    expect(kit.controller.state().phase).toBe('closing');
    held.open();
    await shutdown;
    expect(await running.outcome).toMatchObject({
      status: 'interrupted',
      reason: 'the session is shutting down',
    });
    expect(await queued.outcome).toMatchObject({ status: 'interrupted' });
    expect(kit.released).toEqual(['root', 'session']);
    expect(kit.controller.state().phase).toBe('closed');
    expect(kit.leases.holder('workspace-roots/kit')).toBeUndefined();
  });

  it('happens once, whoever calls how often', async () => {
    const kit = await Kit.open();
    const first = kit.controller.shutdown();
    const second = kit.controller.shutdown();
    await Promise.all([first, second, kit.controller[Symbol.asyncDispose]()]);
    expect(kit.released).toEqual(['root', 'session']);
  });

  it('goes on when its caller stops waiting', async () => {
    const held = barrier();
    const kit = await Kit.open({
      loops: [defineLoop({ name: 'agent', turn: async () => await held.wait() })],
    });
    await kit.controller.submit(null);
    await held.reached;
    const controller = new AbortController();
    const waiting = kit.controller.shutdown({ signal: controller.signal });
    const reason = new Error('not waiting');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(kit.released).toEqual([]);
    held.open();
    await kit.controller.shutdown();
    expect(kit.released).toEqual(['root', 'session']);
  });

  it('leaves a phase that does not end behind, and says which', async () => {
    const clock = new ManualClock();
    const held = barrier();
    const kit = await Kit.open({
      clock,
      deadlines: { loops: 1000 },
      loops: [defineLoop({ name: 'stuck', turn: async () => await held.wait() })],
    });
    await kit.controller.submit(null);
    await held.reached;
    const shutdown = kit.controller.shutdown().catch((error: unknown) => error);
    for (let step = 0; step < 10; step += 1) {
      await settle(5);
      await clock.advance(500);
    }
    const error = await shutdown;
    if (!ShutdownError.is(error)) throw error;
    expect(error.phases).toEqual([{ phase: 'loops', kind: 'timeout' }]);
    expect(kit.released).toEqual(['root', 'session']);
    held.open();
  });

  it('reports a failing phase and runs the later ones', async () => {
    const kit = await Kit.open();
    kit.failAppends('SessionStopped');
    const error = await kit.controller.shutdown().catch((caught: unknown) => caught);
    if (!ShutdownError.is(error)) throw error;
    expect(error.phases).toEqual([{ phase: 'journal', kind: 'failed' }]);
    expect(kit.released).toEqual(['root', 'session']);
  });

  it('waits for a process to end', async () => {
    const kit = await Kit.open();
    const process = await kit.coordinator.acquire({ operation: 'lifetime', access: 'broad-write' });
    let ended = false;
    const shutdown = kit.controller.shutdown().then(() => {
      ended = true;
    });
    await settle();
    expect(ended).toBe(false);
    process.release();
    await shutdown;
  });

  it('waits for a restore that runs, which cannot begin to change anything any more', async () => {
    const kit = await Kit.open();
    const ref = await kit.controller.checkpointWorkspace();
    kit.write('a.txt', 'one');
    const held = barrier();
    kit.snapshots.before = async () => {
      kit.snapshots.before = undefined;
      await held.wait();
    };
    const first = kit.controller.restoreWorkspace(ref);
    const second = kit.controller.restoreWorkspace(ref).catch((error: unknown) => error);
    await held.reached;
    const shutdown = kit.controller.shutdown();
    await settle();
    expect(kit.released).toEqual([]);
    held.open();
    await first;
    await shutdown;
    expect(await second).toMatchObject({ kind: 'closing' });
    expect(kit.read('a.txt')).toBe('zero');
    expect(kit.released).toEqual(['root', 'session']);
  });

  it('cancels a restore that takes too long, before its commit', async () => {
    const clock = new ManualClock();
    const kit = await Kit.open({ clock, deadlines: { restore: 1000 } });
    const ref = await kit.controller.checkpointWorkspace();
    kit.write('a.txt', 'one');
    const writer = await kit.coordinator.acquire({ operation: 'whole-mutation' });
    const restoring = kit.controller.restoreWorkspace(ref).catch((error: unknown) => error);
    await settle();
    const shutdown = kit.controller.shutdown().catch((error: unknown) => error);
    await settle();
    await clock.advance(1000);
    const error = await restoring;
    if (!WorkspaceRestoreError.is(error)) throw error;
    expect(error.kind).toBe('canceled');
    writer.release();
    for (let step = 0; step < 5; step += 1) {
      await settle(5);
      await clock.advance(500);
    }
    await shutdown;
    expect(kit.read('a.txt')).toBe('one');
  });
});

describe('the loss of a lease', () => {
  it('is a terminal fault: loops stop, and nothing is written any more', async () => {
    const held = barrier();
    const reasons: unknown[] = [];
    const loop = defineLoop({
      name: 'agent',
      turn: async ({ signal }) => {
        await held.wait();
        reasons.push(signal.aborted);
        signal.throwIfAborted();
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome } = await kit.controller.submit(null);
    await held.reached;
    const tip = kit.runtime.journal.tip;
    kit.loseSessionLease();
    held.open();
    expect(['interrupted', 'failed']).toContain((await outcome).status);
    expect(reasons).toEqual([true]);
    const { fault } = kit.controller.state();
    expect(fault).toMatchObject({ kind: 'terminal', reason: 'lease-lost' });
    expect(findCause(fault?.cause, LeaseLostError)).toBeDefined();
    await kit.controller.shutdown().catch(() => undefined);
    expect(kit.runtime.journal.tip).toBe(tip);
  });

  it('of the root alone faults too', async () => {
    const kit = await Kit.open();
    kit.loseRootLease();
    expect(kit.controller.state().fault).toMatchObject({ reason: 'lease-lost' });
    await kit.controller.shutdown();
  });
});

describe('faults', () => {
  it('the first terminal one wins, and a recoverable one gives way to it', () => {
    const latch = new FaultLatch('s');
    let changes = 0;
    const watching = latch.onChange(() => {
      changes += 1;
    });
    latch.recoverable('checkpoint-failed', 'a');
    latch.recoverable('checkpoint-failed', 'b');
    expect(latch.fault).toMatchObject({ kind: 'recoverable', cause: 'a' });
    expect(latch.refusal('terminal')).toBeUndefined();
    latch.recover();
    expect(latch.fault).toBeUndefined();
    latch.recoverable('checkpoint-failed', 'c');
    latch.terminal('lease-lost', 'd');
    latch.terminal('append-failed', 'e');
    latch.recoverable('checkpoint-failed', 'f');
    latch.recover();
    expect(latch.fault).toMatchObject({ kind: 'terminal', reason: 'lease-lost', cause: 'd' });
    expect(latch.refusal()?.cause).toBe('d');
    expect(SessionFaultedError.is(latch.terminalSignal.reason)).toBe(true);
    expect(changes).toBe(4);
    watching[Symbol.dispose]();
  });
});
