import assert from 'node:assert/strict';

import type { CaseDefinition, CaseScope, Requirement } from '@holdfast/base/testing';

import { JournalCorruptError, LedgerAmbiguousError, LedgerConflictError } from '../../errors.js';
import { collect, freshRecord, freshRecords, holds, refuses, sameRecords } from '../ledger-expectations.js';
import { type LedgerHarness, openFresh } from '../ledger-harness.js';

const canLoseReplies: Requirement<LedgerHarness> = {
  capability: 'harness.loseReply',
  met: (harness) => harness.loseReply !== undefined,
  // Without a way to lose a reply, what must hold is that a definite append is an append.
  otherwise: async (harness, scope) => {
    await definiteAppend(harness, scope);
  },
};

/** Clause 7: failures. */
export const failingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '7.1',
    name: 'a definite append is an append: it succeeds, and conflicts are conflicts',
    check: async (harness, scope) => {
      await definiteAppend(harness, scope);
    },
  },
  {
    clause: '7.2',
    name: 'an append whose reply was lost is ambiguous, never failed, whether it landed or not',
    requires: canLoseReplies,
    check: async (harness, scope) => {
      for (const outcome of ['landed', 'not-landed'] as const) {
        const ledger = await openFresh(harness, scope);
        const records = freshRecords(scope.random, 2);
        await ledger.append('log', 0, records);
        await harness.loseReply?.(ledger, outcome);
        const lost = freshRecords(scope.random, 2);
        const rule = `an append whose reply was lost (${outcome}) must be LedgerAmbiguousError`;
        const error = await refuses(ledger.append('log', 2, lost), LedgerAmbiguousError, rule);
        assert.equal(error.effect, 'unknown', 'an ambiguous outcome has effect "unknown"');
        assert.deepEqual([error.ledgerName, error.expected], ['log', 2], 'it names ledger and expectation');
        await holds(ledger, 'log', outcome === 'landed' ? [...records, ...lost] : records, outcome);
      }
    },
  },
  {
    clause: '7.3',
    name: 'a definite append settles a lost reply: written once, whether the first try landed or not',
    requires: canLoseReplies,
    check: async (harness, scope) => {
      for (const outcome of ['landed', 'not-landed'] as const) {
        for (const count of [1, 3]) {
          const ledger = await openFresh(harness, scope);
          const records = freshRecords(scope.random, 2);
          await ledger.append('log', 0, records);
          await harness.loseReply?.(ledger, outcome);
          const lost = freshRecords(scope.random, count);
          assert.deepEqual(
            await ledger.appendDefinite('log', 2, lost),
            { tip: 2 + count },
            `settled (${outcome})`,
          );
          await holds(ledger, 'log', [...records, ...lost], `written once (${outcome})`);
        }
      }
    },
  },
  {
    clause: '7.4',
    name: 'after an append that landed without a reply, another record at the old tip conflicts and at the new one works',
    requires: canLoseReplies,
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await harness.loseReply?.(ledger, 'landed');
      const lost = freshRecord(scope.random);
      await refuses(ledger.append('log', 0, [lost]), LedgerAmbiguousError, 'the reply was lost');
      const other = freshRecord(scope.random);
      await refuses(ledger.append('log', 0, [other]), LedgerConflictError, 'the old tip is taken');
      await refuses(
        ledger.appendDefinite('log', 0, [other]),
        LedgerConflictError,
        'also for a definite append',
      );
      await ledger.append('log', await ledger.tip('log'), [other]);
      await holds(ledger, 'log', [lost, other], 'each once');
    },
  },
  {
    clause: '7.5',
    name: 'a damaged record is reported as damage with its sequence, never as absence, a gap or other bytes',
    requires: {
      capability: 'harness.corrupt',
      met: (harness) => harness.corrupt !== undefined,
      otherwise: async (harness, scope) => {
        // Without a way to damage records, what must hold is that undamaged ones pass the checks of the portable class.
        const ledger = await openFresh(harness, scope);
        const records = freshRecords(scope.random, 6);
        await ledger.append('log', 0, records);
        sameRecords(
          await collect(ledger.read('log', { from: 3, to: 4 })),
          records.slice(2, 4),
          3,
          'undamaged',
        );
      },
    },
    check: async (harness, scope) => {
      for (const seq of [1, 4, 6]) {
        const ledger = await openFresh(harness, scope);
        const records = freshRecords(scope.random, 6);
        await ledger.append('log', 0, records);
        await ledger.append('other', 0, records);
        await harness.corrupt?.(ledger, 'log', seq);
        const seen: number[] = [];
        const read = async (): Promise<void> => {
          for await (const record of ledger.read('log')) seen.push(record.seq);
        };
        const error = await refuses(
          read(),
          JournalCorruptError,
          `reading the damaged record ${seq} must say so`,
        );
        assert.equal(error.seq, seq, 'the error carries the sequence of the damaged record');
        assert.ok(seen.length < seq, 'nothing is yielded from the damaged record on');
        await holds(ledger, 'other', records, 'other ledgers are unaffected');
      }
    },
  },
  {
    clause: '7.6',
    name: 'errors carry their code and facts, and survive being sent as JSON',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, [freshRecord(scope.random)]);
      const attempt = ledger.append('log', 0, [freshRecord(scope.random)]);
      const error = await refuses(attempt, LedgerConflictError, 'a conflict');
      const sent = structuredClone(error.toJSON());
      assert.equal(sent.code, 'JOURNAL_CONFLICT', 'the code is stable');
      assert.equal(sent['ledgerName'], 'log', 'the facts are in the JSON');
      assert.deepEqual(
        JSON.parse(JSON.stringify(error)),
        JSON.parse(JSON.stringify(sent)),
        'the JSON is JSON',
      );
    },
  },
];

async function definiteAppend(harness: LedgerHarness, scope: CaseScope): Promise<void> {
  const ledger = await openFresh(harness, scope);
  const records = freshRecords(scope.random, 3);
  assert.deepEqual(
    await ledger.appendDefinite('log', 0, records),
    { tip: 3 },
    'a definite append resolves with the tip',
  );
  for (const expected of [0, 2, 5]) {
    const attempt = ledger.appendDefinite('log', expected, [freshRecord(scope.random)]);
    await refuses(
      attempt,
      LedgerConflictError,
      `a definite append with expected tip ${expected} of 3 must conflict`,
    );
  }
  await holds(ledger, 'log', records, 'a definite append writes once');
}
