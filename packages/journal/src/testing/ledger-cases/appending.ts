import assert from 'node:assert/strict';

import { throwIfAborted, yieldToEventLoop } from '@holdfast/base';
import type { CaseDefinition } from '@holdfast/base/testing';

import { LedgerConflictError, LedgerRecordTooLargeError } from '../../errors.js';
import type { Ledger } from '../../ledger.js';
import {
  collect,
  freshRecord,
  freshRecords,
  holds,
  refuses,
  refusesArgument,
  show,
} from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

/** Clause 2: append. */
export const appendingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '2.1',
    name: 'an append with expected tip 0 creates the ledger and its first record is 1',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const record = freshRecord(scope.random);
      assert.deepEqual(
        await ledger.append('log', 0, [record]),
        { tip: 1 },
        'append must resolve with the new tip',
      );
      await holds(ledger, 'log', [record], 'the first record is there');
    },
  },
  {
    clause: '2.2',
    name: 'sequences are contiguous over single and multiple appends, in the order given',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const all: Uint8Array[] = [];
      for (const count of [1, 3, 1, 2, 5, 1]) {
        const records = freshRecords(scope.random, count);
        const { tip } = await ledger.append('log', all.length, records);
        all.push(...records);
        assert.equal(tip, all.length, 'append must resolve with the new tip');
        await holds(ledger, 'log', all, `after an append of ${count}`);
      }
    },
  },
  {
    clause: '2.3',
    name: 'a tip that is not the expected one is a definite conflict and nothing is written',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 3);
      await ledger.append('log', 0, records);
      for (const expected of [0, 1, 2, 4, 7]) {
        for (const count of [1, 3]) {
          const attempt = ledger.append('log', expected, freshRecords(scope.random, count));
          const rule = `append with expected tip ${expected} of a ledger with tip 3 must be a conflict`;
          const error = await refuses(attempt, LedgerConflictError, rule);
          assert.equal(error.ledgerName, 'log', 'a conflict names the ledger');
          assert.equal(error.expected, expected, 'a conflict says what was expected');
          assert.ok(
            error.actual === undefined || error.actual === 3,
            'a conflict never says a wrong actual tip',
          );
          assert.equal(error.effect, 'none', 'a conflict is definite');
        }
      }
      await holds(ledger, 'log', records, 'a conflict writes nothing');
    },
  },
  {
    clause: '2.4',
    name: 'a conflict on an absent ledger does not create it',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const attempt = ledger.append('absent', 1, [freshRecord(scope.random)]);
      await refuses(
        attempt,
        LedgerConflictError,
        'append with expected tip 1 of an absent ledger must be a conflict',
      );
      await holds(ledger, 'absent', [], 'a conflict creates nothing');
      await ledger.append('absent', 0, [freshRecord(scope.random)]);
    },
  },
  {
    clause: '2.5',
    name: 'of concurrent appends with one expectation exactly one wins, each time',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const won: Uint8Array[] = [];
      for (let round = 0; round < 10; round += 1) {
        const records = Array.from({ length: 8 }, () => freshRecord(scope.random));
        won.push(
          await raceOf(
            records.map((record) => [ledger, record] as const),
            won.length,
          ),
        );
      }
      await holds(ledger, 'log', won, 'the winners are the history');
    },
  },
  {
    clause: '2.6',
    name: 'the records of one append stand together, whoever else appends at the same time',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const writers = Array.from({ length: 4 }, (_, writer) => 1 + writer);
      await Promise.all(
        writers.map(async (size) => {
          let conflicts = 0;
          for (let round = 0; round < 5; ) {
            const group = Array.from({ length: size }, (_, index) => Uint8Array.of(size, round, index));
            try {
              await ledger.append('log', await ledger.tip('log'), group);
              round += 1;
            } catch (error) {
              if (!LedgerConflictError.is(error)) throw error;
              throwIfAborted(scope.signal);
              // At once, so that the writers meet; but with a tip that is never true the timer that ends the case has to run.
              conflicts += 1;
              if (conflicts % 256 === 0) await yieldToEventLoop();
            }
          }
        }),
      );
      const stored = (await collect(ledger.read('log'))).map((record) => [...record.data]);
      assert.equal(stored.length, 5 * (1 + 2 + 3 + 4), 'every acknowledged record must be there once');
      for (let at = 0; at < stored.length; ) {
        const [size = 0, round = 0] = stored[at] as number[];
        const group = Array.from({ length: size }, (_, index) => [size, round, index]);
        assert.deepEqual(stored.slice(at, at + size), group, 'the records of one append must stand together');
        at += size;
      }
    },
  },
  {
    clause: '2.7',
    name: 'appends to different ledgers do not disturb each other',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const names = Array.from({ length: 8 }, (_, index) => `log/${index}`);
      const contents = names.map(() => freshRecords(scope.random, 6));
      await Promise.all(
        names.map(async (name, index) => {
          const records = contents[index] as Uint8Array[];
          for (const [tip, record] of records.entries()) await ledger.append(name, tip, [record]);
        }),
      );
      for (const [index, name] of names.entries()) {
        await holds(ledger, name, contents[index] as Uint8Array[], 'ledgers are independent');
      }
    },
  },
  {
    clause: '2.8',
    name: 'any bytes are a record: none, zeros, every value, text that is not UTF-8',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = [
        new Uint8Array(),
        new Uint8Array(17),
        Uint8Array.from({ length: 256 }, (_, index) => index),
        Uint8Array.of(0xff, 0xfe, 0x80, 0xc0),
        Uint8Array.of(0x0a, 0x0d, 0x00, 0x22, 0x5c),
        new Uint8Array(),
      ];
      await ledger.append('log', 0, records);
      await holds(ledger, 'log', records, 'bytes come back as they were given');
    },
  },
  {
    clause: '2.9',
    name: 'a record of 1 MiB, and of the declared limit up to 4 MiB, comes back whole',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      assert.ok(ledger.maxRecordBytes >= 1_048_576, 'maxRecordBytes must be at least 1 MiB');
      const sizes = new Set([65_537, 1_048_576, Math.min(ledger.maxRecordBytes, 4 * 1_048_576)]);
      const records = [...sizes].map((size) => freshRecord(scope.random, size));
      for (const [tip, record] of records.entries()) await ledger.append('log', tip, [record]);
      await holds(ledger, 'log', records, 'large records come back as they were given');
    },
  },
  {
    clause: '2.10',
    name: 'a record above the limit is refused with its size, together with everything in its append',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const size = ledger.maxRecordBytes + 1;
      const attempt = ledger.append('log', 0, [freshRecord(scope.random), new Uint8Array(size)]);
      const error = await refuses(
        attempt,
        LedgerRecordTooLargeError,
        'a record above maxRecordBytes must be refused',
      );
      assert.deepEqual([error.size, error.limit], [size, size - 1], 'the refusal says size and limit');
      await holds(ledger, 'log', [], 'a refused append writes nothing');
    },
  },
  {
    clause: '2.11',
    name: 'what the caller does to its buffers after the call does not matter',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const backing = freshRecord(scope.random, 100);
      const views = [backing.subarray(10, 40), backing.subarray(50)];
      const expected = views.map((view) => Uint8Array.from(view));
      const pending = ledger.append('log', 0, views);
      backing.fill(0);
      await pending;
      backing.fill(0xff);
      await holds(ledger, 'log', expected, 'records are copied when append is called');
    },
  },
  {
    clause: '2.12',
    name: 'argument mistakes are TypeError or RangeError and write nothing',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const record = freshRecord(scope.random);
      for (const tip of [-1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 2, '0' as never]) {
        await refusesArgument(
          ledger.append('log', tip, [record]),
          `append must refuse expected tip ${show(tip)}`,
        );
      }
      for (const records of [[], 'text', [1], [record, undefined], undefined]) {
        await refusesArgument(
          ledger.append('log', 0, records as never),
          `append must refuse ${show(records)} as records`,
        );
      }
      await holds(ledger, 'log', [], 'a refused append writes nothing');
    },
  },
];

/** Lets every append run at once and returns the record of the only winner. */
async function raceOf(entries: readonly (readonly [Ledger, Uint8Array])[], tip: number): Promise<Uint8Array> {
  const outcomes = await Promise.allSettled(
    entries.map(([ledger, record]) => ledger.append('log', tip, [record])),
  );
  const winners: Uint8Array[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') winners.push((entries[index] as readonly [Ledger, Uint8Array])[1]);
    else {
      const rule = 'a loser of a race must get LedgerConflictError';
      assert.ok(LedgerConflictError.is(outcome.reason), `${rule}, got ${show(outcome.reason)}`);
    }
  }
  assert.equal(
    winners.length,
    1,
    `of ${entries.length} concurrent appends with one expectation exactly one must succeed`,
  );
  return winners[0] as Uint8Array;
}
