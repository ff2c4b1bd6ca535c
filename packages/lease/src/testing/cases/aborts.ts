import assert from 'node:assert/strict';

import { yieldToEventLoop } from '@holdfast/base';
import type { CaseDefinition } from '@holdfast/base/testing';

import type { Lease } from '../../lease.js';
import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';

/** Into how many parts the time of an acquire is divided, and how many turns of the event loop are waited for it. */
const parts = 12;
const mostTurns = 2_000;

/** Section 7 of the contract: aborts. */
export const abortCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('7.1', 'an aborted signal is refused with its reason, without effect', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    const reason = { any: 'value, not only errors' };
    for (const wait of [false, true]) {
      const error = await tools.rejection(
        first.acquire(name, { wait, signal: AbortSignal.abort(reason) }),
        'acquire must reject when its signal is already aborted',
      );
      assert.equal(error, reason, 'an abort must reject with the reason of the signal itself');
    }
    await tools.expectFree(second, name, 'an acquire that was aborted before it began must have no effect');
  }),

  leaserCase('7.2', 'an abort during acquire gives the grant back', async (tools) => {
    const [first, second] = await tools.views();
    const abortAfter = async (when: string, pass: () => Promise<void>): Promise<void> => {
      const name = tools.name(when);
      const controller = new AbortController();
      const reason = new Error(`aborted ${when}`);
      const acquiring = tools.begin(first.acquire(name, { signal: controller.signal }));
      await pass();
      controller.abort(reason);
      let lease: Lease | undefined;
      try {
        lease = await tools.settle(acquiring);
      } catch (error) {
        assert.equal(error, reason, 'an abort must reject with the reason of the signal itself');
      }
      await lease?.release();
      await tools.expectFree(second, name, 'an acquire that was aborted must give back what it was granted');
    };
    for (const turns of [0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 40]) {
      await abortAfter(`after-${turns}-promises`, async () => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      });
    }
    // A backend that is asked over a wire answers long after those, and more than once: between any two of its answers too.
    const whole = tools.begin(first.acquire(tools.name('whole')));
    const turns = await tools.turnsOf(whole, mostTurns);
    await (await tools.settle(whole)).release();
    for (let part = 1; part < parts; part += 1) {
      await abortAfter(`in-part-${part}`, async () => {
        for (let turn = 0; turn < (turns * part) / parts; turn += 1) await yieldToEventLoop();
      });
    }
  }),

  leaserCase('7.3', 'an abort after the grant does not touch the lease', async (tools) => {
    const [first, second] = await tools.views();
    const controller = new AbortController();
    const lease = await tools.acquire(first, tools.name(), { signal: controller.signal });
    controller.abort(new Error('too late'));
    assert.equal(lease.held, true, 'the signal of acquire must not end a granted lease');
    await tools.expectHeld(lease, second, 'the signal of acquire must not end a granted lease');
  }),

  leaserCase('7.4', 'a held name is refused and not waited for when the signal is live', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    const { signal } = new AbortController();
    const fix = 'acquire without wait must refuse a held name at once';
    await tools.rejectsWith(leaser.acquire(lease.name, { signal }), 'LEASE_HELD', fix);
    await tools.rejectsWith(leaser.acquire(lease.name, { signal, wait: false }), 'LEASE_HELD', fix);
  }),
];
