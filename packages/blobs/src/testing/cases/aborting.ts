import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { chunked, collect, freshBytes, pausing, reached, started } from '../content.js';
import { holds, lacks, rejectsWithReason } from '../expectations.js';
import { type BlobsHarness, openFresh, original } from '../harness.js';

/** An own class, so that nothing can pass by making a similar error of its own. */
class Reason extends Error {
  override readonly name: string = 'Reason';
}

/** Clause 8: abort. */
export const abortingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '8.1',
    name: 'a signal that is already aborted stops every method before any effect',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 1000);
      await store.put('there', bytes);
      for (const reason of [new Reason('enough'), 'a string', undefined]) {
        const controller = new AbortController();
        controller.abort(reason);
        const { signal } = controller;
        const rule = 'an aborted signal must stop the call before any effect';
        await rejectsWithReason(store.put('new', bytes, { signal }), signal.reason, `put: ${rule}`);
        await rejectsWithReason(store.get('there', { signal }), signal.reason, `get: ${rule}`);
        await rejectsWithReason(store.getBytes('there', { signal }), signal.reason, `getBytes: ${rule}`);
        await rejectsWithReason(store.get('missing', { signal }), signal.reason, `get: ${rule}`);
        await rejectsWithReason(store.stat('there', { signal }), signal.reason, `stat: ${rule}`);
        await rejectsWithReason(store.list('', { signal }).next(), signal.reason, `list: ${rule}`);
        await rejectsWithReason(store.delete('there', { signal }), signal.reason, `delete: ${rule}`);
      }
      await lacks(store, 'new', 'an aborted put stores nothing');
      await holds(store, 'there', bytes, 'an aborted delete removes nothing');
    },
  },
  {
    clause: '8.2',
    name: 'an abort at the first chunk, in the middle and at the last chunk of a put leaves nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 100_000);
      for (const before of [0, 50_000, bytes.length]) {
        const controller = new AbortController();
        const reason = new Reason(`after ${before} bytes`);
        const source = pausing(bytes, before);
        const put = started(store.put('aborted', source, { signal: controller.signal }));
        await reached(source, put);
        controller.abort(reason);
        const rule = `an abort after ${before} of ${bytes.length} bytes must stop the put and leave nothing visible`;
        // The source never goes on: waiting for it would be a put that cannot be stopped.
        await rejectsWithReason(put, reason, rule);
        await lacks(store, 'aborted', rule);
        source.resume();
      }
      await store.put('aborted', bytes);
      await holds(store, 'aborted', bytes, 'the key of an aborted put must stay free');
    },
  },
  {
    clause: '8.3',
    name: 'an abort between two chunks of a put stops it at the next one',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 60_000);
      const controller = new AbortController();
      const reason = new Reason('between chunks');
      let opened = 0;
      let returned = 0;
      const source = {
        size: bytes.length,
        open: async function* () {
          opened += 1;
          try {
            for (let start = 0; start < bytes.length; start += 1000) {
              if (start === 30_000) controller.abort(reason);
              yield await Promise.resolve(bytes.slice(start, start + 1000));
            }
          } finally {
            returned += 1;
          }
        },
      };
      const put = store.put('stopped', source, { signal: controller.signal });
      await rejectsWithReason(put, reason, 'an abort during a put must reject with the reason');
      await lacks(store, 'stopped', 'an aborted put leaves nothing visible');
      assert.equal(returned, opened, 'an aborted put must close its source');
    },
  },
  {
    clause: '8.4',
    name: 'an abort before the first, before a later and before the last chunk stops a read and frees it',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 300_000);
      await store.put('read', bytes);
      const chunks = (await collect(await store.get('read'))).length;
      const before = await harness.held?.(original(store));
      for (const position of new Set([0, 1, chunks - 1])) {
        const controller = new AbortController();
        const reason = new Reason(`at chunk ${position}`);
        const iterator = (await store.get('read', { signal: controller.signal }))[Symbol.asyncIterator]();
        for (let i = 0; i < position; i += 1) await iterator.next();
        controller.abort(reason);
        await rejectsWithReason(
          iterator.next(),
          reason,
          `an abort before chunk ${position} must reject the read, not end it as if the object were shorter`,
        );
        assert.deepEqual(
          await iterator.next(),
          { done: true, value: undefined },
          'a stopped read stays stopped',
        );
      }
      assert.equal(
        await harness.held?.(original(store)),
        before,
        'an aborted read must free handles and connections',
      );
    },
  },
  {
    clause: '8.5',
    name: 'an abort before the first, before a later and before the last entry stops a list',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (let i = 0; i < 5; i += 1) await store.put(`k/${i}`, freshBytes(scope.random, 1));
      for (const position of [0, 1, 4]) {
        const controller = new AbortController();
        const reason = new Reason(`at entry ${position}`);
        const iterator = store.list('', { signal: controller.signal });
        for (let i = 0; i < position; i += 1) await iterator.next();
        controller.abort(reason);
        await rejectsWithReason(
          iterator.next(),
          reason,
          `an abort before entry ${position} must reject the list, not end it as if there were no more`,
        );
        assert.deepEqual(
          await iterator.next(),
          { done: true, value: undefined },
          'a stopped list stays stopped',
        );
      }
    },
  },
  {
    clause: '8.6',
    name: 'an abort after a call resolved changes nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const controller = new AbortController();
      const { signal } = controller;
      const bytes = freshBytes(scope.random, 1000);
      await store.put('late', chunked(bytes, 100), { signal });
      await store.put('removed', bytes, { signal });
      await store.delete('removed', { signal });
      controller.abort(new Reason('too late'));
      await holds(store, 'late', bytes, 'an abort after the put resolved must not take the object back');
      await lacks(store, 'removed', 'an abort after the delete resolved must not bring the object back');
    },
  },
  {
    clause: '8.7',
    name: 'the abort of one call leaves others alone',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 100_000);
      const controller = new AbortController();
      const reason = new Reason('only this one');
      const [stopped, other] = [pausing(bytes, 50_000), pausing(bytes, 50_000)];
      const first = started(store.put('twin', stopped, { signal: controller.signal }));
      const second = started(store.put('twin', other));
      await Promise.all([reached(stopped, first), reached(other, second)]);
      controller.abort(reason);
      await rejectsWithReason(first, reason, 'an abort must reject the call that it belongs to');
      other.resume();
      const { created } = await second;
      assert.equal(created, true, 'the abort of one put must not disturb another put of the same key');
      await holds(store, 'twin', bytes, 'the abort of one put must not disturb another put of the same key');
      stopped.resume();
    },
  },
];
