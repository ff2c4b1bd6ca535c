import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { BlobConflictError, BlobSourceError } from '../../errors.js';
import {
  chunked,
  collect,
  edgeSizes,
  failing,
  freshBytes,
  largeSize,
  lying,
  pausing,
  reached,
  reusing,
  started,
} from '../content.js';
import { holds, lacks, refuses, same } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh, original } from '../harness.js';

/** Clause 2: put. */
export const puttingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '2.1',
    name: 'a put stores exactly the bytes it was given, at every size at which drivers go wrong',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (const size of edgeSizes) {
        const bytes = freshBytes(scope.random, size);
        const key = `size/${size}`;
        const { created } = await store.put(key, bytes);
        assert.equal(created, true, `put of the new key ${key} must say created: true`);
        await holds(store, key, bytes, `an object of ${size} bytes must come back as it was put`);
      }
    },
  },
  {
    clause: '2.2',
    name: 'a large object streams in and out in pieces',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, largeSize(harness.limits));
      await store.put('large', chunked(bytes, 70_001));
      same(await store.getBytes('large'), bytes, 'get of a large object put from many chunks');
      const chunks = await collect(await store.get('large'));
      assert.ok(chunks.length > 1, 'get must hand out a large object in several chunks, never as one buffer');
    },
  },
  {
    clause: '2.3',
    name: 'putting the same bytes again succeeds without effect',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (const size of [0, 1, 70_000]) {
        const key = `again/${size}`;
        const bytes = freshBytes(scope.random, size);
        await store.put(key, bytes);
        const before = await store.stat(key);
        for (const source of [bytes, chunked(bytes, 999)]) {
          const { created } = await store.put(key, source);
          assert.equal(created, false, 'put of the same bytes again must resolve with created: false');
        }
        assert.deepEqual(
          await store.stat(key),
          before,
          'a repeated put must leave size and time as they were',
        );
        await holds(store, key, bytes, 'a repeated put changes nothing');
      }
    },
  },
  {
    clause: '2.4',
    name: 'putting other bytes under a taken key is a conflict and keeps the original',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 70_000);
      await store.put('taken', bytes);
      await store.put('taken-empty', new Uint8Array());
      const lastByteDiffers = bytes.slice();
      lastByteDiffers[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
      const longer = new Uint8Array(bytes.length + 1);
      longer.set(bytes);
      const rule = 'put under a taken key must compare the whole content and reject with BlobConflictError';
      for (const other of [lastByteDiffers, longer, bytes.slice(0, -1), new Uint8Array()]) {
        for (const source of [other, chunked(other, 16_384)]) {
          const error = await refuses(store.put('taken', source), BlobConflictError, rule);
          assert.equal(error.key, 'taken', 'BlobConflictError must carry the key of the caller');
        }
      }
      await refuses(store.put('taken-empty', bytes), BlobConflictError, rule);
      await holds(store, 'taken', bytes, 'a conflict must keep the original');
      await holds(store, 'taken-empty', new Uint8Array(), 'a conflict must keep the original');
    },
  },
  {
    clause: '2.5',
    name: 'conflicts and repeats are found through another view too',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 1000);
      await store.put('shared', bytes);
      const rule = 'a view must decide by what is stored, not by what it remembers putting';
      await refuses(other.put('shared', freshBytes(scope.random, 1000)), BlobConflictError, rule);
      assert.equal((await other.put('shared', bytes)).created, false, `${rule}; a repeat is created: false`);
      await holds(store, 'shared', bytes, rule);
    },
  },
  {
    clause: '2.6',
    name: 'a source that ends early leaves nothing visible',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 40_000);
      const error = await refuses(
        store.put('short', lying(bytes.length + 1, bytes)),
        BlobSourceError,
        'a source that yields less than it announced must fail the put',
      );
      assert.equal(error.kind, 'too-short', 'the kind of the error must be too-short');
      await lacks(store, 'short', 'a put whose source ended early must leave nothing visible');
      await store.put('short', bytes);
      await holds(store, 'short', bytes, 'the key must stay free after a failed put');
    },
  },
  {
    clause: '2.7',
    name: 'a source that goes on too long leaves nothing visible',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 40_000);
      for (const announced of [bytes.length - 1, 0]) {
        const error = await refuses(
          store.put('long', lying(announced, bytes)),
          BlobSourceError,
          'a source that yields more than it announced must fail the put',
        );
        assert.equal(error.kind, 'too-long', 'the kind of the error must be too-long');
        await lacks(
          store,
          'long',
          'a put whose source went on too long must leave nothing visible, not its beginning',
        );
      }
    },
  },
  {
    clause: '2.8',
    name: 'a source that fails leaves nothing visible and shows its own error as the cause',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const failure = new Error('the disk of the caller is gone');
      const bytes = freshBytes(scope.random, 40_000);
      const error = await refuses(
        store.put('failed', failing(bytes, failure)),
        BlobSourceError,
        'a source that throws must fail the put with BlobSourceError, not look like a failure of the backend',
      );
      assert.equal(error.kind, 'failed', 'the kind of the error must be failed');
      assert.equal(error.cause, failure, "the cause must be the source's own error");
      assert.equal(error.effect, 'none', 'the error must state that nothing took effect');
      await lacks(store, 'failed', 'a put whose source failed must leave nothing visible');
      const broken = {
        size: 3,
        open: () => {
          throw failure;
        },
      };
      const early = await refuses(
        store.put('failed', broken),
        BlobSourceError,
        'open() that throws is a failed source',
      );
      assert.equal(early.cause, failure, "the cause must be the source's own error");
    },
  },
  {
    clause: '2.9',
    name: 'a failing source under a taken key leaves the original',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 40_000);
      await store.put('taken', bytes);
      const put = store.put('taken', failing(bytes, new Error('gone')));
      const error = await put.catch((thrown: unknown) => thrown);
      assert.ok(error !== undefined, 'a put whose source fails must not resolve');
      await holds(store, 'taken', bytes, 'a failed put must never damage the object that is there');
    },
  },
  {
    clause: '2.10',
    name: 'failed and aborted puts leave nothing behind in the storage',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('ballast', freshBytes(scope.random, 10));
      const bytes = freshBytes(scope.random, 40_000);
      const before = await leftovers(harness, store);
      await store.put('x', failing(bytes, new Error('gone'))).catch(() => undefined);
      await store.put('x', lying(bytes.length + 5, bytes)).catch(() => undefined);
      await store.put('x', lying(bytes.length - 5, bytes)).catch(() => undefined);
      const controller = new AbortController();
      const source = pausing(bytes, 20_000);
      const put = started(store.put('x', source, { signal: controller.signal }));
      await reached(source, put);
      controller.abort(new Error('enough'));
      await put.catch(() => undefined);
      assert.equal(
        await leftovers(harness, store),
        before,
        'a put that failed must remove its temporary files or unfinished uploads',
      );
      const keys = (await collect(store.list())).map((entry) => entry.key);
      assert.deepEqual(keys, ['ballast'], 'nothing of a failed put may be listed');
    },
  },
  {
    clause: '2.11',
    name: 'bytes are copied in: changing them after the call changes nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 50_000);
      const kept = bytes.slice();
      const put = started(store.put('copied', bytes));
      bytes.fill(0);
      await put;
      bytes.fill(1);
      await holds(
        store,
        'copied',
        kept,
        'put must copy the bytes before it gives up the thread for the first time',
      );
    },
  },
  {
    clause: '2.12',
    name: 'a source may overwrite its buffer as soon as the next chunk is asked for',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 50_000);
      await store.put('reused', reusing(bytes, 4096));
      await holds(store, 'reused', bytes, 'put must not keep chunks of a source that reuses its buffer');
    },
  },
  {
    clause: '2.13',
    name: 'empty chunks and very many tiny chunks are stored as one object',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 3000);
      const source = {
        size: bytes.length,
        open: async function* () {
          yield await Promise.resolve(new Uint8Array());
          for (let i = 0; i < bytes.length; i += 1) {
            yield bytes.slice(i, i + 1);
            if (i % 100 === 0) yield new Uint8Array();
          }
          yield new Uint8Array();
        },
      };
      await store.put('tiny', source);
      await holds(store, 'tiny', bytes, 'chunk borders of the source must not show in the object');
    },
  },
  {
    clause: '2.14',
    name: 'a put closes its source, however it ends',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      let open = 0;
      const counting = (size: number, yielded: number) => ({
        size,
        open: async function* () {
          open += 1;
          try {
            for (let i = 0; i < yielded; i += 1) yield await Promise.resolve(Uint8Array.of(i));
          } finally {
            open -= 1;
          }
        },
      });
      await store.put('counted', counting(5, 5));
      await store.put('counted', counting(4, 5)).catch(() => undefined);
      await store.put('fresh', counting(4, 5)).catch(() => undefined);
      await store.put('fresh', counting(6, 5)).catch(() => undefined);
      assert.equal(open, 0, 'put must run every source it opened to its end or call return() on it');
    },
  },
  {
    clause: '2.15',
    name: 'identical puts at the same time all succeed, and one of them created the object',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 30_000);
      const puts = [store, other, store, other, store, other].map((view) =>
        view.put('same', chunked(bytes, 7000)),
      );
      const results = await Promise.all(puts);
      const created = results.filter((result) => result.created).length;
      assert.equal(created, 1, 'exactly one of several identical puts must say created: true');
      await holds(store, 'same', bytes, 'identical puts at the same time leave one whole object');
    },
  },
  {
    clause: '2.16',
    name: 'different puts at the same time have exactly one winner',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const contents = Array.from({ length: 6 }, () => freshBytes(scope.random, 30_000));
      const outcomes = await Promise.allSettled(
        contents.map(async (bytes, index) => {
          await (index % 2 === 0 ? store : other).put('contested', chunked(bytes, 7000));
          return bytes;
        }),
      );
      const rule = 'look-and-store must be one atomic step of the backend';
      const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      assert.equal(winners.length, 1, `exactly one of several different puts may succeed: ${rule}`);
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue;
        assert.ok(BlobConflictError.is(outcome.reason), `the losers must get BlobConflictError: ${rule}`);
      }
      const winner = winners[0] as PromiseFulfilledResult<Uint8Array>;
      await holds(other, 'contested', winner.value, `the object must be the winner's: ${rule}`);
    },
  },
  {
    clause: '2.17',
    name: 'nothing of an object is visible before it is complete',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 200_000);
      const source = pausing(bytes, 150_000);
      const put = started(store.put('growing', source));
      await reached(source, put);
      const rule = 'an object must become visible at once and whole, at the end of its put';
      await lacks(store, 'growing', rule);
      await lacks(other, 'growing', rule);
      const keys = (await collect(other.list())).map((entry) => entry.key);
      assert.deepEqual(keys, [], `${rule}; list shows something else that is being written`);
      source.resume();
      await put;
      await holds(other, 'growing', bytes, 'the object must be whole once its put resolved');
    },
  },
];

async function leftovers(harness: BlobsHarness, store: Parameters<typeof original>[0]): Promise<number> {
  return harness.leftovers === undefined ? 0 : await harness.leftovers(original(store));
}
