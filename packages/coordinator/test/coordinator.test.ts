import { isHoldfastError } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import {
  type CanonicalPath,
  Coordinator,
  CoordinatorClosedError,
  CoordinatorUnhealthyError,
  InvalidRequestError,
  InvalidScopeError,
  type Permit,
  type PermitRequest,
  PermitUnavailableError,
  parseCanonicalPath,
  tryParseCanonicalPath,
} from '@holdfast/coordinator';
import { describe, expect, it } from 'vitest';

const path = (text: string): CanonicalPath => parseCanonicalPath(text);
const mutation = (text: string): PermitRequest => ({ operation: 'path-mutation', path: path(text) });
const checkpoint: PermitRequest = { operation: 'checkpoint' };
const whole: PermitRequest = { operation: 'whole-mutation' };
const reader: PermitRequest = { operation: 'lifetime', access: 'read-only' };
const broad: PermitRequest = { operation: 'lifetime', access: 'broad-write' };
const scopes = (...texts: string[]): PermitRequest => ({
  operation: 'lifetime',
  access: 'scoped-write',
  scopes: texts.map(path),
});

async function settle(): Promise<void> {
  for (let round = 0; round < 8; round += 1) await Promise.resolve();
}

/** Starts an acquire and lets a test look at what became of it. */
function ask(
  coordinator: Coordinator,
  request: PermitRequest,
  signal?: AbortSignal,
): { permit?: Permit; error?: unknown } {
  const outcome: { permit?: Permit; error?: unknown } = {};
  coordinator.acquire(request, { signal }).then(
    (permit) => {
      outcome.permit = permit;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  return outcome;
}

describe('who excludes whom', () => {
  const rows: [string, PermitRequest, PermitRequest, boolean][] = [
    ['equal paths', mutation('/w/a'), mutation('/w/a'), true],
    ['a directory and what is in it', mutation('/w/a'), mutation('/w/a/b/c'), true],
    ['what is in a directory and the directory', mutation('/w/a/b/c'), mutation('/w/a'), true],
    ['siblings', mutation('/w/a'), mutation('/w/b'), false],
    ['names that share a text prefix', mutation('/w/a'), mutation('/w/ab'), false],
    ['any pair of scopes', scopes('/w/x', '/w/a'), scopes('/w/y', '/w/a/b'), true],
    ['no pair of scopes', scopes('/w/x', '/w/y'), scopes('/w/z', '/w/xy'), false],
    ['a path and the root of everything', mutation('/'), mutation('/w/a'), true],
    ['whole mutation and path', whole, mutation('/w/a'), true],
    ['two whole mutations', whole, whole, true],
    ['checkpoint and path', checkpoint, mutation('/w/a'), true],
    ['checkpoint and scoped lifetime', checkpoint, scopes('/w/a'), true],
    ['checkpoint and broad lifetime', checkpoint, broad, true],
    ['two checkpoints', checkpoint, checkpoint, true],
    ['reader and checkpoint', reader, checkpoint, false],
    ['reader and whole mutation', reader, whole, false],
    ['reader and path', reader, mutation('/w/a'), false],
    ['two readers', reader, reader, false],
  ];
  it.each(rows)('%s', async (_name, one, other, excludes) => {
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const coordinator = new Coordinator();
      const held = await coordinator.acquire(first);
      const outcome = ask(coordinator, second);
      await settle();
      expect(outcome.permit === undefined).toBe(excludes);
      held.release();
      await settle();
      expect(outcome.permit?.held).toBe(true);
    }
  });

  it('lets a request with nested scopes pass its own scopes', async () => {
    const coordinator = new Coordinator();
    const permit = await coordinator.acquire(scopes('/w/a/b', '/w/a', '/w/a'));
    expect(permit.record.scopes).toEqual(['/w/a']);
  });
});

describe('order', () => {
  it('lets nothing that conflicts pass a waiting checkpoint, and lets readers pass', async () => {
    const coordinator = new Coordinator();
    const writer = await coordinator.acquire(mutation('/w/a'));
    const waiting = ask(coordinator, checkpoint);
    const later = ask(coordinator, mutation('/w/b'));
    const passing = ask(coordinator, reader);
    await settle();
    expect([waiting.permit, later.permit]).toEqual([undefined, undefined]);
    expect(passing.permit?.held).toBe(true);
    writer.release();
    await settle();
    expect(waiting.permit?.held).toBe(true);
    expect(later.permit).toBeUndefined();
    waiting.permit?.release();
    await settle();
    expect(later.permit?.held).toBe(true);
  });

  it('serves a global writer while writers keep coming: no starvation', async () => {
    const coordinator = new Coordinator();
    const first = await coordinator.acquire(mutation('/w/0'));
    const global = ask(coordinator, whole);
    const later = Array.from({ length: 200 }, (_, index) => ask(coordinator, mutation(`/w/${index}`)));
    await settle();
    first.release();
    await settle();
    expect(global.permit?.held).toBe(true);
    expect(later.every((outcome) => outcome.permit === undefined)).toBe(true);
    global.permit?.release();
    await settle();
    expect(later.every((outcome) => outcome.permit?.held === true)).toBe(true);
  });

  it('lets a disjoint path pass a blocked one', async () => {
    const coordinator = new Coordinator();
    await coordinator.acquire(mutation('/w/a'));
    const blocked = ask(coordinator, mutation('/w/a/x'));
    const disjoint = ask(coordinator, mutation('/w/b'));
    await settle();
    expect(blocked.permit).toBeUndefined();
    expect(disjoint.permit?.held).toBe(true);
  });
});

describe('release and cancellation', () => {
  it('releases once, whatever is called how often', async () => {
    const coordinator = new Coordinator();
    const first = await coordinator.acquire(whole);
    const second = ask(coordinator, whole);
    const third = ask(coordinator, whole);
    first.release();
    first.release();
    first[Symbol.dispose]();
    await settle();
    expect(first.held).toBe(false);
    expect(second.permit?.held).toBe(true);
    expect(third.permit).toBeUndefined();
  });

  it('rejects with the reason itself when cancelled before, and queues nothing', async () => {
    const coordinator = new Coordinator();
    const reason = new Error('changed my mind');
    await expect(coordinator.acquire(whole, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(coordinator.inspect()).toMatchObject({ active: [], queued: [] });
  });

  it('rejects with the reason itself when cancelled in the queue, and serves the successors', async () => {
    const coordinator = new Coordinator();
    const held = await coordinator.acquire(mutation('/w/a'));
    const controller = new AbortController();
    const cancelled = ask(coordinator, checkpoint, controller.signal);
    const successor = ask(coordinator, mutation('/w/b'));
    await settle();
    expect(successor.permit).toBeUndefined();
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await settle();
    expect(cancelled.error).toBe(reason);
    expect(successor.permit?.held).toBe(true);
    expect(held.held).toBe(true);
  });

  it('lets cancellation win over a grant that happened in the same turn', async () => {
    const coordinator = new Coordinator();
    const held = await coordinator.acquire(whole);
    const controller = new AbortController();
    const raced = ask(coordinator, whole, controller.signal);
    const successor = ask(coordinator, whole);
    await settle();
    const reason = new Error('too late');
    held.release();
    controller.abort(reason);
    await settle();
    expect(raced.permit).toBeUndefined();
    expect(raced.error).toBe(reason);
    expect(successor.permit?.held).toBe(true);
  });

  it('does not end a delivered permit when its signal aborts later', async () => {
    const coordinator = new Coordinator();
    const controller = new AbortController();
    const permit = await coordinator.acquire(whole, { signal: controller.signal });
    controller.abort();
    await settle();
    expect(permit.held).toBe(true);
  });
});

describe('drain', () => {
  it('fails at once with the holders', async () => {
    const coordinator = new Coordinator({ clock: new ManualClock(1000) });
    await coordinator.acquire(mutation('/w/a'), { holder: { loop: 'assistant', toolCall: 'edit-1' } });
    const error = await coordinator.acquire(checkpoint, { drain: 'fail' }).catch((caught: unknown) => caught);
    if (!PermitUnavailableError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'COORDINATOR_UNAVAILABLE', kind: 'busy', operation: 'checkpoint' });
    expect(error.holders).toEqual([
      {
        id: 1,
        state: 'active',
        operation: 'path-mutation',
        scopes: ['/w/a'],
        since: 1000,
        loop: 'assistant',
        toolCall: 'edit-1',
      },
    ]);
    expect(coordinator.inspect().queued).toEqual([]);
  });

  it('gives up after the timeout and leaves no waiter and no timer', async () => {
    const clock = new ManualClock();
    const coordinator = new Coordinator({ clock });
    const held = await coordinator.acquire(whole);
    const waiting = coordinator.acquire(checkpoint, { timeout: 500 }).catch((caught: unknown) => caught);
    const behind = ask(coordinator, mutation('/w/a'));
    await clock.advance(499);
    expect(coordinator.inspect().queued).toHaveLength(2);
    await clock.advance(1);
    expect(await waiting).toMatchObject({ kind: 'timeout', holders: [{ id: 1 }] });
    held.release();
    await settle();
    expect(behind.permit?.held).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('keeps no timer after a grant', async () => {
    const clock = new ManualClock();
    const coordinator = new Coordinator({ clock });
    const held = await coordinator.acquire(whole);
    const waiting = coordinator.acquire(checkpoint, { timeout: 500 });
    held.release();
    const permit = await waiting;
    expect(clock.pending).toBe(0);
    await clock.advance(1000);
    expect(permit.held).toBe(true);
  });
});

describe('process admission', () => {
  it('is suspended by count', async () => {
    const coordinator = new Coordinator();
    const one = coordinator.suspendAdmission({ note: 'restore 1' });
    const two = coordinator.suspendAdmission({ note: 'restore 2' });
    const start = ask(coordinator, reader);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    await settle();
    expect(start.permit).toBeUndefined();
    expect(coordinator.inspect()).toMatchObject({
      queued: [{ waitsFor: 'admission', blockedBy: [] }],
      suspensions: [{ holder: { note: 'restore 2' } }],
    });
    two[Symbol.dispose]();
    await settle();
    expect(start.permit?.held).toBe(true);
  });

  it('leaves admitted processes and mutations alone', async () => {
    const coordinator = new Coordinator();
    const admitted = await coordinator.acquire(reader);
    const suspension = coordinator.suspendAdmission();
    const write = await coordinator.acquire(mutation('/w/a'));
    expect([admitted.held, write.held]).toEqual([true, true]);
    suspension[Symbol.dispose]();
  });

  it('holds back a process that waits in the queue, and frees those behind it', async () => {
    const coordinator = new Coordinator();
    const held = await coordinator.acquire(mutation('/w/a'));
    const process = ask(coordinator, broad);
    const behind = ask(coordinator, mutation('/w/b'));
    await settle();
    expect(behind.permit).toBeUndefined();
    const suspension = coordinator.suspendAdmission();
    await settle();
    expect(behind.permit?.held).toBe(true);
    held.release();
    behind.permit?.release();
    await settle();
    expect(process.permit).toBeUndefined();
    suspension[Symbol.dispose]();
    await settle();
    expect(process.permit?.held).toBe(true);
  });

  it('waits with the signal, and with drain: fail not at all', async () => {
    const coordinator = new Coordinator();
    using _suspension = coordinator.suspendAdmission();
    const controller = new AbortController();
    const start = ask(coordinator, reader, controller.signal);
    await settle();
    const reason = new Error('no longer needed');
    controller.abort(reason);
    await settle();
    expect(start.error).toBe(reason);
    await expect(coordinator.acquire(reader, { drain: 'fail' })).rejects.toMatchObject({
      code: 'COORDINATOR_UNAVAILABLE',
      holders: [],
    });
    expect(coordinator.inspect().queued).toEqual([]);
  });
});

describe('close', () => {
  it('rejects waiters and newcomers, and leaves granted permits to their holders', async () => {
    const coordinator = new Coordinator();
    const held = await coordinator.acquire(whole);
    const waiting = ask(coordinator, mutation('/w/a'));
    const suspension = coordinator.suspendAdmission();
    const admission = ask(coordinator, reader);
    await coordinator.close();
    await coordinator.close();
    await settle();
    expect(CoordinatorClosedError.is(waiting.error)).toBe(true);
    expect(CoordinatorClosedError.is(admission.error)).toBe(true);
    await expect(coordinator.acquire(reader)).rejects.toMatchObject({ code: 'COORDINATOR_CLOSED' });
    expect(held.held).toBe(true);
    const drained = coordinator.drained();
    suspension[Symbol.dispose]();
    held.release();
    await drained;
    expect(coordinator.inspect()).toEqual({ closed: true, active: [], queued: [], suspensions: [] });
  });

  it('stops waiting for the drain with the reason of the signal', async () => {
    const coordinator = new Coordinator();
    const held = await coordinator.acquire(whole);
    const controller = new AbortController();
    const drained = coordinator.drained({ signal: controller.signal });
    const reason = new Error('deadline');
    controller.abort(reason);
    await expect(drained).rejects.toBe(reason);
    held.release();
    await coordinator.drained();
  });
});

describe('health', () => {
  it('passes the answer on, with the cause', async () => {
    const lost = new Error('lease lost');
    let broken = false;
    const coordinator = new Coordinator({
      health: () => {
        if (broken) throw lost;
      },
    });
    await coordinator.healthy();
    broken = true;
    const error = await coordinator.healthy().catch((caught: unknown) => caught);
    if (!CoordinatorUnhealthyError.is(error)) throw error;
    expect(error.cause).toBe(lost);
    await new Coordinator().healthy();
  });

  it('rejects with the reason of an aborted question', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const coordinator = new Coordinator({
      health: async () => {
        controller.abort(reason);
        throw new Error('platform abort');
      },
    });
    await expect(coordinator.healthy({ signal: controller.signal })).rejects.toBe(reason);
    await expect(coordinator.healthy({ signal: controller.signal })).rejects.toBe(reason);
  });
});

describe('refusals', () => {
  const requests: [string, unknown, string][] = [
    ['no operation', {}, 'unknown-operation'],
    ['an unknown operation', { operation: 'format-disk' }, 'unknown-operation'],
    ['a mutation without path', { operation: 'path-mutation' }, 'path-required'],
    ['a checkpoint with path', { operation: 'checkpoint', path: '/w' }, 'path-forbidden'],
    ['a whole mutation with path', { operation: 'whole-mutation', path: '/w' }, 'path-forbidden'],
    [
      'a mutation with access',
      { operation: 'path-mutation', path: '/w', access: 'read-only' },
      'access-forbidden',
    ],
    ['a lifetime without access', { operation: 'lifetime' }, 'unknown-access'],
    ['a lifetime with a wrong access', { operation: 'lifetime', access: 'write' }, 'unknown-access'],
    [
      'a reader with scopes',
      { operation: 'lifetime', access: 'read-only', scopes: ['/w'] },
      'scopes-forbidden',
    ],
    [
      'a scoped lifetime without scopes',
      { operation: 'lifetime', access: 'scoped-write' },
      'scopes-required',
    ],
    [
      'a scoped lifetime with none',
      { operation: 'lifetime', access: 'scoped-write', scopes: [] },
      'scopes-required',
    ],
    ['a lifetime with a path', { operation: 'lifetime', access: 'read-only', path: '/w' }, 'path-forbidden'],
  ];
  it.each(requests)('%s', async (_name, request, kind) => {
    const coordinator = new Coordinator();
    const error = await coordinator.acquire(request as PermitRequest).catch((caught: unknown) => caught);
    if (!InvalidRequestError.is(error)) throw error;
    expect(error).toMatchObject({ code: 'COORDINATOR_INVALID_REQUEST', kind });
    expect(coordinator.inspect()).toMatchObject({ active: [], queued: [] });
  });

  const paths: [unknown, string][] = [
    [42, 'type'],
    ['', 'empty'],
    ['w/a', 'relative'],
    ['./a', 'relative'],
    ['/w//a', 'unclean'],
    ['/w/./a', 'unclean'],
    ['/w/../a', 'unclean'],
    ['/w/', 'unclean'],
    ['//', 'unclean'],
    ['/w/\0', 'nul'],
  ];
  it.each(paths)('scope %j', async (scope, rule) => {
    expect(tryParseCanonicalPath(scope)).toBeUndefined();
    const coordinator = new Coordinator();
    for (const request of [
      { operation: 'path-mutation', path: scope },
      { operation: 'lifetime', access: 'scoped-write', scopes: ['/fine', scope] },
    ]) {
      const error = await coordinator.acquire(request as PermitRequest).catch((caught: unknown) => caught);
      if (!InvalidScopeError.is(error)) throw error;
      expect(error).toMatchObject({ code: 'COORDINATOR_INVALID_SCOPE', rule });
    }
    expect(coordinator.inspect()).toMatchObject({ active: [], queued: [] });
  });

  it('every error is one of ours, with JSON', () => {
    const error = new PermitUnavailableError('busy', 'checkpoint', []);
    expect(isHoldfastError(error)).toBe(true);
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'COORDINATOR_UNAVAILABLE', holders: [] });
  });
});

describe('giving way', () => {
  it('tells a holder, once, that somebody has to wait for it', async () => {
    const coordinator = new Coordinator();
    let told = 0;
    const held = await coordinator.acquire(checkpoint, { onContended: () => (told += 1) });
    await coordinator.acquire(reader);
    expect(told).toBe(0);
    ask(coordinator, mutation('/w/a'));
    ask(coordinator, mutation('/w/b'));
    expect(told).toBe(1);
    held.release();
  });

  it('tells it at the grant when somebody already waits behind it', async () => {
    const coordinator = new Coordinator();
    const first = await coordinator.acquire(mutation('/w/a'));
    let told = 0;
    const waiting = coordinator.acquire(checkpoint, { onContended: () => (told += 1) });
    const behind = ask(coordinator, mutation('/w/b'));
    await settle();
    expect(told).toBe(0);
    first.release();
    (await waiting).release();
    await settle();
    expect(told).toBe(1);
    expect(behind.permit?.held).toBe(true);
  });

  it('says nothing after the release', async () => {
    const coordinator = new Coordinator();
    let told = 0;
    (await coordinator.acquire(checkpoint, { onContended: () => (told += 1) })).release();
    ask(coordinator, whole);
    ask(coordinator, whole);
    await settle();
    expect(told).toBe(0);
  });
});

it('reports every grant', async () => {
  const granted: string[] = [];
  const coordinator = new Coordinator({ onGranted: ({ operation }) => granted.push(operation) });
  const held = await coordinator.acquire(mutation('/w/a'));
  const waiting = coordinator.acquire(whole);
  held.release();
  await waiting;
  expect(granted).toEqual(['path-mutation', 'whole-mutation']);
});

it('inspect tells who waits for whom', async () => {
  const coordinator = new Coordinator({ clock: new ManualClock(5000) });
  await coordinator.acquire(mutation('/w/a'), { holder: { loop: 'one' } });
  ask(coordinator, mutation('/w/a/b'));
  ask(coordinator, checkpoint);
  expect(coordinator.inspect()).toMatchObject({
    closed: false,
    active: [{ id: 1, group: 'scoped-writer', since: 5000, holder: { loop: 'one' } }],
    queued: [
      { id: 2, waitsFor: 'permits', blockedBy: [1] },
      { id: 3, waitsFor: 'permits', blockedBy: [1, 2] },
    ],
  });
});
