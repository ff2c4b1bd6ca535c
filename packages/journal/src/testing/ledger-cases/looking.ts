import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import type { LedgerRecord } from '../../driver.js';
import { LedgerDeletedError } from '../../errors.js';
import { collect, freshRecord, freshRecords, holds, sameRecords } from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

/** Clause 4: tip, list, delete. */
export const lookingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '4.1',
    name: 'the tip of an absent ledger is 0, and asking does not create it',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      assert.equal(await ledger.tip('absent'), 0, 'the tip of an absent ledger');
      assert.deepEqual(await collect(ledger.list()), [], 'asking for a tip creates nothing');
    },
  },
  {
    clause: '4.2',
    name: 'list yields every name once, sorted, by plain text prefix',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const names = ['b', 'a', 'a/b', 'a.ext', 'ab', 'a/b/c', 'a-1', 'z/9', 'a_', 'a_b', '0'];
      for (const name of names)
        await ledger.append(name, 0, freshRecords(scope.random, 1 + scope.random.below(3)));
      for (const prefix of ['', 'a', 'a/', 'a/b', 'a.', 'a_', 'a-', 'ab', 'z', 'zz', 'b']) {
        const expected = names.filter((name) => name.startsWith(prefix)).sort();
        assert.deepEqual(
          await collect(ledger.list(prefix)),
          expected,
          `list of prefix ${JSON.stringify(prefix)}`,
        );
      }
    },
  },
  {
    clause: '4.3',
    name: 'a list that is left early frees what it held',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      for (let index = 0; index < 30; index += 1) {
        await ledger.append(`log-${index}`, 0, [freshRecord(scope.random)]);
      }
      for (let round = 0; round < 10; round += 1)
        for await (const name of ledger.list()) if (name !== '') break;
      const held = await harness.held?.(ledger);
      assert.ok(
        held === undefined || held === 0,
        `${String(held)} resources are still held after lists were left early`,
      );
      assert.equal((await collect(ledger.list())).length, 30, 'another list begins afresh');
    },
  },
  {
    clause: '4.4',
    name: 'delete removes one ledger, and no other',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const names = ['a', 'a/b', 'a.ext', 'ab', 'a/b/c'];
      const record = freshRecord(scope.random);
      for (const name of names) await ledger.append(name, 0, [record, record]);
      for (const [index, name] of names.entries()) {
        await ledger.delete(name);
        await holds(ledger, name, [], 'a deleted ledger is absent');
        for (const other of names.slice(index + 1))
          await holds(ledger, other, [record, record], 'others stay');
      }
    },
  },
  {
    clause: '4.5',
    name: 'deleting an absent ledger succeeds',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.delete('absent');
      await ledger.append('log', 0, [freshRecord(scope.random)]);
      await ledger.delete('log');
      await ledger.delete('log');
      assert.deepEqual(await collect(ledger.list()), [], 'nothing is left');
    },
  },
  {
    clause: '4.6',
    name: 'a recreated ledger starts at 1 and has nothing of the old one',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, freshRecords(scope.random, 5));
      await ledger.delete('log');
      const records = freshRecords(scope.random, 2);
      assert.deepEqual(await ledger.append('log', 0, records), { tip: 2 }, 'a recreated ledger starts at 1');
      await holds(ledger, 'log', records, 'a recreated ledger');
    },
  },
  {
    clause: '4.7',
    name: 'a read during which the ledger is deleted yields the old records or says so, never a part as the whole',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      // More than one append and more than one page, where a driver reads in those: what it has already is no proof that it looks.
      const count = harness.limits?.manyRecords ?? 300;
      const write = async (records: readonly Uint8Array[]): Promise<void> => {
        for (let tip = 0; tip < count; tip += 50)
          await ledger.append('log', tip, records.slice(tip, tip + 50));
      };
      for (const anew of [false, true]) {
        const records = freshRecords(scope.random, count);
        await write(records);
        const seen: LedgerRecord[] = [];
        let failure: unknown;
        try {
          for await (const record of ledger.read('log')) {
            seen.push(record);
            if (record.seq !== 3) continue;
            await ledger.delete('log');
            // Another ledger of the same name and length is not the one that is read.
            if (anew) await write(freshRecords(scope.random, count));
          }
        } catch (error) {
          failure = error;
        }
        assert.ok(
          seen.length === count || LedgerDeletedError.is(failure),
          `the read ended after ${seen.length} of ${count} records without LedgerDeletedError`,
        );
        sameRecords(seen, records.slice(0, seen.length), 1, 'what was read of a ledger that was deleted');
        await ledger.delete('log');
      }
    },
  },
];
