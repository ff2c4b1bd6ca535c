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
  started,
} from '../content.js';
import { holds, lacks, refuses, same } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh, original } from '../harness.js';

/** Clauses 2.1 to 2.10: what a put stores, refuses and leaves behind. */
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
];

async function leftovers(harness: BlobsHarness, store: Parameters<typeof original>[0]): Promise<number> {
  return harness.leftovers === undefined ? 0 : await harness.leftovers(original(store));
}
