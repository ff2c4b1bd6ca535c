import assert from 'node:assert/strict';

import { InvalidNameError } from '@holdfast/base';
import { type CaseDefinition, illegalNames, legalNames } from '@holdfast/base/testing';

import type { Ledger } from '../../ledger.js';
import { collect, freshRecord, holds, refuses } from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

/** Clause 1: names. */
export const namingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '1.1',
    name: 'every legal name can be used, up to the longest, and no name is another one',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const longest = harness.limits?.maxNameBytes ?? 512;
      const names = legalNames.map((name) => name.slice(0, longest).replace(/\/$/, '0'));
      const contents = new Map(names.map((name) => [name, freshRecord(scope.random)]));
      for (const [name, record] of contents) await ledger.append(name, 0, [record]);
      for (const [name, record] of contents)
        await holds(ledger, name, [record], 'a legal name has its own ledger');
    },
  },
  {
    clause: '1.2',
    name: 'names that are prefixes of each other exist at once, in any order of creation',
    check: async (harness, scope) => {
      const names = ['a', 'a/b', 'a.ext', 'a.ext/b', 'a/b/c', 'ab'];
      for (const order of [names, names.toReversed()]) {
        const ledger = await openFresh(harness, scope);
        for (const name of order) await ledger.append(name, 0, [new TextEncoder().encode(name)]);
        for (const name of names) {
          await holds(ledger, name, [new TextEncoder().encode(name)], 'names are independent');
        }
      }
    },
  },
  {
    clause: '1.3',
    name: 'every method refuses an illegal name before anything is read or written',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      for (const { name, rule } of illegalNames) {
        for (const [method, call] of callsOf(ledger, name as string, scope.signal)) {
          const error = await refuses(
            call(),
            InvalidNameError,
            `${method} must refuse the name ${String(name)}`,
          );
          assert.equal(error.rule, rule, `${method} must name the broken rule of ${String(name)}`);
        }
      }
      assert.deepEqual(await collect(ledger.list()), [], 'a refused name must leave nothing behind');
    },
  },
  {
    clause: '1.4',
    name: 'list refuses a prefix with which no name can begin',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      for (const prefix of ['/', 'A', 'a//', '.', 'a b', '../x']) {
        const rule = `list must refuse the prefix ${JSON.stringify(prefix)}`;
        await refuses(collect(ledger.list(prefix)), InvalidNameError, rule);
      }
    },
  },
];

function callsOf(
  ledger: Ledger,
  name: string,
  signal: AbortSignal | undefined,
): readonly (readonly [string, () => Promise<unknown>])[] {
  const record = [Uint8Array.of(1)];
  return [
    ['append', () => ledger.append(name, 0, record)],
    ['appendDefinite', () => ledger.appendDefinite(name, 0, record)],
    ['read', () => collect(ledger.read(name))],
    ['follow', () => collect(ledger.follow(name, { signal: signal ?? AbortSignal.abort() }))],
    ['tip', () => ledger.tip(name)],
    ['delete', () => ledger.delete(name)],
  ];
}
