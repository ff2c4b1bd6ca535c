import assert from 'node:assert/strict';

import { equalBytes } from '@holdfast/base';
import type { CaseDefinition } from '@holdfast/base/testing';

import type { Blobs } from '../../blobs.js';
import { BlobNotFoundError, BlobRangeError, isBlobsError } from '../../errors.js';
import { collect, freshBytes } from '../content.js';
import { holds, lacks, refuses, same } from '../expectations.js';
import { type BlobsHarness, openFresh, original } from '../harness.js';

/** Clause 3: get. */
export const gettingCases: readonly CaseDefinition<BlobsHarness>[] = [
  {
    clause: '3.1',
    name: 'an absent object is reported by the call itself',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('a/b', freshBytes(scope.random, 3));
      const rule = 'get of an absent key must reject from the call itself, not from the first read';
      for (const key of ['a', 'a/b/c', 'b', 'a/c']) {
        const error = await refuses(store.get(key), BlobNotFoundError, rule);
        assert.equal(error.key, key, 'BlobNotFoundError must carry the key of the caller');
        await refuses(
          store.get(key, { range: { start: 0, end: 0 } }),
          BlobNotFoundError,
          `${rule}, with a range too`,
        );
      }
    },
  },
  {
    clause: '3.2',
    name: 'chunks in order make up the object, and the reader knows its size',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 300_001);
      await store.put('whole', bytes);
      const reader = await store.get('whole');
      assert.equal(reader.size, bytes.length, 'the size of the reader must be the size of the object');
      const chunks = await collect(reader);
      assert.ok(
        chunks.every((chunk) => chunk.length > 0),
        'no chunk may be empty',
      );
      same(Buffer.concat(chunks), bytes, 'get');
      same(await (await store.get('whole')).bytes(), bytes, 'bytes() of a reader');
    },
  },
  {
    clause: '3.3',
    name: 'a range gives exactly the bytes from start up to, but not including, end',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const size = 200_000;
      const bytes = freshBytes(scope.random, size);
      await store.put('ranged', bytes);
      await store.put('empty', new Uint8Array());
      const edges = [0, 1, 16_383, 16_384, 65_536, 131_072, size - 1, size];
      for (const start of edges) {
        for (const end of edges.filter((edge) => edge >= start)) {
          const reader = await store.get('ranged', { range: { start, end } });
          assert.equal(reader.size, size, 'the size of a ranged reader must be that of the whole object');
          same(await reader.bytes(), bytes.slice(start, end), `get of the range ${start} to ${end}`);
        }
      }
      same(
        await store.getBytes('empty', { range: { start: 0, end: 0 } }),
        new Uint8Array(),
        'an empty range',
      );
    },
  },
  {
    clause: '3.4',
    name: 'a range that passes the end is a typed error from the call itself',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('ten', freshBytes(scope.random, 10));
      await store.put('empty', new Uint8Array());
      const rule = 'get must refuse a range that passes the end, never cut it short';
      for (const [key, start, end] of [
        ['ten', 0, 11],
        ['ten', 10, 11],
        ['ten', 11, 11],
        ['ten', 500, 1_000_000],
        ['empty', 0, 1],
      ] as const) {
        const error = await refuses(store.get(key, { range: { start, end } }), BlobRangeError, rule);
        const facts = { key: error.key, start: error.start, end: error.end, size: error.size };
        assert.deepEqual(
          facts,
          { key, start, end, size: key === 'ten' ? 10 : 0 },
          'BlobRangeError must carry the facts',
        );
      }
    },
  },
  {
    clause: '3.5',
    name: 'bytes are copied out: the caller may overwrite what it got',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 100_000);
      await store.put('owned', bytes);
      (await store.getBytes('owned')).fill(0);
      for await (const chunk of await store.get('owned')) chunk.fill(1);
      const held: Uint8Array[] = [];
      for await (const chunk of await store.get('owned')) held.push(chunk);
      same(Buffer.concat(held), bytes, 'get after a caller overwrote what it had got, or kept every chunk,');
      await holds(store, 'owned', bytes, 'what get returns must belong to the caller alone');
    },
  },
  {
    clause: '3.6',
    name: 'leaving a read early frees what it holds',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 300_000);
      await store.put('left', bytes);
      const before = await held(harness, store);
      for (let round = 0; round < 20; round += 1) {
        for await (const chunk of await store.get('left')) {
          assert.ok(chunk.length > 0, 'no chunk may be empty');
          break;
        }
        const untouched = (await store.get('left'))[Symbol.asyncIterator]();
        await untouched.return?.();
      }
      assert.equal(
        await held(harness, store),
        before,
        'early return() must free handles and connections of a read',
      );
      await store.delete('left');
      await store.put('left', bytes);
      await holds(store, 'left', bytes, 'the object must be usable after reads that were left early');
    },
  },
  {
    clause: '3.7',
    name: 'a read that nobody consumes is freed by close, also through the end of the store',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('unread', freshBytes(scope.random, 300_000));
      const before = await held(harness, store);
      const reader = await store.get('unread');
      await reader.close();
      await reader.close();
      {
        await using disposed = await store.get('unread');
        assert.equal(disposed.size, 300_000, 'the size of the reader must be the size of the object');
      }
      assert.equal(
        await held(harness, store),
        before,
        'close() of a reader must free handles and connections',
      );
      const error = await collect(reader).catch((thrown: unknown) => thrown);
      assert.ok(
        isBlobsError(error) && error.code === 'BLOBS_CLOSED',
        'a closed reader must say so when it is read',
      );
      const forgotten = await store.get('unread');
      await store.close();
      const late = await collect(forgotten).catch((thrown: unknown) => thrown);
      assert.ok(
        isBlobsError(late) && late.code === 'BLOBS_CLOSED',
        'closing the store must end its open reads',
      );
      assert.equal(
        await held(harness, store),
        before,
        'close() of the store must free the reads nobody consumed',
      );
    },
  },
  {
    clause: '3.8',
    name: 'a reader can be consumed once',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      await store.put('once', freshBytes(scope.random, 10));
      const reader = await store.get('once');
      await reader.bytes();
      const again = await reader.bytes().catch((thrown: unknown) => thrown);
      assert.ok(
        again instanceof TypeError,
        'a second use of a reader must be a TypeError, never an empty object',
      );
      assert.throws(
        () => reader[Symbol.asyncIterator](),
        TypeError,
        'a second use of a reader must be a TypeError',
      );
    },
  },
  {
    clause: '3.9',
    name: 'many reads at once each get their own bytes',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const contents = Array.from({ length: 12 }, () => freshBytes(scope.random, 90_000));
      await Promise.all(contents.map(async (bytes, index) => await store.put(`many/${index}`, bytes)));
      const readers = await Promise.all(contents.map(async (_, index) => await store.get(`many/${index}`)));
      const iterators = readers.map((reader) => reader[Symbol.asyncIterator]());
      const parts: Uint8Array[][] = contents.map(() => []);
      for (let open = true; open; ) {
        const steps = await Promise.all(iterators.map(async (iterator) => await iterator.next()));
        for (const [index, step] of steps.entries()) if (step.done !== true) parts[index]?.push(step.value);
        open = steps.some((step) => step.done !== true);
      }
      for (const [index, bytes] of contents.entries()) {
        same(Buffer.concat(parts[index] as Uint8Array[]), bytes, 'a read that takes turns with other reads');
      }
    },
  },
  {
    clause: '3.10',
    name: 'a read that an object is deleted and replaced under never mixes the two',
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const old = freshBytes(scope.random, 400_000);
      const next = freshBytes(scope.random, 400_000);
      await store.put('moving', old);
      const iterator = (await store.get('moving'))[Symbol.asyncIterator]();
      const first = await iterator.next();
      assert.ok(first.done !== true, 'the first chunk of a large object must come');
      await store.delete('moving');
      await store.put('moving', next);
      const parts = [first.value];
      let failure: unknown;
      try {
        for (let step = await iterator.next(); step.done !== true; step = await iterator.next())
          parts.push(step.value);
      } catch (error) {
        failure = error;
      }
      const rule = 'a read must go on with the object it began with, or fail with a typed error';
      if (failure !== undefined) assert.ok(isBlobsError(failure), `${rule}; it failed with another error`);
      else assert.ok(equalBytes(Buffer.concat(parts), old), `${rule}; it returned a mixture`);
      await holds(store, 'moving', next, 'a key that was deleted and put again holds the new object');
    },
  },
  {
    clause: '3.11',
    name: 'damage to one object is never "not found" and never touches others',
    requires: {
      capability: 'harness.corrupt',
      met: (harness) => harness.corrupt !== undefined,
      // Without a way to damage bytes, at least absence must not be what every failure looks like.
      otherwise: async (harness, scope) => {
        const store = await openFresh(harness, scope);
        await store.put('there', freshBytes(scope.random, 10));
        const error = await store
          .get('there', { range: { start: 5, end: 50 } })
          .catch((thrown: unknown) => thrown);
        assert.ok(
          !BlobNotFoundError.is(error),
          'a failure other than absence must not be reported as "not found"',
        );
        await lacks(store, 'missing', 'absence is reported as such');
      },
    },
    check: async (harness, scope) => {
      const store = await openFresh(harness, scope);
      const bytes = freshBytes(scope.random, 100_000);
      await store.put('damaged', bytes);
      await store.put('healthy', bytes);
      await harness.corrupt?.(original(store), 'damaged');
      const outcome = await store.getBytes('damaged').catch((thrown: unknown) => thrown);
      const rule = 'a damaged object exists: it must come back as it is stored or fail with a typed error';
      if (!(outcome instanceof Uint8Array)) {
        assert.ok(
          isBlobsError(outcome) && outcome.code !== 'BLOBS_NOT_FOUND',
          `${rule}, never with "not found"`,
        );
      }
      assert.ok((await store.stat('damaged')) !== undefined, `${rule}; stat finds nothing`);
      const keys = (await collect(store.list())).map((entry) => entry.key);
      assert.deepEqual(
        keys,
        ['damaged', 'healthy'],
        'damage to one object must not hide any object from list',
      );
      await holds(store, 'healthy', bytes, 'damage to one object must leave the others alone');
    },
  },
];

async function held(harness: BlobsHarness, store: Blobs): Promise<number> {
  return harness.held === undefined ? 0 : await harness.held(original(store));
}
