import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { BlobConflictError, isBlobsError } from '../../errors.js';
import { chunked, freshBytes } from '../content.js';
import { holds, lacks } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh } from '../harness.js';

/** Clause 6: delete. */
export const deletingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '6.1',
    name: 'a deleted object is gone from get, stat and list',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (const size of [0, 70_000]) {
        await store.put('gone', freshBytes(scope.random, size));
        await store.delete('gone');
        await lacks(store, 'gone', 'delete must remove the object when it resolves');
      }
    },
  },
  {
    clause: '6.2',
    name: 'deleting what is not there succeeds',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.delete('never');
      await store.put('once', freshBytes(scope.random, 10));
      await store.delete('once');
      await store.delete('once');
      await lacks(store, 'once', 'a repeated delete changes nothing');
    },
  },
  {
    clause: '6.3',
    name: 'delete frees the key for other content',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (let round = 0; round < 3; round += 1) {
        const bytes = freshBytes(scope.random, 1000);
        const { created } = await store.put('reused', bytes);
        assert.equal(created, true, 'put after delete must say created: true');
        await holds(store, 'reused', bytes, 'a freed key must take other content, and show none of the old');
        await store.delete('reused');
      }
    },
  },
  {
    clause: '6.4',
    name: 'delete removes exactly one key',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const keys = ['a', 'a/b', 'a/b/c', 'a-b', 'a.b', 'ab'];
      const bytes = freshBytes(scope.random, 10);
      for (const gone of keys) {
        for (const key of keys) await store.put(key, bytes);
        await store.delete(gone);
        await lacks(store, gone, 'delete must remove the object when it resolves');
        for (const key of keys.filter((other) => other !== gone)) {
          await holds(store, key, bytes, `delete of ${gone} must leave every other key alone`);
        }
      }
    },
  },
  {
    clause: '6.5',
    name: 'deletes at the same time all succeed',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      await store.put('shared', freshBytes(scope.random, 10));
      await Promise.all([store, other, store, other].map(async (view) => await view.delete('shared')));
      await lacks(store, 'shared', 'deletes at the same time leave nothing');
    },
  },
  {
    clause: '6.6',
    name: 'puts and deletes of neighbours at the same time do not disturb each other',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const bytes = freshBytes(scope.random, 5000);
      for (let round = 0; round < 8; round += 1) {
        await store.put('n/x/a', bytes);
        const results = await Promise.allSettled([
          other.delete('n/x/a'),
          store.put('n/x/b', chunked(bytes, 1000)),
          store.put('n/x/c/d', bytes),
          other.delete('n/x/missing'),
        ]);
        for (const result of results) {
          const shown = result.status === 'rejected' ? String(result.reason) : '';
          assert.equal(
            result.status,
            'fulfilled',
            `changes of other keys must not make a call fail: ${shown}`,
          );
        }
        await lacks(other, 'n/x/a', 'a delete must hold whatever else happens');
        await holds(other, 'n/x/b', bytes, 'a put must hold whatever else is deleted');
        await holds(other, 'n/x/c/d', bytes, 'a put must hold whatever else is deleted');
        await other.delete('n/x/b');
        await other.delete('n/x/c/d');
      }
    },
  },
  {
    clause: '6.7',
    name: 'a put and a delete of one key at the same time end as if one came after the other',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      const [one, two] = [freshBytes(scope.random, 5000), freshBytes(scope.random, 6000)];
      for (let round = 0; round < 8; round += 1) {
        await store.put('raced', one);
        const [deleted, put] = await Promise.allSettled([
          other.delete('raced'),
          store.put('raced', chunked(two, 999)),
        ]);
        assert.equal(deleted.status, 'fulfilled', 'a delete must not fail because of a put at the same time');
        if (put.status === 'rejected') {
          const rule = 'a put that raced a delete must succeed or see the old object as a conflict';
          assert.ok(
            isBlobsError(put.reason) && BlobConflictError.is(put.reason),
            `${rule}: ${String(put.reason)}`,
          );
          await lacks(store, 'raced', 'when the put lost, the delete came after it and leaves nothing');
        } else {
          await holds(
            store,
            'raced',
            two,
            'when the put won, the delete came before it: the new object is there',
          );
        }
        await store.delete('raced');
      }
    },
  },
];
