import { channel } from 'node:diagnostics_channel';

import { traceSessions } from '@holdfast/otel';
import { noticeChannelName, type SessionNotice } from '@holdfast/session';
import { SpanStatusCode } from '@opentelemetry/api';
import { defineLoop, type Ref, workspaceTools } from 'holdfast';
import { TestWorld } from 'holdfast/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { MemoryTelemetry } from './memory-telemetry.js';

let world: TestWorld;
let telemetry: MemoryTelemetry;
let tracing: Disposable;

beforeEach(async () => {
  world = await TestWorld.open();
  telemetry = new MemoryTelemetry();
  tracing = traceSessions(telemetry);
});

afterEach(async () => {
  tracing[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

async function begin() {
  const writer = defineLoop({
    name: 'writer',
    tools: workspaceTools(),
    turn: async ({ input, turn, step, tools }) =>
      await step(async (signal) => {
        await tools.write.call({ path: `${turn}.txt`, content: input as string }, { signal });
      }),
  });
  const session = await (await world.process()).rig({ loops: [writer] }).newSession();
  const say = async (text: string): Promise<Ref> => {
    await (await session.submit(text)).outcome;
    return (await session.checkpoints()).at(-1)?.ref as Ref;
  };
  return { session, say };
}

describe('sessions as spans and measurements', () => {
  it('a checkpoint is a span with what it did', async () => {
    const { session, say } = await begin();
    const ref = await say('one');
    expect(telemetry.spans).toEqual([
      {
        name: 'holdfast.checkpoint',
        parent: undefined,
        attributes: {
          'holdfast.session': session.id,
          'holdfast.trigger': 'turn-done',
          'holdfast.ref': ref,
          'holdfast.files_read': 1,
          'holdfast.bytes_stored': expect.any(Number) as number,
        },
        events: [],
        status: { code: SpanStatusCode.UNSET },
        ended: true,
      },
    ]);
    expect(telemetry.of('holdfast.checkpoint.duration')).toEqual([
      [expect.any(Number), { 'holdfast.trigger': 'turn-done', 'holdfast.outcome': 'done' }],
    ]);
    expect(telemetry.of('holdfast.checkpoint.stored')[0]?.[0]).toBeGreaterThan(0);
    await session.shutdown();
  });

  it('a restore is a span with its steps, above its safety checkpoint', async () => {
    const { session, say } = await begin();
    const first = await say('one');
    await say('two');
    const receipt = await session.restoreWorkspace(first);
    const restore = telemetry.spans.find(({ name }) => name === 'holdfast.restore');
    expect(restore).toMatchObject({
      attributes: { 'holdfast.restore_id': receipt.restoreId, 'holdfast.ref': first },
      ended: true,
    });
    expect(restore?.events).toContain('commit');
    const safety = telemetry.spans.find(({ attributes }) => attributes['holdfast.trigger'] === 'safety');
    expect(safety).toMatchObject({ parent: 'holdfast.restore', ended: true });
    expect(telemetry.of('holdfast.restore.duration')).toEqual([
      [expect.any(Number), { 'holdfast.outcome': 'done' }],
    ]);
    expect(telemetry.of('holdfast.restore.written')).toEqual([[receipt.bytesWritten, {}]]);
    await session.shutdown();
  });

  it('failures have a status and the code of the error; a fault is counted once', async () => {
    const { session, say } = await begin();
    world.faults.blobs({ operation: 'put', kind: 'denied' });
    await say('one');
    const [failed] = telemetry.spans;
    expect(failed).toMatchObject({ status: { code: SpanStatusCode.ERROR }, ended: true });
    expect(failed?.attributes['error.type']).toMatch(/^[A-Z_]+$/);
    expect(telemetry.of('holdfast.checkpoint.duration')[0]?.[1]).toMatchObject({
      'holdfast.outcome': 'failed',
    });
    expect(telemetry.of('holdfast.session.faults')).toHaveLength(1);

    const ref = await session.checkpointWorkspace();
    world.faults.journal({ operation: 'append', event: 'WorkspaceRestored', kind: 'error' });
    await expect(session.restoreWorkspace(ref)).rejects.toThrow();
    const restore = telemetry.spans.find(({ name }) => name === 'holdfast.restore');
    expect(restore).toMatchObject({
      attributes: { 'holdfast.kind': 'append-failed' },
      status: { code: SpanStatusCode.ERROR },
      ended: true,
    });
    expect(telemetry.of('holdfast.session.faults')).toHaveLength(2);
    await session.shutdown().catch(() => undefined);
  });

  it('begins and ends with whoever listens', async () => {
    const { session, say } = await begin();
    world.faults.blobs({ operation: 'put', kind: 'slow', milliseconds: 1_000 });
    const submitted = await session.submit('slow');
    await expect.poll(() => telemetry.spans.length).toBe(1);
    expect(telemetry.spans[0]?.ended).toBe(false);
    tracing[Symbol.dispose]();
    expect(telemetry.spans[0]?.ended).toBe(true);
    await expect.poll(() => world.faults.pending).toBe(0);
    await world.clock.advance(1_000);
    await submitted.outcome;
    await say('two');
    expect(telemetry.spans).toHaveLength(1);

    // What began before somebody listened ends without a span.
    const later = new MemoryTelemetry();
    using _tracing = traceSessions(later);
    await say('three');
    expect(later.spans).toHaveLength(1);
    await session.shutdown();
  });

  it('measures the maintenance of the store, whatever came of it', () => {
    const told = channel(noticeChannelName);
    const notices: SessionNotice[] = [
      { type: 'maintenance-finished', merged: 2, rebased: 1, durationMs: 1_500 },
      { type: 'maintenance-failed', error: { message: 'no space' }, durationMs: 500 },
    ];
    for (const notice of notices) told.publish({ sessionId: 'some-session', notice });
    expect(telemetry.of('holdfast.maintenance.duration')).toEqual([
      [1.5, { 'holdfast.outcome': 'done' }],
      [0.5, { 'holdfast.outcome': 'failed' }],
    ]);
  });

  it('does nothing without a provider', async () => {
    using _tracing = traceSessions();
    const { session, say } = await begin();
    await say('one');
    await session.shutdown();
  });
});
