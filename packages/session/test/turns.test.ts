import { isHoldfastError, type JsonValue } from '@holdfast/base';
import {
  createObservations,
  defineLoop,
  defineTool,
  SessionClosedError,
  SessionFaultedError,
  SessionPointError,
  ToolCallError,
  type TurnOutcome,
} from '@holdfast/session';
import { describe, expect, it } from 'vitest';

import { barrier, Kit, settle } from './support/kit.js';

const echo = defineLoop({ name: 'echo', turn: async ({ input }) => await Promise.resolve(input) });

describe('turns', () => {
  it('run one after another, each with its events', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const submissions = [await kit.controller.submit('one'), await kit.controller.submit({ two: 2 })];
    const outcomes = await Promise.all(submissions.map(({ outcome }) => outcome));
    expect(outcomes).toEqual([
      { status: 'done', turn: submissions[0]?.turn, loop: 'echo', output: 'one' },
      { status: 'done', turn: submissions[1]?.turn, loop: 'echo', output: { two: 2 } },
    ]);
    await settle();
    expect(await kit.types()).toEqual([
      'SessionStarted',
      'LoopStarted',
      'SessionActive',
      'TurnStarted',
      'TurnDone',
      'TurnStarted',
      'TurnDone',
      'LoopIdle',
      'SessionIdle',
    ]);
  });

  it('record their steps in order, with what the loop wants kept', async () => {
    const loop = defineLoop({
      name: 'stepper',
      turn: async ({ step }) => {
        await step(async () => await Promise.resolve(1));
        await step(async () => await Promise.resolve('kept'), { output: (value) => ({ value }) });
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome, turn } = await kit.controller.submit(null);
    expect(await outcome).toMatchObject({ status: 'done', output: undefined });
    expect(await kit.bodies('StepDone')).toEqual([
      { turn, loop: 'stepper', step: 1 },
      { turn, loop: 'stepper', step: 2, output: { value: 'kept' } },
    ]);
  });

  it('fail with the error itself, which the journal shows by code and message', async () => {
    const error = new SessionPointError('x', 'point', 'y', 'no such thing');
    const loop = defineLoop({ name: 'failing', turn: async () => await Promise.reject(error) });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome } = await kit.controller.submit(null);
    const ended = await outcome;
    expect(ended).toMatchObject({ status: 'failed' });
    expect((ended as { error: unknown }).error).toBe(error);
    expect(await kit.bodies('TurnFailed')).toMatchObject([
      { error: { code: 'SESSION_POINT', kind: 'point' } },
    ]);
  });

  it('a failing step has no StepDone and fails the turn unless it is caught', async () => {
    const loop = defineLoop({
      name: 'catching',
      turn: async ({ step }) => {
        await step(async () => await Promise.reject(new Error('model is down'))).catch(() => undefined);
        return 'went on';
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome } = await kit.controller.submit(null);
    expect(await outcome).toMatchObject({ status: 'done', output: 'went on' });
    expect(await kit.bodies('StepDone')).toEqual([]);
  });

  it('that return or publish what is no JSON fail themselves, not the session', async () => {
    const errors: unknown[] = [];
    const loop = defineLoop({
      name: 'careless',
      turn: async ({ publish, step }) => {
        await publish('app.note', { at: new Date() } as never).catch((error: unknown) => errors.push(error));
        await step(async () => await Promise.resolve(1), { output: () => Number.NaN }).catch(
          (error: unknown) => errors.push(error),
        );
        return { big: 10n } as never;
      },
    });
    const kit = await Kit.open({ loops: [loop], policy: { trigger: 'turn-done', priority: 'required' } });
    const outcome = await (await kit.controller.submit('go')).outcome;
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'JOURNAL_EVENT_INVALID' } });
    expect(errors).toMatchObject([{ code: 'JOURNAL_EVENT_INVALID' }, { code: 'JOURNAL_EVENT_INVALID' }]);
    await expect(kit.controller.submit((() => undefined) as never)).rejects.toMatchObject({
      code: 'JOURNAL_EVENT_INVALID',
    });
    await expect(kit.controller.boundary('turn-done', { cause: { turn: 7 as never } })).rejects.toMatchObject(
      {
        code: 'JOURNAL_EVENT_INVALID',
      },
    );
    await settle();
    expect(kit.controller.state()).toMatchObject({ phase: 'idle', fault: undefined });
    expect(await kit.types()).toContain('TurnFailed');
  });

  it('have no steps after their end', async () => {
    let late: (() => Promise<unknown>) | undefined;
    const loop = defineLoop({
      name: 'leaky',
      turn: async ({ step }) => {
        late = async () => await step(async () => await Promise.resolve(1));
        await Promise.resolve();
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    await (await kit.controller.submit(null)).outcome;
    await expect(late?.()).rejects.toThrow(TypeError);
    expect(await kit.bodies('StepDone')).toEqual([]);
  });

  it('are interrupted, and queued input stays queued', async () => {
    const started = barrier();
    const loop = defineLoop({
      name: 'waiting',
      turn: async ({ input, signal }) => {
        if (input !== 'wait') return input;
        await started.wait().then(() => undefined);
        signal.throwIfAborted();
        return undefined;
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    const first = await kit.controller.submit('wait');
    const second = await kit.controller.submit('go on');
    await started.reached;
    expect(kit.controller.state()).toMatchObject({
      phase: 'active',
      loops: [{ loop: 'waiting', turn: first.turn, queued: 1 }],
    });
    const interrupted = kit.controller.interrupt({ reason: 'enough' });
    started.open();
    await interrupted;
    expect(await first.outcome).toMatchObject({ status: 'interrupted', reason: 'enough' });
    expect(await second.outcome).toMatchObject({ status: 'done', output: 'go on' });
    expect(await kit.bodies('TurnInterrupted')).toMatchObject([{ turn: first.turn, reason: 'enough' }]);
  });

  it('an abort ends the wait for an interruption, not the interruption', async () => {
    const held = barrier();
    const loop = defineLoop({ name: 'stubborn', turn: async () => await held.wait() });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome } = await kit.controller.submit(null);
    await held.reached;
    const controller = new AbortController();
    const waiting = kit.controller.interrupt({ signal: controller.signal });
    const reason = new Error('not waiting any longer');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    held.open();
    expect(await outcome).toMatchObject({ status: 'interrupted' });
  });

  it('publish application events', async () => {
    const loop = defineLoop({
      name: 'publisher',
      turn: async ({ publish }) => {
        await publish('app.note', { text: 'hello' });
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    await (await kit.controller.submit(null)).outcome;
    expect(await kit.bodies('app.note')).toEqual([{ text: 'hello' }]);
  });
});

describe('submit', () => {
  it('refuses an unknown loop', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const error = await kit.controller.submit(1, { loop: 'nobody' }).catch((caught: unknown) => caught);
    if (!SessionPointError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'SESSION_POINT', kind: 'loop', wanted: 'nobody' });
    const none = await Kit.open();
    await expect(none.controller.submit(1)).rejects.toMatchObject({ kind: 'loop' });
  });

  it('rejects with the reason of an aborted signal', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const reason = new Error('never mind');
    await expect(kit.controller.submit(1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await kit.bodies('TurnStarted')).toEqual([]);
  });

  it('is refused after the shutdown and while faulted', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const cause = kit.failAppends('TurnStarted');
    const { outcome } = await kit.controller.submit(1);
    expect(await outcome).toMatchObject({ status: 'failed' });
    const error = await kit.controller.submit(2).catch((caught: unknown) => caught);
    if (!SessionFaultedError.is(error)) throw error;
    expect(error).toMatchObject({ kind: 'terminal', reason: 'append-failed' });
    expect((error.cause as { cause?: unknown }).cause).toBe(cause);
    const again = await kit.controller.submit(3).catch((caught: unknown) => caught);
    expect((again as Error).cause).toBe(error.cause);
    await kit.controller.shutdown().catch(() => undefined);
    const closed = await kit.controller.submit(4).catch((caught: unknown) => caught);
    if (!SessionClosedError.is(closed)) throw closed;
    expect(closed.kind).toBe('closed');
  });
});

describe('tools', () => {
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'string' ? { value } : { issues: [{ message: 'expected text' }] },
    },
  };

  it('are bound once for each loop, with the workspace', async () => {
    const bound: unknown[] = [];
    const shout = defineTool({
      name: 'shout',
      description: 'says it louder',
      input: schema,
      requires: { workspace: 'read' },
      bind: ({ loop, workspace }) => {
        bound.push([loop, workspace?.root]);
        return async (text: string) => await Promise.resolve(text.toUpperCase());
      },
    });
    const seen: unknown[] = [];
    const loop = defineLoop({
      name: 'caller',
      tools: [shout],
      turn: async ({ tools }) => {
        seen.push(await tools.shout.call('hello'), tools.shout.description);
        seen.push(await tools.shout.call(7 as never).catch((error: unknown) => error));
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    expect((await (await kit.controller.submit(null)).outcome).status).toBe('done');
    expect(bound).toEqual([['caller', kit.root]]);
    expect(seen.slice(0, 2)).toEqual(['HELLO', 'says it louder']);
    const refused = seen[2];
    if (!ToolCallError.is(refused)) throw refused;
    expect(refused).toMatchObject({ code: 'SESSION_TOOL_CALL', kind: 'input-invalid', tool: 'shout' });
  });

  it('have no workspace in a session without one', async () => {
    let workspace: unknown = 'not bound';
    const tool = defineTool({
      name: 'free',
      bind: (context) => {
        workspace = context.workspace;
        return async () => await Promise.resolve(null);
      },
    });
    await Kit.open({
      workspace: false,
      loops: [defineLoop({ name: 'l', tools: [tool], turn: async () => undefined })],
    });
    expect(workspace).toBeUndefined();
  });

  it('are refused when the session is faulted', async () => {
    const errors: unknown[] = [];
    const tool = defineTool({ name: 'late', bind: () => async () => await Promise.resolve(null) });
    const go = barrier();
    const loop = defineLoop({
      name: 'l',
      tools: [tool],
      turn: async ({ tools }) => {
        await go.wait();
        await tools.late.call(undefined as never).catch((error: unknown) => errors.push(error));
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    const { outcome } = await kit.controller.submit(null);
    await go.reached;
    kit.loseSessionLease();
    go.open();
    await outcome;
    expect(SessionFaultedError.is(errors[0])).toBe(true);
  });
});

describe('delegates', () => {
  it('run a turn of another loop on the same workspace and end with it', async () => {
    const helper = defineLoop({
      name: 'helper',
      turn: async ({ input, step }) => await step(async () => await Promise.resolve([input, 'helped'])),
    });
    const lead = defineLoop({
      name: 'lead',
      turn: async ({ delegate, step }) =>
        await step(async () => {
          const outcome = await delegate('helper', 'please');
          return (outcome as { output: JsonValue }).output;
        }),
    });
    const kit = await Kit.open({ loops: [lead, helper] });
    const { outcome } = await kit.controller.submit(null);
    expect(await outcome).toMatchObject({ status: 'done', output: ['please', 'helped'] });
    expect(await kit.bodies('LoopStarted')).toMatchObject([
      { loop: 'lead' },
      { name: 'helper', parent: 'lead' },
    ]);
    expect(kit.controller.state().loops.map(({ loop }) => loop)).toEqual(['lead']);
  });

  it('take required checkpoints while the parent waits in a step', async () => {
    const helper = defineLoop({
      name: 'helper',
      turn: async ({ step }) => await step(async () => await Promise.resolve('inner')),
    });
    const lead = defineLoop({
      name: 'lead',
      turn: async ({ delegate, step }) => {
        await step(async () => await delegate('helper', null));
      },
    });
    const kit = await Kit.open({
      loops: [lead, helper],
      policy: { trigger: 'step-done', priority: 'required' },
    });
    const { outcome } = await kit.controller.submit(null);
    expect(await outcome).toMatchObject({ status: 'done' });
    expect((await kit.types()).filter((type) => type === 'WorkspaceCheckpointed:step-done')).toHaveLength(2);
  });

  it('are interrupted with their parent', async () => {
    const held = barrier();
    const helper = defineLoop({
      name: 'helper',
      turn: async ({ signal }) => {
        await held.wait();
        signal.throwIfAborted();
      },
    });
    let inner: TurnOutcome | undefined;
    const lead = defineLoop({
      name: 'lead',
      turn: async ({ delegate }) => {
        inner = await delegate('helper', null);
      },
    });
    const kit = await Kit.open({ loops: [lead, helper] });
    const { outcome } = await kit.controller.submit(null);
    await held.reached;
    const interrupted = kit.controller.interrupt({ loop: 'lead' });
    held.open();
    await interrupted;
    expect((await outcome).status).toBe('interrupted');
    expect(inner?.status).toBe('interrupted');
  });

  it('of an unknown name fail the call', async () => {
    let error: unknown;
    const lead = defineLoop({
      name: 'lead',
      turn: async ({ delegate }) => {
        await delegate('nobody', null).catch((caught: unknown) => {
          error = caught;
        });
      },
    });
    const kit = await Kit.open({ loops: [lead] });
    await (await kit.controller.submit(null)).outcome;
    expect(isHoldfastError(error)).toBe(true);
    expect(error).toMatchObject({ kind: 'loop', wanted: 'nobody' });
  });
});

describe('the narrow view', () => {
  it('has the members of a session and no way to the rest', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const { session } = kit.controller;
    expect(Object.keys(session).sort()).toEqual(['events', 'id', 'interrupt', 'state', 'submit']);
    expect(Object.isFrozen(session)).toBe(true);
    expect(Object.getPrototypeOf(session)).toBe(Object.prototype);
  });

  it('is what a turn gets', async () => {
    let given: unknown;
    const loop = defineLoop({
      name: 'l',
      turn: async ({ session }) => {
        given = session;
        await Promise.resolve();
      },
    });
    const kit = await Kit.open({ loops: [loop] });
    await (await kit.controller.submit(null)).outcome;
    expect(given).toBe(kit.controller.session);
  });

  it('follows the events until the session has ended', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of kit.controller.session.events({ follow: true })) seen.push(event.type);
    })();
    await (await kit.controller.submit(1)).outcome;
    await kit.controller.shutdown();
    await following;
    expect(seen[0]).toBe('SessionStarted');
    expect(seen.at(-1)).toBe('SessionStopped');
  });

  it('stops following with the reason of its signal', async () => {
    const kit = await Kit.open({ loops: [echo] });
    const controller = new AbortController();
    const reason = new Error('seen enough');
    const following = (async () => {
      for await (const event of kit.controller.events({ follow: true, signal: controller.signal })) {
        if (event.type === 'LoopStarted') controller.abort(reason);
      }
    })();
    await expect(following).rejects.toBe(reason);
  });
});

it('observations know contents and absences, and forget', () => {
  const observations = createObservations();
  observations.sawContent('a', 'abc');
  observations.sawNothing('b');
  expect([observations.known('a'), observations.known('b'), observations.known('c')]).toEqual([
    { kind: 'content', sha256: 'abc' },
    { kind: 'absent' },
    undefined,
  ]);
  observations.forget('a');
  expect(observations.known('a')).toBeUndefined();
  observations.forgetAll();
  expect(observations.known('b')).toBeUndefined();
});
