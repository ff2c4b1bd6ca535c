import assert from 'node:assert/strict';

import { yieldToEventLoop } from '@holdfast/base';
import type { CaseDefinition, CaseScope } from '@holdfast/base/testing';

import type { LedgerRecord } from '../../driver.js';
import { LedgerClosedError, LedgerDeletedError } from '../../errors.js';
import type { Ledger } from '../../ledger.js';
import {
  freshRecord,
  freshRecords,
  handled,
  refuses,
  rejectsWithReason,
  same,
} from '../ledger-expectations.js';
import { type LedgerHarness, openAgain, openFresh } from '../ledger-harness.js';

/** Clause 5: follow. */
export const followingCases: readonly CaseDefinition<LedgerHarness>[] = [
  {
    clause: '5.1',
    name: 'follow yields what is there, then what comes, each once and in order',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 12);
      await ledger.append('log', 0, records.slice(0, 4));
      const following = start(ledger, scope, 2);
      for (let seq = 2; seq <= 4; seq += 1) await next(following, seq, records);
      for (const [tip, count] of [
        [4, 1],
        [5, 3],
        [8, 4],
      ] as const) {
        const waiting = handled(following.next());
        await settled();
        await ledger.append('log', tip, records.slice(tip, tip + count));
        await expectRecord(await waiting, tip + 1, records);
        for (let seq = tip + 2; seq <= tip + count; seq += 1) await next(following, seq, records);
      }
      await following.return?.();
    },
  },
  {
    clause: '5.2',
    name: 'a follower that came before the ledger, or before its from, waits for it',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const records = freshRecords(scope.random, 5);
      const early = start(ledger, scope, 1);
      const late = start(ledger, scope, 4);
      const waiting = [handled(early.next()), handled(late.next())] as const;
      await settled();
      await ledger.append('log', 0, records.slice(0, 2));
      await expectRecord(await waiting[0], 1, records);
      await ledger.append('log', 2, records.slice(2));
      await expectRecord(await waiting[1], 4, records);
      await Promise.all([early.return?.(), late.return?.()]);
    },
  },
  {
    clause: '5.3',
    name: 'an abort ends a follower with the reason of its signal, waiting or not',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, [freshRecord(scope.random)]);
      const reason = new Error('enough');
      const ended = ledger.follow('log', { signal: AbortSignal.abort(reason) });
      await rejectsWithReason(
        ended.next(),
        reason,
        'follow with an aborted signal must reject with its reason',
      );
      const controller = new AbortController();
      const following = ledger.follow('log', { signal: controller.signal });
      await following.next();
      const waiting = handled(following.next());
      const check = handled(
        rejectsWithReason(waiting, reason, 'a waiting follower must reject with the reason of its signal'),
      );
      await settled();
      controller.abort(reason);
      await check;
    },
  },
  {
    clause: '5.4',
    name: 'closing the ledger ends its followers',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const following = start(ledger, scope, 1);
      const check = handled(
        refuses(following.next(), LedgerClosedError, 'close must end a waiting follower'),
      );
      await settled();
      await ledger.close();
      await check;
    },
  },
  {
    clause: '5.5',
    name: 'a follower is told when its ledger is deleted',
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      await ledger.append('log', 0, freshRecords(scope.random, 3));
      const following = start(ledger, scope, 1);
      for (let count = 0; count < 3; count += 1) await following.next();
      const check = handled(
        refuses(following.next(), LedgerDeletedError, 'a follower of a deleted ledger must be told'),
      );
      await settled();
      await ledger.delete('log');
      await check;
    },
  },
  {
    clause: '5.6',
    name: 'a follower sees what another view appends',
    requires: {
      capability: 'supports.shared',
      met: async (harness) => await sharedOf(harness),
      otherwise: async (harness, scope) => {
        // Undeclared: the only process sees its own appends, which clause 5.1 shows for one view; here for two.
        const ledger = await openFresh(harness, scope);
        const view = scope.use((await harness.view?.(ledger)) ?? (await harness.fresh()));
        const records = freshRecords(scope.random, 1);
        const target = harness.view === undefined ? view : ledger;
        const following = start(view, scope, 1);
        const waiting = handled(following.next());
        await target.append('log', 0, records);
        await expectRecord(await waiting, 1, records);
        await following.return?.();
      },
    },
    check: async (harness, scope) => {
      const ledger = await openFresh(harness, scope);
      const view = await openAgain(harness, scope, ledger);
      const records = freshRecords(scope.random, 3);
      const following = start(view, scope, 1);
      for (const [tip, record] of records.entries()) {
        const waiting = handled(following.next());
        await ledger.append('log', tip, [record]);
        await expectRecord(await waiting, tip + 1, records);
      }
      await following.return?.();
    },
  },
];

/** Whether several processes may use the storage at once. */
export async function sharedOf(harness: LedgerHarness): Promise<boolean> {
  const ledger = await harness.fresh();
  try {
    return ledger.supports.shared;
  } finally {
    await ledger.close();
  }
}

function start(ledger: Ledger, scope: CaseScope, from: number): AsyncIterator<LedgerRecord> {
  const controller = new AbortController();
  scope.defer(() => {
    controller.abort(new Error('the case is over'));
  });
  return ledger.follow('log', { from, signal: controller.signal });
}

/** Lets a follower that was just asked get as far as its wait. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await yieldToEventLoop();
}

async function next(
  following: AsyncIterator<LedgerRecord>,
  seq: number,
  records: readonly Uint8Array[],
): Promise<void> {
  await expectRecord(await following.next(), seq, records);
}

async function expectRecord(
  step: IteratorResult<LedgerRecord>,
  seq: number,
  records: readonly Uint8Array[],
): Promise<void> {
  assert.ok(step.done !== true, `a follower must not end by itself; it ended before record ${seq}`);
  assert.equal(step.value.seq, seq, 'a follower yields each record once and in order');
  same(step.value.data, records[seq - 1] as Uint8Array, `record ${seq}`);
}
