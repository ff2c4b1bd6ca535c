import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { involuntary } from '../case-helpers.js';
import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';
import { expiry, suspension } from '../requirements.js';

/** Section 4 of the contract: release. */
export const releaseCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('4.1', 'a released name is free at once, for every view', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    for (const [holder, next] of [
      [first, second],
      [second, first],
    ] as const) {
      const lease = await tools.acquire(holder, name);
      await lease.release();
      const later = await tools.acquire(next, name);
      await later.release();
    }
  }),

  leaserCase('4.2', 'release ends the lease everywhere it shows', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    await lease.release();
    tools.expectEnded(lease, ['released'], 'release must end the lease with kind "released"');
    const error = await tools.rejectsWith(lease.check(), 'LEASE_LOST', 'check must fail after release');
    assert.equal(error['kind'], 'released');
  }),

  leaserCase('4.3', 'the signal is aborted before the name is given away', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    let abortedFirst = false;
    lease.signal.addEventListener('abort', () => {
      abortedFirst = true;
    });
    const waiting = tools.begin(
      second.acquire(lease.name, { wait: true }).then((next) => {
        tools.scope.use(next);
        return abortedFirst;
      }),
    );
    const released = tools.begin(lease.release());
    assert.equal(await tools.settle(waiting), true, 'abort the signal before the backend frees the name');
    await released;
  }),

  leaserCase('4.4', 'release can be called again, also at the same time', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    await Promise.all([lease.release(), lease.release(), lease.release()]);
    await lease.release();
    await tools.expectFree(leaser, lease.name, 'a name that was released several times must be free');
  }),

  leaserCase('4.5', 'a late second release does not free the next holder', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    for (const next of [first, second]) {
      const old = await tools.acquire(first, name);
      await old.release();
      const successor = await tools.acquire(next, name);
      await old.release();
      await tools.expectHeld(successor, first, 'release must compare the epoch before it frees the name');
      await successor.release();
    }
  }),

  leaserCase(
    '4.6',
    'release by a holder that was overtaken unawares does not free the next holder',
    async (tools) => {
      const [first, second] = await tools.views();
      const old = await tools.acquire(first, tools.name());
      await tools.harness.suspend?.(old, first);
      const successor = await tools.acquire(second, old.name);
      await tools.settle(old.release());
      await tools.expectHeld(successor, first, 'release must compare the epoch before it frees the name');
    },
    suspension,
  ),

  leaserCase(
    '4.7',
    'release after a loss succeeds and changes nothing',
    async (tools) => {
      const [first, second] = await tools.views();
      const old = await tools.acquire(first, tools.name());
      await tools.harness.expire?.(old, first);
      const successor = await tools.acquire(second, old.name);
      await tools.settle(old.release());
      tools.expectEnded(old, involuntary, 'release after a loss must keep the reason of the loss');
      await tools.expectHeld(successor, first, 'release after a loss must not free the next holder');
    },
    expiry,
  ),

  leaserCase('4.8', 'a lease releases itself at the end of its scope', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    {
      await using lease = await tools.settle(leaser.acquire(name));
      assert.equal(lease.held, true);
    }
    await tools.expectFree(leaser, name, 'Symbol.asyncDispose of a lease must release it');
  }),
];
