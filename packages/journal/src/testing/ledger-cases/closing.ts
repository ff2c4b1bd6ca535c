import assert from 'node:assert/strict';
import { isAbsolute } from 'node:path';

import type { CaseDefinition } from '@holdfast/base/testing';

import { LedgerClosedError, LedgerConflictError, LedgerInUseError } from '../../errors.js';
import type { Ledger } from '../../ledger.js';
import { collect, freshRecord, freshRecords, handled, holds, refuses } from '../ledger-expectations.js';
import { type LedgerHarness, openAgain, openFresh } from '../ledger-harness.js';
import { sharedOf } from './following.js';

/** Clause 8: lifecycle, several views, durability, declarations. */
export const closingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '8.1',
    name: 'close is idempotent, and afterwards every method rejects with LedgerClosedError',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, freshRecords(scope.random, 3));
      const reading = ledger.read('log');
      await reading.next();
      await ledger.close();
      await Promise.all([ledger.close(), ledger.close(), ledger[Symbol.asyncDispose]()]);
      for (const [method, call] of callsOf(ledger)) {
        await refuses(call(), LedgerClosedError, `${method} after close must reject`);
      }
      await refuses(reading.next(), LedgerClosedError, 'a read that was under way must reject after close');
    },
  },
  {
    clause: '8.2',
    name: 'close waits for appends under way, and those that resolved are kept',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const record = freshRecord(scope.random);
      const pending = handled(ledger.append('log', 0, [record]));
      await Promise.resolve();
      await ledger.close();
      await pending;
      const again = await openAgain(harness, scope, ledger);
      await holds(again, 'log', [record], 'an append that resolved while closing is kept');
    },
  },
  {
    clause: '8.3',
    name: 'what was appended is there when the storage is opened again',
    check: async (harness, scope) => {
      let ledger = await openFresh(harness, scope);
      const all: Uint8Array[] = [];
      for (let round = 0; round < 4; round += 1) {
        const records = freshRecords(scope.random, 3);
        await ledger.append('log', all.length, records);
        await ledger.append(`log/${round}`, 0, records);
        all.push(...records);
        if (round > 0) await ledger.delete(`log/${round - 1}`);
        await ledger.close();
        ledger = await openAgain(harness, scope, ledger);
        await holds(ledger, 'log', all, `opened again, round ${round}`);
        assert.deepEqual(
          await collect(ledger.list('log/')),
          [`log/${round}`],
          'what was deleted stays deleted',
        );
      }
    },
  },
  {
    clause: '8.4',
    name: 'what was acknowledged survives an end without close',
    requires: {
      capability: 'harness.crash',
      met: (harness) => harness.crash !== undefined,
      otherwise: async (harness, scope) => {
        // Without a crash, what must hold is that a clean end keeps everything.
        const ledger = await openFresh(harness, scope);
        const records = freshRecords(scope.random, 4);
        await ledger.append('log', 0, records);
        await ledger.close();
        await holds(await openAgain(harness, scope, ledger), 'log', records, 'a clean end keeps everything');
      },
    },
    check: async (harness, scope) => {
      let ledger = await openFresh(harness, scope);
      const all: Uint8Array[] = [];
      for (let round = 0; round < 5; round += 1) {
        const records = freshRecords(scope.random, 1 + round);
        await ledger.append('log', all.length, records);
        all.push(...records);
        ledger = scope.use(await (harness.crash as (ledger: Ledger) => Promise<Ledger>)(ledger));
        await holds(ledger, 'log', all, `after crash ${round}`);
      }
    },
  },
  {
    clause: '8.5',
    name: 'declared shared: two views see each other at once and exclude each other; undeclared: a second one is refused',
    requires: {
      capability: 'supports.shared',
      met: async (harness) => await sharedOf(harness),
      otherwise: async (harness, scope) => {
        const ledger = await openFresh(harness, scope);
        const record = freshRecord(scope.random);
        await ledger.append('log', 0, [record]);
        await refuses(
          harness.reopen(ledger),
          LedgerInUseError,
          'a second process must be refused while one is open',
        );
        await holds(ledger, 'log', [record], 'the refusal does not disturb the owner');
        await ledger.append('log', 1, [record]);
        await ledger.close();
        await holds(
          await openAgain(harness, scope, ledger),
          'log',
          [record, record],
          'afterwards it can be opened',
        );
      },
    },
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const view = await openAgain(harness, scope, ledger);
      const all: Uint8Array[] = [];
      for (let round = 0; round < 6; round += 1) {
        const [writer, other] = round % 2 === 0 ? [ledger, view] : [view, ledger];
        const record = freshRecord(scope.random);
        await writer.append('log', all.length, [record]);
        all.push(record);
        await holds(other, 'log', all, 'an append is seen by every view as soon as it resolves');
        const stale = other.append('log', all.length - 1, [freshRecord(scope.random)]);
        await refuses(stale, LedgerConflictError, 'a stale expectation of another view must conflict');
      }
      await view.delete('log');
      await holds(ledger, 'log', [], 'a deletion is seen by every view');
      const outcomes = await Promise.allSettled(
        [ledger, view, ledger, view].map((one) => one.append('log', 0, [freshRecord(scope.random)])),
      );
      const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled').length;
      assert.equal(winners, 1, 'of concurrent appends through two views exactly one must succeed');
    },
  },
  {
    clause: '8.6',
    name: 'what a ledger declares is complete and frozen, and its storage paths are absolute',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const { supports } = ledger;
      assert.ok(Object.isFrozen(supports), 'supports must be frozen');
      for (const fact of ['follow', 'shared', 'durable'] as const) {
        assert.equal(typeof supports[fact], 'boolean', `supports.${fact} must be declared`);
      }
      for (const path of ledger.storagePaths())
        assert.ok(isAbsolute(path), `storage path ${path} must be absolute`);
    },
  },
];

function callsOf(ledger: Ledger): readonly (readonly [string, () => Promise<unknown>])[] {
  const record = [Uint8Array.of(1)];
  const { signal } = new AbortController();
  return [
    ['append', () => ledger.append('log', 3, record)],
    ['appendDefinite', () => ledger.appendDefinite('log', 3, record)],
    ['read', () => collect(ledger.read('log'))],
    ['follow', () => collect(ledger.follow('log', { signal }))],
    ['tip', () => ledger.tip('log')],
    ['list', () => collect(ledger.list())],
    ['delete', () => ledger.delete('log')],
  ];
}
