import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { BlobNotFoundError } from '../../errors.js';
import { collect, freshBytes } from '../content.js';
import { refuses } from '../expectations.js';
import { type BlobsHarness, openAgain, openFresh } from '../harness.js';

/** Clauses 4 and 5: stat and list. */
export const lookingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '4.1',
    name: 'stat gives size and time of what is there and undefined for what is not',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (const size of [0, 1, 70_000]) {
        await store.put(`sized/${size}`, freshBytes(scope.random, size));
        const info = await store.stat(`sized/${size}`);
        assert.equal(info?.size, size, 'stat must give the size in bytes');
        const modified = info?.modified ?? Number.NaN;
        assert.ok(
          Number.isFinite(modified) && modified >= 0,
          'stat must give a time in milliseconds since 1970',
        );
      }
      assert.equal(await store.stat('missing'), undefined, 'stat of an absent key must be undefined');
    },
  },
  {
    clause: '4.2',
    name: 'a key that only begins other keys is absent',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('dir/sub/leaf', freshBytes(scope.random, 3));
      const rule = 'directories of the backend are not objects';
      for (const key of ['dir', 'dir/sub', 'dir/sub/lea', 'dir/sub/leaf/x']) {
        assert.equal(await store.stat(key), undefined, `${rule}; stat of ${key} must be undefined`);
        await refuses(store.get(key), BlobNotFoundError, `${rule}; get of ${key} must find nothing`);
        await store.delete(key);
      }
      assert.ok(
        (await store.stat('dir/sub/leaf')) !== undefined,
        'delete of such a key must not remove what is below',
      );
    },
  },
  {
    clause: '4.3',
    name: 'stat, list and get agree on size and time, in every view',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const other = await openAgain(harness, scope, store);
      await store.put('agreed', freshBytes(scope.random, 1234));
      const info = await store.stat('agreed');
      const rule = 'size and time are facts of the object, the same wherever one looks';
      assert.deepEqual(await other.stat('agreed'), info, `${rule}; two views differ`);
      const [entry] = await collect(other.list('agreed'));
      assert.deepEqual(
        { size: entry?.size, modified: entry?.modified },
        info,
        `${rule}; list and stat differ`,
      );
      await using reader = await other.get('agreed');
      assert.equal(reader.size, info?.size, `${rule}; get and stat differ`);
    },
  },
  {
    clause: '5.1',
    name: 'list is sorted by the bytes of the keys, without duplicates',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const keys = [
        'a',
        'a-',
        'a-b',
        'a.',
        'a.b',
        'a/b',
        'a/b-c',
        'a/b/c',
        'a/b0',
        'a0',
        'a_',
        'ab',
        'b',
        'b/a',
        '0',
      ];
      for (const key of shuffled(keys, (bound) => scope.random.below(bound))) {
        await store.put(key, freshBytes(scope.random, 1));
      }
      const listed = (await collect(store.list())).map((entry) => entry.key);
      assert.deepEqual(
        listed,
        [...keys].sort(),
        'list must sort whole keys by their bytes ("-" < "." < "/" < digits < "_" < letters), not by path segment',
      );
    },
  },
  {
    clause: '5.2',
    name: 'the prefix of a list is plain text, not a directory',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const keys = ['a', 'a-b', 'a/b', 'a/b.c', 'a/bc/d', 'a_b', 'ab', 'ab/c', 'b'];
      for (const key of keys) await store.put(key, freshBytes(scope.random, 1));
      for (const prefix of [
        '',
        'a',
        'a-',
        'a/',
        'a/b',
        'a/b.',
        'a/bc',
        'a/bc/',
        'a_',
        'ab',
        'ab/',
        'b',
        'b/',
        'c',
        'a/bc/d',
        'a/bc/de',
      ]) {
        const listed = (await collect(store.list(prefix))).map((entry) => entry.key);
        const expected = keys.filter((key) => key.startsWith(prefix));
        assert.deepEqual(
          listed,
          expected,
          `list(${JSON.stringify(prefix)}) must give every key that starts with it`,
        );
      }
    },
  },
  {
    clause: '5.3',
    name: 'a long listing is complete, sorted and free of duplicates',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const count = harness.limits?.manyKeys ?? 300;
      const keys = new Set<string>();
      while (keys.size < count) {
        const group = scope.random.pick(['group', 'group/deep/er', 'g']);
        keys.add(`${group}/${scope.random.below(1_000_000_000).toString(36)}`);
      }
      const all = [...keys];
      for (let start = 0; start < all.length; start += 16) {
        await Promise.all(
          all.slice(start, start + 16).map(async (key) => await store.put(key, Uint8Array.of(1))),
        );
      }
      const listed = (await collect(store.list())).map((entry) => entry.key);
      assert.deepEqual(listed, all.sort(), 'list must page through everything the backend holds');
      const deep = (await collect(store.list('group/deep/'))).map((entry) => entry.key);
      assert.deepEqual(
        deep,
        all.filter((key) => key.startsWith('group/deep/')),
        'a prefixed list must be complete',
      );
    },
  },
  {
    clause: '5.4',
    name: 'an empty store, and one that was emptied, lists nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      assert.deepEqual(await collect(store.list()), [], 'a fresh store must list nothing');
      for (const key of ['a', 'a/b', 'c']) await store.put(key, freshBytes(scope.random, 1));
      for (const key of ['a', 'a/b', 'c']) await store.delete(key);
      assert.deepEqual(
        await collect(store.list()),
        [],
        'a store whose objects were all deleted must list nothing',
      );
      assert.deepEqual(await collect(store.list('a')), [], 'a prefix without objects must list nothing');
    },
  },
  {
    clause: '5.5',
    name: 'a list that is left early ends cleanly, and the next one is complete',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      for (let i = 0; i < 20; i += 1) await store.put(`k/${i}`, freshBytes(scope.random, 1));
      for (let round = 0; round < 10; round += 1) {
        for await (const entry of store.list()) {
          assert.ok(entry.key.startsWith('k/'), 'list must show only what was put');
          break;
        }
        await store.list('k/').return(undefined);
      }
      assert.equal(
        (await collect(store.list())).length,
        20,
        'leaving lists early must not disturb later ones',
      );
    },
  },
  {
    clause: '5.6',
    name: 'objects that stay during a list appear exactly once, whatever is put and deleted meanwhile',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const stable = Array.from({ length: 30 }, (_, i) => `k/${String(i * 10).padStart(4, '0')}`);
      for (const key of stable) await store.put(key, freshBytes(scope.random, 1));
      await store.put('k/0005', freshBytes(scope.random, 1));
      const listed: string[] = [];
      let step = 0;
      for await (const entry of store.list('k/')) {
        listed.push(entry.key);
        await store.put(`k/${String(step * 10 + 1).padStart(4, '0')}`, Uint8Array.of(1));
        await store.put(`k/${String(295 - step).padStart(4, '0')}-late`, Uint8Array.of(1));
        if (step === 0) await store.delete('k/0005');
        step += 1;
        if (step > 200) break;
      }
      const rule = 'a list that runs while others write must show every object that stays, once and in order';
      assert.deepEqual(
        listed.filter((key) => stable.includes(key)),
        stable,
        rule,
      );
    },
  },
];

function shuffled<T>(items: readonly T[], below: (bound: number) => number): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i -= 1) {
    const j = below(i + 1);
    [order[i], order[j]] = [order[j] as T, order[i] as T];
  }
  return order;
}
