import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import type { Ledger } from '../../ledger.js';
import { collect, freshRecords, holds, refusesArgument, same, sameRecords } from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

/** Clause 3: read. */
export const readingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '3.1',
    name: 'an absent ledger reads as empty, whatever the range, and reading does not create it',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      for (const options of [{}, { from: 3 }, { reverse: true }, { from: 1, to: 9, limit: 2 }]) {
        assert.deepEqual(
          await collect(ledger.read('absent', options)),
          [],
          'an absent ledger has no records',
        );
      }
      await holds(ledger, 'absent', [], 'reading creates nothing');
    },
  },
  {
    clause: '3.2',
    name: 'from and to are inclusive, and bounded by what there is',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 9);
      await ledger.append('log', 0, records);
      for (const [from, to] of [
        [1, 9],
        [1, 1],
        [9, 9],
        [3, 7],
        [4, 400],
        [1, 0],
        [7, 3],
        [10, 12],
      ] as const) {
        sameRecords(
          await collect(ledger.read('log', { from, to })),
          records.slice(from - 1, Math.max(from - 1, to)),
          from,
          `read from ${from} to ${to}`,
        );
      }
      sameRecords(await collect(ledger.read('log', { from: 5 })), records.slice(4), 5, 'read from 5');
      sameRecords(await collect(ledger.read('log', { to: 5 })), records.slice(0, 5), 1, 'read to 5');
    },
  },
  {
    clause: '3.3',
    name: 'reverse yields the same records, newest first',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 9);
      await ledger.append('log', 0, records);
      for (const range of [{}, { from: 3 }, { to: 4 }, { from: 2, to: 7 }, { from: 8, to: 100 }]) {
        const forward = await collect(ledger.read('log', range));
        const backward = await collect(ledger.read('log', { ...range, reverse: true }));
        assert.deepEqual(backward, forward.toReversed(), `reverse read of ${JSON.stringify(range)}`);
      }
    },
  },
  {
    clause: '3.4',
    name: 'limit bounds the number of records, from the end at which reading begins',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 9);
      await ledger.append('log', 0, records);
      for (const limit of [1, 4, 9, 50]) {
        const first = await collect(ledger.read('log', { limit }));
        sameRecords(first, records.slice(0, limit), 1, `read with limit ${limit}`);
        const last = await collect(ledger.read('log', { limit, reverse: true }));
        sameRecords(
          last.toReversed(),
          records.slice(-limit),
          Math.max(1, 10 - limit),
          `reverse read with limit ${limit}`,
        );
        const middle = await collect(ledger.read('log', { from: 4, to: 8, limit }));
        sameRecords(middle, records.slice(3, Math.min(8, 3 + limit)), 4, `read from 4 with limit ${limit}`);
      }
    },
  },
  {
    clause: '3.5',
    name: 'a read is bounded by the tip at its beginning',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 5);
      await ledger.append('log', 0, records);
      const seen: number[] = [];
      let tip = 5;
      for await (const record of ledger.read('log')) {
        seen.push(record.seq);
        tip = (await ledger.append('log', tip, freshRecords(scope.random, 2))).tip;
      }
      assert.deepEqual(seen, [1, 2, 3, 4, 5], 'records that are appended during a read are not part of it');
    },
  },
  {
    clause: '3.6',
    name: 'what the caller does to bytes that it got does not matter',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 3);
      await ledger.append('log', 0, records);
      for await (const record of ledger.read('log')) record.data.fill(0);
      await holds(ledger, 'log', records, 'records are copied when they are read');
    },
  },
  {
    clause: '3.7',
    name: 'a read that is left early frees what it held, and another one begins afresh',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 200);
      await ledger.append('log', 0, records);
      for (let round = 0; round < 20; round += 1) {
        for await (const record of ledger.read('log', { reverse: round % 2 === 1 })) {
          if (record.seq % 3 === 0) break;
        }
      }
      const held = await harness.held?.(ledger);
      assert.ok(
        held === undefined || held === 0,
        `${String(held)} resources are still held after reads were left early`,
      );
      await holds(ledger, 'log', records, 'the ledger is as it was');
    },
  },
  {
    clause: '3.8',
    name: 'readers at once are independent of each other and of a writer',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 40);
      await ledger.append('log', 0, records);
      const readers = [stepwise(ledger, false), stepwise(ledger, true), stepwise(ledger, false)];
      const writer = (async () => {
        for (let tip = 40; tip < 60; tip += 1) await ledger.append('log', tip, freshRecords(scope.random, 1));
        return [];
      })();
      const [forward, backward, again] = (await Promise.all([...readers, writer])) as number[][];
      for (const [what, seen] of [
        ['first', forward],
        ['second', again],
      ] as const) {
        assert.ok((seen?.length ?? 0) >= 40, `the ${what} reader must see at least what was there`);
        assert.deepEqual(
          seen,
          Array.from({ length: seen?.length ?? 0 }, (_, index) => index + 1),
          'in order',
        );
      }
      assert.deepEqual(
        backward,
        backward?.toSorted((a, b) => b - a),
        'the reverse reader goes down',
      );
    },
  },
  {
    clause: '3.9',
    name: 'a long ledger reads in order in both directions, and from anywhere',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const count = harness.limits?.manyRecords ?? 300;
      const records = freshRecords(scope.random, count);
      for (let tip = 0; tip < count; tip += 50) await ledger.append('log', tip, records.slice(tip, tip + 50));
      await holds(ledger, 'log', records, 'a long ledger');
      const backward = await collect(ledger.read('log', { reverse: true }));
      sameRecords(backward.toReversed(), records, 1, 'a long ledger, backward');
      for (let round = 0; round < 20; round += 1) {
        const from = 1 + scope.random.below(count);
        const [record] = await collect(ledger.read('log', { from, limit: 1 }));
        assert.equal(record?.seq, from, `a read from ${from}`);
        same((record as { data: Uint8Array }).data, records[from - 1] as Uint8Array, `record ${from}`);
      }
    },
  },
  {
    clause: '3.10',
    name: 'a range that is none is a RangeError',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, freshRecords(scope.random, 2));
      for (const options of [
        { from: 0 },
        { from: -1 },
        { from: 1.5 },
        { to: -1 },
        { limit: 0 },
        { limit: Number.NaN },
      ]) {
        await refusesArgument(
          collect(ledger.read('log', options)),
          `read must refuse ${JSON.stringify(options)}`,
        );
      }
    },
  },
];

async function stepwise(ledger: Ledger, reverse: boolean): Promise<number[]> {
  const seen: number[] = [];
  for await (const { seq } of ledger.read('log', { reverse })) {
    seen.push(seq);
    await Promise.resolve();
  }
  return seen;
}
