import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { BlobConflictError } from '../../errors.js';
import { chunked, collect, freshBytes, pausing, reached, reusing, started } from '../content.js';
import { holds, lacks } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh } from '../harness.js';

/** Clauses 2.11 to 2.17: how bytes come in, and several puts at once. */
export const feedingCases: readonly CaseDefinition<BlobsHarness>[] = [
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
