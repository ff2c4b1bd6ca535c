import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import type { Ledger } from '../../ledger.js';
import {
  collect,
  freshRecord,
  freshRecords,
  handled,
  holds,
  rejectsWithReason,
  show,
} from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

/** Clause 6: abort. */
export const abortingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '6.1',
    name: 'with an aborted signal every method rejects with its very reason, and nothing happens',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 2);
      await ledger.append('log', 0, records);
      for (const reason of [new Error('stop'), 'a word', 0, null, { kind: 'own' }]) {
        const signal = AbortSignal.abort(reason);
        for (const [method, call] of callsOf(ledger, signal)) {
          const rule = `${method} with an aborted signal must reject with its reason`;
          await rejectsWithReason(call(), signal.reason, rule);
        }
      }
      await holds(ledger, 'log', records, 'an aborted call has no effect');
      await holds(ledger, 'new', [], 'an aborted call creates nothing');
    },
  },
  {
    clause: '6.2',
    name: 'an abort during an append rejects with the reason and wrote nothing, or the append resolves and is there',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const stored: Uint8Array[] = [];
      for (let round = 0; round < 24; round += 1) {
        const controller = new AbortController();
        const reason = new Error(`stop ${round}`);
        const records = freshRecords(scope.random, 1 + (round % 3));
        const pending = handled(ledger.append('log', stored.length, records, { signal: controller.signal }));
        for (let turn = 0; turn < round % 8; turn += 1) await Promise.resolve();
        controller.abort(reason);
        try {
          await pending;
          stored.push(...records);
        } catch (error) {
          const rule = 'an append that is aborted must reject with the reason of its signal';
          assert.ok(error === reason, `${rule}, got ${show(error)}`);
        }
        await holds(ledger, 'log', stored, 'a rejected append wrote nothing, a resolved one is there');
      }
    },
  },
  {
    clause: '6.3',
    name: 'an abort during a read or a list ends it with the reason and frees what it held',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, freshRecords(scope.random, 300));
      for (let index = 0; index < 20; index += 1)
        await ledger.append(`log-${index}`, 0, [freshRecord(scope.random)]);
      for (const open of [
        (signal: AbortSignal): AsyncIterator<unknown> => ledger.read('log', { signal }),
        (signal: AbortSignal): AsyncIterator<unknown> => ledger.read('log', { signal, reverse: true }),
        (signal: AbortSignal): AsyncIterator<unknown> => ledger.list('', { signal }),
      ]) {
        const controller = new AbortController();
        const reason = new Error('enough');
        const iterator = open(controller.signal);
        await iterator.next();
        controller.abort(reason);
        await rejectsWithReason(
          iterator.next(),
          reason,
          'an iteration that is aborted must reject with the reason',
        );
      }
      const held = await harness.held?.(ledger);
      assert.ok(held === undefined || held === 0, `${String(held)} resources are still held after aborts`);
    },
  },
  {
    clause: '6.4',
    name: 'a signal that aborts later has no effect on what was finished',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const controller = new AbortController();
      const { signal } = controller;
      const records = freshRecords(scope.random, 2);
      await ledger.append('log', 0, records, { signal });
      assert.equal((await collect(ledger.read('log', { signal }))).length, 2, 'reading with a live signal');
      controller.abort(new Error('too late'));
      await holds(ledger, 'log', records, 'what was written stays');
    },
  },
];

function callsOf(
  ledger: Ledger,
  signal: AbortSignal,
): readonly (readonly [string, () => Promise<unknown>])[] {
  const record = [Uint8Array.of(1)];
  return [
    ['append', () => ledger.append('new', 0, record, { signal })],
    ['appendDefinite', () => ledger.appendDefinite('new', 0, record, { signal })],
    ['read', () => collect(ledger.read('log', { signal }))],
    ['follow', () => collect(ledger.follow('log', { signal }))],
    ['tip', () => ledger.tip('log', { signal })],
    ['list', () => collect(ledger.list('', { signal }))],
    ['delete', () => ledger.delete('log', { signal })],
  ];
}
