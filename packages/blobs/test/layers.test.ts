import { ManualClock, seededRandom } from '@holdfast/base/testing';
import {
  BlobConflictError,
  BlobNotFoundError,
  Blobs,
  BlobsAmbiguousError,
  BlobsBackendError,
  type BlobsDriver,
  isBlobsError,
  memoryBlobs,
} from '@holdfast/blobs';
import {
  type BlobsMetric,
  type Fault,
  type FaultOperation,
  FaultPlan,
  faultKinds,
  faultLayer,
  layerBlobs,
  metricsLayer,
  prefixLayer,
  type RetryEvent,
  type RetryOptions,
  retryLayer,
} from '@holdfast/blobs/layers';
import { chunked, collect, failing, freshBytes } from '@holdfast/blobs/testing';
import { describe, expect, it } from 'vitest';

import { expectBytes } from './support/expect-bytes.js';

import { SpareStorage, spareDriver } from './support/spare-driver.js';

const bytes = freshBytes(seededRandom(7), 100_000);
const thrown = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => undefined,
    (e: unknown) => e,
  );

/** A memory store that fails by plan. */
function faulty(
  faults: readonly Fault[],
  clock?: ManualClock,
): { readonly store: Blobs; readonly plan: FaultPlan; readonly under: Blobs } {
  const under = memoryBlobs();
  const plan = new FaultPlan(faults);
  return { store: layerBlobs(under, [faultLayer(plan, { clock })]), plan, under };
}

/** A driver whose reads, once they were cut, yield nothing at all: no progress that would count. */
function cuttingAtNothing(driver: BlobsDriver, enabled: boolean): BlobsDriver {
  return {
    ...driver,
    contract: 'blobs/1',
    supports: driver.supports,
    storagePaths: () => driver.storagePaths(),
    put: async (key, source, options) => await driver.put(key, source, options),
    get: async (key, options) => {
      const content = await driver.get(key, options);
      return enabled ? { ...content, chunks: (async function* () {})() } : content;
    },
    stat: async (key, options) => await driver.stat(key, options),
    list: (prefix, options) => driver.list(prefix, options),
    delete: async (key, options) => {
      await driver.delete(key, options);
    },
    close: async () => {
      await driver.close();
    },
  };
}

describe('layerBlobs', () => {
  it('closes the store with the view, unless others use it', async () => {
    const store = memoryBlobs();
    const kept = layerBlobs(store, [prefixLayer('a')], { keepOpen: true });
    const owner = layerBlobs(store, [prefixLayer('b')]);
    await kept.put('k', bytes);
    await kept.close();
    expect(await store.stat('a/k')).toBeDefined();
    await owner.close();
    await expect(store.stat('a/k')).rejects.toMatchObject({ code: 'BLOBS_CLOSED' });
  });

  it('ends calls through a view when the store under it is closed', async () => {
    const store = memoryBlobs();
    const view = layerBlobs(store, [prefixLayer('a')]);
    await store.close();
    await expect(view.stat('k')).rejects.toMatchObject({ code: 'BLOBS_CLOSED' });
  });
});

describe('the prefix layer', () => {
  it('keeps stores of one backend apart and lists only its own', async () => {
    const store = memoryBlobs();
    const view = (prefix: string): Blobs => layerBlobs(store, [prefixLayer(prefix)], { keepOpen: true });
    const [one, two] = [view('t/1'), view('t/10')];
    await one.put('k', bytes);
    await two.put('k', bytes.slice(1));
    expect((await collect(store.list())).map((entry) => entry.key)).toEqual(['t/1/k', 't/10/k']);
    expect((await collect(one.list())).map((entry) => entry.key)).toEqual(['k']);
    await one.delete('k');
    expectBytes(await two.getBytes('k'), bytes.slice(1));
  });

  it('refuses an illegal prefix, and keys that no longer fit', async () => {
    for (const prefix of ['', '/', 'a/', 'A', '..']) expect(() => prefixLayer(prefix)).toThrow('breaks rule');
    const view = layerBlobs(memoryBlobs(), [prefixLayer('p'.repeat(500))]);
    await view.put('k'.repeat(11), bytes);
    await expect(view.put('k'.repeat(12), bytes)).rejects.toMatchObject({
      code: 'BASE_INVALID_NAME',
      rule: 'too-long',
    });
    expect(await collect(view.list('k'.repeat(12)))).toEqual([]);
  });

  it('speaks of the keys that its callers use, whatever fails below', async () => {
    const { store, under } = faulty([
      { operation: 'put', kind: 'denied', occurrence: 2 },
      { operation: 'put', kind: 'lost-reply', occurrence: 3 },
      { operation: 'list', kind: 'broken' },
      { operation: 'read', kind: 'broken' },
    ]);
    const view = layerBlobs(store, [prefixLayer('secret')]);
    await view.put('k', bytes);
    await view.put('k2', new Uint8Array(1)).catch(() => undefined);
    expect(await thrown(view.put('n', bytes))).toMatchObject({
      code: 'BLOBS_AMBIGUOUS',
      key: 'n',
      operation: 'put',
    });
    await under.put('secret/z', bytes);
    const failures = [
      await thrown(view.get('missing')),
      await thrown(view.put('k', bytes.slice(1))),
      await thrown(view.get('k', { range: { start: 0, end: 1e9 } })),
      await thrown(collect(view.list())),
      await thrown(view.getBytes('k')),
      await thrown(view.put('s', failing(bytes, new Error('gone')))),
    ];
    expect(failures.map((error) => (error as { code: string }).code)).toEqual([
      'BLOBS_NOT_FOUND',
      'BLOBS_CONFLICT',
      'BLOBS_RANGE',
      'BLOBS_BACKEND',
      'BLOBS_BACKEND',
      'BLOBS_SOURCE',
    ]);
    for (const error of failures) expect((error as Error).message).not.toContain('secret');
  });
});

describe('the retry layer', () => {
  const retried = (faults: readonly Fault[], options: RetryOptions = {}) => {
    const clock = new ManualClock();
    const events: RetryEvent[] = [];
    const { store, plan, under } = faulty(faults);
    const layer = retryLayer({
      clock,
      random: seededRandom(3),
      onRetry: (event) => events.push(event),
      ...options,
    });
    /** Runs a call while time passes for it. */
    const run = async <T>(call: () => Promise<T>): Promise<T> => {
      let settled = false;
      const result = call().finally(() => {
        settled = true;
      });
      result.catch(() => undefined);
      while (!settled) {
        await clock.advance(1000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return await result;
    };
    return { store: layerBlobs(store, [layer]), plan, under, clock, events, run };
  };

  it('repeats calls that say they may succeed, with growing delays', async () => {
    const busy = (operation: FaultOperation): Fault => ({ operation, kind: 'busy', times: 3 });
    const { store, run, events } = retried((['put', 'get', 'stat', 'list', 'delete'] as const).map(busy));
    expect(await run(async () => await store.put('k', chunked(bytes, 999)))).toEqual({ created: true });
    expectBytes(await run(async () => await store.getBytes('k')), bytes);
    expect(await run(async () => await store.stat('k'))).toMatchObject({ size: bytes.length });
    expect((await run(async () => await collect(store.list()))).map((entry) => entry.key)).toEqual(['k']);
    await run(async () => {
      await store.delete('k');
    });
    expect(events.map((event) => `${event.operation} ${event.attempt}`)).toEqual(
      ['put', 'get', 'stat', 'list', 'delete'].flatMap((name) =>
        [1, 2, 3].map((attempt) => `${name} ${attempt}`),
      ),
    );
    for (const [index, event] of events.entries()) {
      const full = 100 * 2 ** (index % 3);
      expect(event.delayMilliseconds).toBeGreaterThan(full / 2);
      expect(event.delayMilliseconds).toBeLessThanOrEqual(full);
    }
  });

  it('gives up after its attempts and says that a retry is of no use any more', async () => {
    const { store, run, plan } = retried([{ operation: 'stat', kind: 'busy', times: 'always' }], {
      attempts: 3,
    });
    const error = await run(async () => await thrown(store.stat('k')));
    expect(BlobsBackendError.is(error)).toBe(true);
    expect(error).toMatchObject({ retryable: false, cause: new Error('injected fault: busy stat') });
    expect(plan.fired).toHaveLength(3);
  });

  it('does not repeat what cannot succeed', async () => {
    const { store, run, plan, events } = retried([{ operation: 'put', kind: 'denied', times: 'always' }]);
    await expect(run(async () => await store.put('k', bytes))).rejects.toMatchObject({ retryable: false });
    await expect(run(async () => await store.get('k'))).rejects.toMatchObject({ code: 'BLOBS_NOT_FOUND' });
    await expect(
      run(async () => await store.put('k', failing(bytes, new Error('gone')))),
    ).rejects.toBeDefined();
    expect(plan.fired).toHaveLength(2);
    expect(events).toEqual([]);
  });

  it('settles an unknown outcome by repeating', async () => {
    const { store, run, under } = retried([
      { operation: 'put', kind: 'lost-reply' },
      { operation: 'delete', kind: 'lost-reply' },
    ]);
    await run(async () => await store.put('k', bytes));
    expectBytes(await under.getBytes('k'), bytes);
    await run(async () => {
      await store.delete('k');
    });
    expect(await under.stat('k')).toBe(undefined);
  });

  it('never turns an unknown outcome into a definite failure', async () => {
    const faults: readonly Fault[] = [
      { operation: 'put', kind: 'lost-reply' },
      { operation: 'put', kind: 'denied', occurrence: 2 },
    ];
    const { store, run, under } = retried(faults);
    const error = await run(async () => await thrown(store.put('k', bytes)));
    expect(BlobsAmbiguousError.is(error)).toBe(true);
    expect(error).toMatchObject({ effect: 'unknown', retryable: false });
    expect((error as { cause: AggregateError }).cause.errors).toHaveLength(2);
    expect(await under.stat('k')).toBeDefined();
  });

  it('reports a conflict after an unknown outcome as what it is', async () => {
    const { store, run, under } = retried([{ operation: 'put', kind: 'late', milliseconds: 1e9 }]);
    const put = run(async () => await thrown(store.put('k', bytes)));
    await under.put('k', bytes.slice(1));
    expect(BlobConflictError.is(await put)).toBe(true);
  });

  it('stops waiting when it is aborted: with the reason, or with doubt when a put may have happened', async () => {
    const reason = new Error('enough');
    for (const kind of ['busy', 'lost-reply'] as const) {
      const { store, clock } = retried([{ operation: 'put', kind, times: 'always' }]);
      const controller = new AbortController();
      const put = thrown(store.put('k', bytes, { signal: controller.signal }));
      while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort(reason);
      const error = await put;
      if (kind === 'busy') expect(error).toBe(reason);
      else expect(BlobsAmbiguousError.is(error)).toBe(true);
      expect(clock.pending).toBe(0);
    }
  });

  it('goes on with a broken list after the last entry it handed out', async () => {
    const { store, run, under } = retried([{ operation: 'list', kind: 'broken', times: 2 }]);
    for (const key of ['a', 'b', 'c', 'd']) await under.put(key, bytes);
    const keys = (await run(async () => await collect(store.list()))).map((entry) => entry.key);
    expect(keys).toEqual(['a', 'b', 'c', 'd']);
  });

  it('goes on with a broken read of a key that is told to be immutable, and fails other reads', async () => {
    for (const kind of ['broken', 'cut'] as const) {
      const { store, run, under } = retried([{ operation: 'read', kind, times: 2 }], {
        immutable: (key) => key.startsWith('content/'),
      });
      await under.put('content/k', bytes);
      await under.put('other', bytes);
      expectBytes(await run(async () => await store.getBytes('content/k')), bytes);
      const range = { start: 10_000, end: 90_000 };
      expectBytes(
        await run(async () => await store.getBytes('content/k', { range })),
        bytes.slice(10_000, 90_000),
      );
    }
    const { store, run, under } = retried([{ operation: 'read', kind: 'broken' }]);
    await under.put('other', bytes);
    await expect(run(async () => await store.getBytes('other'))).rejects.toMatchObject({
      code: 'BLOBS_BACKEND',
    });
  });

  it('goes on with a read that a driver ends early without an error, and says so when it keeps ending', async () => {
    for (const times of [2, 'always'] as const) {
      const storage = new SpareStorage();
      const clock = new ManualClock();
      const plan = new FaultPlan([{ operation: 'read', kind: 'cut', times }]);
      const immediate = { now: () => 0, monotonic: () => 0, sleep: async () => await Promise.resolve() };
      const schedule = clock.schedule.bind(clock);
      const retry = retryLayer({ immutable: () => true, clock: { ...immediate, schedule }, attempts: 3 });
      const store = new Blobs(
        retry(cuttingAtNothing(faultLayer(plan)(spareDriver(storage)), times === 'always')),
      );
      await store.put('k', bytes);
      const outcome = await store.getBytes('k').catch((error: unknown) => error);
      if (times === 'always') expect(outcome).toMatchObject({ code: 'BLOBS_INTEGRITY', kind: 'truncated' });
      else expectBytes(outcome as Uint8Array, bytes);
    }
  });

  it('does not go on with an object of another size', async () => {
    for (const size of [bytes.length + 1, bytes.length - 1, 0]) {
      const { store, run, under } = retried([{ operation: 'read', kind: 'broken' }], {
        immutable: () => true,
      });
      await under.put('k', bytes);
      const iterator = (await store.get('k'))[Symbol.asyncIterator]();
      await iterator.next();
      await under.delete('k');
      await under.put('k', new Uint8Array(size));
      const next = run(async () => await iterator.next());
      await expect(next).rejects.toMatchObject({ code: 'BLOBS_INTEGRITY', kind: 'changed' });
    }
  });

  it('refuses a number of attempts that is none', () => {
    expect(() => layerBlobs(memoryBlobs(), [retryLayer({ attempts: 0 })])).toThrow(RangeError);
  });
});

describe('the metrics layer', () => {
  it('tells about every call, what came of it, and how much it moved', async () => {
    const metrics: BlobsMetric[] = [];
    const { store } = faulty([{ operation: 'stat', kind: 'busy' }]);
    const measured = layerBlobs(store, [metricsLayer((metric) => metrics.push(metric))]);
    const reason = new Error('enough');
    await measured.put('k', bytes);
    await thrown(measured.put('k', bytes.slice(1)));
    await measured.getBytes('k', { range: { start: 0, end: 10 } });
    for await (const chunk of await measured.get('k')) if (chunk.length > 0) break;
    await (await measured.get('k')).close();
    await thrown(measured.get('missing'));
    await thrown(measured.stat('k'));
    await collect(measured.list());
    for await (const entry of measured.list('k')) if (entry.key === 'k') break;
    const controller = new AbortController();
    const reader = await measured.get('k', { signal: controller.signal });
    controller.abort(reason);
    await thrown(reader.bytes());
    await measured.delete('k');
    expect(
      metrics.map(({ operation, key, outcome, bytes: count, entries }) => [
        operation,
        key,
        outcome,
        count,
        entries,
      ]),
    ).toEqual([
      ['put', 'k', 'ok', bytes.length, 0],
      ['put', 'k', 'BLOBS_CONFLICT', bytes.length - 1, 0],
      ['get', 'k', 'ok', 10, 0],
      ['get', 'k', 'left', 16_384, 0],
      ['get', 'k', 'left', 0, 0],
      ['get', 'missing', 'BLOBS_NOT_FOUND', 0, 0],
      ['stat', 'k', 'BLOBS_BACKEND', 0, 0],
      ['list', '', 'ok', 0, 1],
      ['list', 'k', 'left', 0, 1],
      ['get', 'k', 'aborted', 0, 0],
      ['delete', 'k', 'ok', 0, 0],
    ]);
    expect(metrics.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it('is not disturbed by a listener that throws', async () => {
    const measured = layerBlobs(memoryBlobs(), [
      metricsLayer(() => {
        throw new Error('the dashboard is down');
      }),
    ]);
    await measured.put('k', bytes);
    expectBytes(await measured.getBytes('k'), bytes);
  });
});

describe('the fault layer', () => {
  const code = async (call: Promise<unknown>): Promise<string> =>
    ((await thrown(call)) as { code?: string } | undefined)?.code ?? 'ok';

  it('does exactly what the plan says, and remembers it', async () => {
    const { store, plan } = faulty([
      { operation: 'put', kind: 'busy', occurrence: 2, keyPrefix: 'a' },
      { operation: 'stat', kind: 'denied', times: 'always', keyPrefix: 'b' },
    ]);
    expect(await code(store.put('a1', bytes))).toBe('ok');
    expect(await code(store.put('b1', bytes))).toBe('ok');
    expect(await code(store.put('a2', bytes))).toBe('BLOBS_BACKEND');
    expect(await code(store.put('a2', bytes))).toBe('ok');
    expect([
      await code(store.stat('a1')),
      await code(store.stat('b1')),
      await code(store.stat('b1')),
    ]).toEqual(['ok', 'BLOBS_BACKEND', 'BLOBS_BACKEND']);
    expect(plan.fired.map(({ fault, key }) => `${fault.kind} ${key}`)).toEqual([
      'busy a2',
      'denied b1',
      'denied b1',
    ]);
  });

  it('refuses a kind that cannot happen to an operation', () => {
    expect(() => new FaultPlan([{ operation: 'stat', kind: 'cut' }])).toThrow(TypeError);
  });

  it('loses replies, writes late, writes twice, drops and overwrites', async () => {
    const clock = new ManualClock();
    const { store, under } = faulty(
      [
        { operation: 'put', kind: 'lost-reply', keyPrefix: 'lost' },
        { operation: 'put', kind: 'late', keyPrefix: 'late', milliseconds: 500 },
        { operation: 'put', kind: 'twice', keyPrefix: 'twice' },
        { operation: 'put', kind: 'dropped', keyPrefix: 'dropped' },
        { operation: 'put', kind: 'overwrite', keyPrefix: 'over', occurrence: 2 },
        { operation: 'delete', kind: 'lost-reply', keyPrefix: 'lost' },
        { operation: 'delete', kind: 'late', keyPrefix: 'late', milliseconds: 500 },
        { operation: 'delete', kind: 'twice', keyPrefix: 'twice' },
        { operation: 'delete', kind: 'dropped', keyPrefix: 'over' },
      ],
      clock,
    );
    const settle = async (): Promise<void> => {
      await clock.advance(500);
      for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await code(store.put('lost', bytes))).toBe('BLOBS_AMBIGUOUS');
    expect(await under.stat('lost')).toBeDefined();
    expect(await code(store.put('late', bytes))).toBe('BLOBS_AMBIGUOUS');
    expect(await under.stat('late')).toBe(undefined);
    await settle();
    expectBytes(await under.getBytes('late'), bytes);
    expect(await store.put('twice', bytes)).toEqual({ created: true });
    expect(await store.put('dropped', bytes)).toEqual({ created: true });
    expect(await under.stat('dropped')).toBe(undefined);
    await store.put('over', bytes);
    await store.put('over', bytes.slice(1));
    expectBytes(await under.getBytes('over'), bytes.slice(1));
    expect(await code(store.delete('lost'))).toBe('BLOBS_AMBIGUOUS');
    expect(await under.stat('lost')).toBe(undefined);
    expect(await code(store.delete('late'))).toBe('BLOBS_AMBIGUOUS');
    expect(await under.stat('late')).toBeDefined();
    await settle();
    expect(await under.stat('late')).toBe(undefined);
    await store.delete('twice');
    await store.delete('over');
    expect(await under.stat('over')).toBeDefined();
  });

  it('lets late effects happen before it is closed', async () => {
    const storage = new SpareStorage();
    const plan = new FaultPlan([{ operation: 'put', kind: 'late', milliseconds: 1e9 }]);
    const store = layerBlobs(new Blobs(spareDriver(storage)), [
      faultLayer(plan, { clock: new ManualClock() }),
    ]);
    await thrown(store.put('k', bytes));
    await store.close();
    expect(storage.visible.has('k')).toBe(true);
  });

  it('damages streams and lists', async () => {
    const read = async (kind: Fault['kind']): Promise<string> => {
      const { store, under } = faulty([{ operation: 'read', kind }]);
      await under.put('k', bytes);
      const outcome = await store.getBytes('k').catch((error: unknown) => (error as { code: string }).code);
      return typeof outcome === 'string'
        ? outcome
        : outcome.every((byte, i) => byte === bytes[i])
          ? 'same'
          : 'other';
    };
    expect(await Promise.all((['cut', 'broken', 'flipped', 'doubled'] as const).map(read))).toEqual([
      'BLOBS_INTEGRITY',
      'BLOBS_BACKEND',
      'other',
      'BLOBS_INTEGRITY',
    ]);
    const list = async (kind: Fault['kind']): Promise<string> => {
      const { store, under } = faulty([{ operation: 'list', kind }]);
      for (const key of ['a', 'b', 'c']) await under.put(key, bytes);
      const outcome = await collect(store.list()).catch((error: unknown) => (error as { code: string }).code);
      return typeof outcome === 'string' ? outcome : outcome.map((entry) => entry.key).join('');
    };
    const kinds = ['absent', 'cut', 'broken', 'omitted', 'doubled', 'swapped'] as const;
    expect(await Promise.all(kinds.map(list))).toEqual([
      '',
      'a',
      'BLOBS_BACKEND',
      'ac',
      'BLOBS_BACKEND',
      'BLOBS_BACKEND',
    ]);
  });

  it('hides what is there', async () => {
    const { store, under } = faulty([
      { operation: 'get', kind: 'absent' },
      { operation: 'stat', kind: 'absent' },
    ]);
    await under.put('k', bytes);
    expect(BlobNotFoundError.is(await thrown(store.get('k')))).toBe(true);
    expect(await store.stat('k')).toBe(undefined);
    expect(await store.stat('k')).toBeDefined();
  });

  it('waits by its clock, and for ever when it hangs, until it is aborted', async () => {
    const clock = new ManualClock();
    const { store, under } = faulty(
      [
        { operation: 'stat', kind: 'slow', milliseconds: 50 },
        { operation: 'get', kind: 'throttled', milliseconds: 50 },
        { operation: 'delete', kind: 'hang' },
        { operation: 'read', kind: 'hang' },
      ],
      clock,
    );
    await under.put('k', bytes);
    const slow = store.stat('k');
    const throttled = thrown(store.get('k'));
    while (clock.pending < 2) await Promise.resolve();
    await clock.advance(50);
    expect(await slow).toBeDefined();
    expect(await throttled).toMatchObject({ code: 'BLOBS_BACKEND', retryable: true });
    for (const start of [
      async (signal: AbortSignal): Promise<unknown> => {
        await store.delete('k', { signal });
        return undefined;
      },
      async (signal: AbortSignal): Promise<unknown> => await store.getBytes('k', { signal }),
    ]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const call = thrown(start(controller.signal));
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort(reason);
      expect(await call).toBe(reason);
    }
  });

  /** Kinds with which a backend lies: no store can notice, so the outcome may be wrong without an error. */
  const lies = new Set(['dropped', 'overwrite', 'absent', 'flipped', 'omitted', 'cut list']);
  const plans = Object.entries(faultKinds).flatMap(([operation, kinds]) =>
    kinds.flatMap((kind) =>
      ([1, 2, 'always'] as const).map(
        (when): Fault => ({
          operation: operation as FaultOperation,
          kind,
          milliseconds: 1,
          ...(when === 'always' ? { times: when } : { occurrence: when }),
        }),
      ),
    ),
  );

  it.each(plans)(
    'leads to the right outcome or a typed error: $kind $operation, $occurrence $times',
    async (fault) => {
      const model = new Map<string, Uint8Array>();
      const clock = {
        now: () => 0,
        monotonic: () => 0,
        sleep: async () => await Promise.resolve(),
        schedule: () => ({ [Symbol.dispose]: () => undefined }),
      };
      const under = memoryBlobs();
      const store = layerBlobs(under, [
        faultLayer(new FaultPlan([fault]), { clock }),
        retryLayer({ clock, immutable: () => true, attempts: 3 }),
      ]);
      const lying = lies.has(fault.kind) || lies.has(`${fault.kind} ${fault.operation}`);
      const signal = (): AbortSignal =>
        fault.kind === 'hang' ? AbortSignal.timeout(20) : new AbortController().signal;
      /** The value, or undefined after a failure that is typed (or the abort of a call that hangs). */
      const outcome = async <T>(
        call: (signal: AbortSignal) => Promise<T>,
      ): Promise<{ value: T } | undefined> => {
        const own = signal();
        try {
          return { value: await call(own) };
        } catch (error) {
          expect(isBlobsError(error) || error === own.reason).toBe(true);
          return undefined;
        }
      };
      for (const key of ['a', 'b', 'a', 'c']) {
        const put = await outcome(async (own) => await store.put(key, bytes.slice(0, 3000), { signal: own }));
        if (put !== undefined || (await under.stat(key)) !== undefined) model.set(key, bytes.slice(0, 3000));
      }
      for (const key of model.keys()) {
        const read = await outcome(async (own) => await store.getBytes(key, { signal: own }));
        if (read !== undefined && !lying) expectBytes(read.value, model.get(key) as Uint8Array);
        const info = await outcome(async (own) => await store.stat(key, { signal: own }));
        if (info !== undefined && !lying) expect(info.value?.size).toBe(3000);
      }
      const listed = await outcome(async (own) => await collect(store.list('', { signal: own })));
      if (listed !== undefined && !lying)
        expect(listed.value.map((entry) => entry.key)).toEqual([...model.keys()].sort());
      for (const key of ['a', 'c', 'a']) {
        const removed = await outcome(async (own) => {
          await store.delete(key, { signal: own });
        });
        if (removed !== undefined && !lying) expect(await under.stat(key)).toBe(undefined);
      }
      await store.close();
    },
  );

  it('knows at least fourteen kinds, each of which some operation can meet', () => {
    const kinds = new Set(Object.values(faultKinds).flat());
    expect(kinds.size).toBeGreaterThanOrEqual(14);
  });

  it('meets every operation of a driver', () => {
    const operations = Object.keys(faultKinds).filter((name) => name !== 'read');
    const driver: BlobsDriver = spareDriver(new SpareStorage());
    expect(operations.every((name) => typeof driver[name as keyof BlobsDriver] === 'function')).toBe(true);
  });
});
