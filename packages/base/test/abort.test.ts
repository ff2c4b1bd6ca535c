import { readFile } from 'node:fs/promises';
import { setTimeout as platformSleep } from 'node:timers/promises';

import { abandonOnAbort, anySignal, onAbort, throwIfAborted, uniformAbort } from '@holdfast/base';
import { describe, expect, test } from 'vitest';

/** Reasons that a caller may choose: not only errors. */
const reasons: readonly unknown[] = [new Error('mine'), 'text', 0, null, { code: 'STOP' }];

async function rejection(promise: Promise<unknown>): Promise<{ reason: unknown }> {
  return await promise.then(
    () => {
      throw new Error('expected a rejection');
    },
    (reason: unknown) => ({ reason }),
  );
}

describe('throwIfAborted', () => {
  test('does nothing without a signal or before the abort', () => {
    throwIfAborted(undefined);
    throwIfAborted(new AbortController().signal);
  });

  test.each(reasons)('throws the reason itself: %s', (reason) => {
    let thrown: unknown = 'nothing';
    try {
      throwIfAborted(AbortSignal.abort(reason));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBe(reason);
  });
});

describe('uniformAbort', () => {
  test('passes results and failures through', async () => {
    const failure = new Error('disk');
    expect(await uniformAbort(undefined, async () => 5)).toBe(5);
    expect(await uniformAbort(new AbortController().signal, async () => 5)).toBe(5);
    expect(await rejection(uniformAbort(undefined, async () => Promise.reject(failure)))).toEqual({
      reason: failure,
    });
  });

  test('does not start an operation whose signal is already aborted', async () => {
    let started = false;
    const reason = new Error('before');
    const result = await rejection(
      uniformAbort(AbortSignal.abort(reason), async () => {
        started = true;
      }),
    );
    expect(result.reason).toBe(reason);
    expect(started).toBe(false);
  });

  test.each(reasons)('turns the platform abort of timers into the reason: %s', async (reason) => {
    const controller = new AbortController();
    const operation = uniformAbort(controller.signal, () =>
      platformSleep(60_000, undefined, { signal: controller.signal }),
    );
    controller.abort(reason);
    expect((await rejection(operation)).reason).toBe(reason);
  });

  test('turns the platform abort of the file system into the reason', async () => {
    const controller = new AbortController();
    const reason = { code: 'STOP' };
    const operation = uniformAbort(controller.signal, () =>
      readFile(new URL(import.meta.url), { signal: controller.signal }),
    );
    controller.abort(reason);
    expect((await rejection(operation)).reason).toBe(reason);
  });

  test('turns an abort error that only its name tells, as fetch throws it, into the reason', async () => {
    const controller = new AbortController();
    const reason = new Error('mine');
    const operation = uniformAbort(controller.signal, async () => {
      controller.abort(reason);
      throw new DOMException('This operation was aborted', 'AbortError');
    });
    expect((await rejection(operation)).reason).toBe(reason);
  });

  test('keeps an unrelated failure that meets an abort', async () => {
    const controller = new AbortController();
    const failure = new Error('disk full');
    const operation = uniformAbort(controller.signal, async () => {
      controller.abort(new Error('late'));
      throw failure;
    });
    expect((await rejection(operation)).reason).toBe(failure);
  });

  test('keeps an abort error that belongs to another signal', async () => {
    const foreign = new DOMException('other', 'AbortError');
    const operation = uniformAbort(new AbortController().signal, async () => Promise.reject(foreign));
    expect((await rejection(operation)).reason).toBe(foreign);
  });

  test.each(['text', 7, null])('keeps a failure that is no object: %s', async (failure) => {
    const controller = new AbortController();
    const operation = uniformAbort(controller.signal, async () => {
      controller.abort(new Error('late'));
      throw failure;
    });
    expect((await rejection(operation)).reason).toBe(failure);
  });
});

describe('onAbort', () => {
  test('calls once with the reason', () => {
    const controller = new AbortController();
    const seen: unknown[] = [];
    onAbort(controller.signal, (reason) => seen.push(reason));
    controller.abort('r');
    controller.abort('again');
    expect(seen).toEqual(['r']);
  });

  test('calls at once when already aborted, and disposing is harmless', () => {
    const seen: unknown[] = [];
    onAbort(AbortSignal.abort('r'), (reason) => seen.push(reason))[Symbol.dispose]();
    expect(seen).toEqual(['r']);
  });

  test('stops listening when disposed', () => {
    const controller = new AbortController();
    let calls = 0;
    const subscription = onAbort(controller.signal, () => {
      calls += 1;
    });
    subscription[Symbol.dispose]();
    subscription[Symbol.dispose]();
    controller.abort();
    expect(calls).toBe(0);
  });

  test('accepts an absent signal', () => {
    onAbort(undefined, () => {
      throw new Error('never');
    })[Symbol.dispose]();
  });
});

describe('abandonOnAbort', () => {
  test('gives the result or the failure when they are first', async () => {
    const controller = new AbortController();
    const failure = new Error('x');
    expect(await abandonOnAbort(controller.signal, Promise.resolve(1))).toBe(1);
    expect(await abandonOnAbort(undefined, Promise.resolve(2))).toBe(2);
    expect((await rejection(abandonOnAbort(controller.signal, Promise.reject(failure)))).reason).toBe(
      failure,
    );
  });

  test('rejects with the reason while the work goes on', async () => {
    const controller = new AbortController();
    let finish: (value: number) => void = () => undefined;
    const work = new Promise<number>((resolve) => {
      finish = resolve;
    });
    const waiting = abandonOnAbort(controller.signal, work);
    controller.abort('enough');
    expect((await rejection(waiting)).reason).toBe('enough');
    finish(3);
    expect(await work).toBe(3);
  });

  test('does not leave a failure of abandoned work unhandled', async () => {
    // The runner fails on unhandled rejections, so getting through is the assertion.
    const waiting = abandonOnAbort(AbortSignal.abort('r'), Promise.reject(new Error('later')));
    expect((await rejection(waiting)).reason).toBe('r');
  });
});

describe('anySignal', () => {
  test('gives undefined for none and the signal itself for one', () => {
    const { signal } = new AbortController();
    expect(anySignal()).toBeUndefined();
    expect(anySignal(undefined, undefined)).toBeUndefined();
    expect(anySignal(undefined, signal, undefined)).toBe(signal);
  });

  test('aborts with the reason of the first', () => {
    const first = new AbortController();
    const second = new AbortController();
    const joined = anySignal(first.signal, undefined, second.signal);
    second.abort('two');
    first.abort('one');
    expect(joined?.aborted).toBe(true);
    expect(joined?.reason).toBe('two');
  });
});
