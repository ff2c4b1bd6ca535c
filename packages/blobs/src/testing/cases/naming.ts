import assert from 'node:assert/strict';

import { InvalidNameError } from '@holdfast/base';
import { type CaseDefinition, illegalNames, legalNames } from '@holdfast/base/testing';

import type { BlobSource } from '../../driver.js';
import { collect, freshBytes } from '../content.js';
import { holds, lacks, refuses, refusesName } from '../expectations.js';
import { type BlobsHarness, openFresh } from '../harness.js';

const neighbours = ['a', 'a/b', 'a.ext', 'a.ext/b'] as const;

/** Clause 1: keys. */
export const namingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '1.1',
    name: 'every legal key at the edges of the grammar can hold an object at the same time',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const contents = new Map<string, Uint8Array>();
      for (const key of edgeKeys(harness)) {
        const bytes = freshBytes(scope.random, 20);
        contents.set(key, bytes);
        await store.put(key, bytes);
      }
      const rule = 'each legal key must name an object of its own, whatever other keys exist';
      for (const [key, bytes] of contents) await holds(store, key, bytes, rule);
      const listed = (await collect(store.list())).map((entry) => entry.key);
      assert.deepEqual(listed, [...contents.keys()].sort(), `${rule}; list shows other keys`);
    },
  },
  {
    clause: '1.2',
    name: 'a, a/b, a.ext and a.ext/b live side by side, created and deleted in any order',
    check: async (harness, scope) => {
      for (const order of permutations(neighbours)) {
        const store = await openFresh(harness, scope);
        const rule = `nested and dotted neighbours are independent (created in the order ${order.join(', ')})`;
        for (const key of order) await store.put(key, new TextEncoder().encode(key));
        for (const key of order) await holds(store, key, new TextEncoder().encode(key), rule);
        const [gone, ...rest] = order;
        await store.delete(gone as string);
        await lacks(store, gone as string, rule);
        for (const key of rest) await holds(store, key, new TextEncoder().encode(key), rule);
        await store.close();
      }
    },
  },
  {
    clause: '1.3',
    name: 'an illegal key is refused by every method with the rule that it breaks, and touches nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 3);
      for (const { name, rule: broken } of illegalNames) {
        const key = name as string;
        const rule = `the illegal key ${JSON.stringify(name)?.slice(0, 40)} must be refused before any input or output`;
        await refusesName(store.put(key, bytes), broken, `put: ${rule}`);
        await refusesName(store.get(key), broken, `get: ${rule}`);
        await refusesName(store.getBytes(key), broken, `getBytes: ${rule}`);
        await refusesName(store.stat(key), broken, `stat: ${rule}`);
        await refusesName(store.delete(key), broken, `delete: ${rule}`);
      }
      assert.deepEqual(await collect(store.list()), [], 'a refused put must leave nothing in the list');
    },
  },
  {
    clause: '1.4',
    name: 'a prefix that no legal key can start with is refused at the first step of a list',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('a/b', freshBytes(scope.random, 3));
      for (const prefix of ['/', '/a', 'a//', '.', 'A', 'a/.', 'a b', 'x'.repeat(513)]) {
        const rule = `list must refuse the prefix ${JSON.stringify(prefix.slice(0, 20))}, with which no key can start`;
        await refuses(store.list(prefix).next(), InvalidNameError, rule);
      }
      for (const prefix of ['', 'a', 'a/', 'a/b', 'a-']) {
        await collect(store.list(prefix));
      }
    },
  },
  {
    clause: '1.5',
    name: 'mistakes in arguments are TypeError or RangeError without a code, and touch nothing',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('there', freshBytes(scope.random, 10));
      const sources: unknown[] = [
        undefined,
        null,
        'text',
        7,
        [1, 2],
        {},
        { size: 1 },
        { size: -1, open: () => [] },
      ];
      sources.push({ size: 1.5, open: () => [] }, { size: Number.NaN, open: () => [] }, new ArrayBuffer(3));
      for (const source of sources) {
        const error = await store.put('absent', source as BlobSource).catch((thrown: unknown) => thrown);
        assert.ok(
          error instanceof TypeError && !('code' in error),
          'put must refuse what is neither a Uint8Array nor { size, open() } with a plain TypeError',
        );
      }
      const ranges = [
        [-1, 2],
        [2, 1],
        [0.5, 2],
        [0, Number.NaN],
        [0, Number.POSITIVE_INFINITY],
      ] as const;
      for (const [start, end] of ranges) {
        const error = await store.get('there', { range: { start, end } }).catch((thrown: unknown) => thrown);
        assert.ok(
          error instanceof RangeError && !('code' in error),
          `get must refuse the range ${start} to ${end} with a plain RangeError`,
        );
      }
      await lacks(store, 'absent', 'a refused put stores nothing');
    },
  },
];

/** The shared table, cut to the room that the harness has, and one key of exactly the longest length. */
function edgeKeys(harness: BlobsHarness): string[] {
  const longest = harness.limits?.maxKeyBytes ?? 512;
  const keys = legalNames.filter((name) => name.length <= longest);
  return [...new Set([...keys, 'z'.repeat(longest)])];
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}
