import { equalBytes } from '@holdfast/base';
import { ManualClock } from '@holdfast/base/testing';
import { type Blobs, MemoryBlobStorage, memoryBlobs } from '@holdfast/blobs';
import {
  cacheLayer,
  FaultPlan,
  faultLayer,
  layerBlobs,
  prefixLayer,
  retryLayer,
} from '@holdfast/blobs/layers';
import { collect } from '@holdfast/blobs/testing';
import { ModelFileSystem } from '@holdfast/durable/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { openModelBlobs } from './support/model-harness.js';

/** What a store is, in one line: a map from keys to bytes that can only be added to and removed from. */
type Model = Map<string, Uint8Array>;

type Step =
  | { readonly do: 'put'; readonly key: string; readonly bytes: Uint8Array; readonly chunk: number }
  | { readonly do: 'get'; readonly key: string; readonly start: number; readonly length: number }
  | { readonly do: 'list'; readonly prefix: string }
  | { readonly do: 'delete' | 'stat'; readonly key: string }
  | { readonly do: 'reopen' };

const segment = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'a_', '0', 'c'.repeat(230));
const key = fc.array(segment, { minLength: 1, maxLength: 2 }).map((parts) => parts.join('/'));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      key,
      bytes: fc.uint8Array({ maxLength: 40 }),
      chunk: fc.integer({ min: 1, max: 50 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('get' as const), key, start: fc.nat(45), length: fc.nat(45) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'stat' as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      prefix: fc.constantFrom('', 'a', 'a/', 'a.', 'b/a', 'ccc'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
);

const code = (error: unknown): string => (error as { code: string }).code;

async function take(store: Blobs, model: Model, next: Exclude<Step, { do: 'reopen' }>): Promise<void> {
  const there = model.get('key' in next ? next.key : '');
  switch (next.do) {
    case 'put': {
      const { bytes, chunk } = next;
      const source = {
        size: bytes.length,
        open: async function* () {
          for (let at = 0; at < bytes.length; at += chunk)
            yield await Promise.resolve(bytes.slice(at, at + chunk));
        },
      };
      const outcome = await store.put(next.key, source).then((result) => result.created, code);
      if (there === undefined) expect(outcome).toBe(true);
      else expect(outcome).toBe(equalBytes(there, bytes) ? false : 'BLOBS_CONFLICT');
      if (there === undefined) model.set(next.key, bytes);
      return;
    }
    case 'get': {
      const range = { start: next.start, end: next.start + next.length };
      const outcome = await store.getBytes(next.key, { range }).catch(code);
      if (there === undefined) expect(outcome).toBe('BLOBS_NOT_FOUND');
      else if (range.end > there.length) expect(outcome).toBe('BLOBS_RANGE');
      else expect(outcome).toEqual(there.slice(range.start, range.end));
      return;
    }
    case 'stat':
      expect((await store.stat(next.key))?.size).toBe(there?.length);
      return;
    case 'delete':
      await store.delete(next.key);
      model.delete(next.key);
      return;
    case 'list': {
      const expected = [...model.keys()].filter((name) => name.startsWith(next.prefix)).sort();
      expect((await collect(store.list(next.prefix))).map((entry) => entry.key)).toEqual(expected);
    }
  }
}

/** Runs random histories against a store and the model; fast-check prints the seed and the shortest failing history. */
async function behavesLikeTheModel(makeOpener: () => () => Promise<Blobs>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const open = makeOpener();
      const model: Model = new Map();
      let store = await open();
      for (const next of steps) {
        if (next.do === 'reopen') {
          await store.close();
          store = await open();
        } else {
          await take(store, model, next);
        }
      }
      await take(store, model, { do: 'list', prefix: '' });
      await store.close();
    }),
    { numRuns },
  );
}

describe('any history of calls', () => {
  it('has the outcomes that a map has, in memory', async () => {
    await behavesLikeTheModel(() => {
      const storage = new MemoryBlobStorage();
      return async () => await Promise.resolve(memoryBlobs({ storage }));
    }, 200);
  });

  it('has the outcomes that a map has, in files', async () => {
    await behavesLikeTheModel(() => {
      const disk = new ModelFileSystem();
      return async () => await openModelBlobs(disk);
    }, 100);
  });

  it('has the outcomes that a map has, through every layer over a store that is often busy', async () => {
    const clock = new ManualClock();
    const moving = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      schedule: clock.schedule.bind(clock),
      sleep: async () => await Promise.resolve(),
    };
    await behavesLikeTheModel(() => {
      const storage = new MemoryBlobStorage();
      const ticking = {
        ...moving,
        now: () => {
          clock.jumpWall(1);
          return clock.now();
        },
      };
      const busy = (['put', 'get', 'stat', 'list', 'delete'] as const).flatMap((operation) =>
        [2, 3, 7, 11].map((occurrence) => ({ operation, kind: 'busy' as const, occurrence })),
      );
      return async () =>
        await Promise.resolve(
          layerBlobs(memoryBlobs({ storage, clock: ticking }), [
            faultLayer(new FaultPlan(busy)),
            retryLayer({ clock: moving, immutable: () => true }),
            cacheLayer({ cache: memoryBlobs(), maxBytes: 300, immutable: () => true, segmentBytes: 7 }),
            prefixLayer('tenant'),
          ]),
        );
    }, 100);
  });
});
