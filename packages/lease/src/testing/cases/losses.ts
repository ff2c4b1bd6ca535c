import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { involuntary } from '../case-helpers.js';
import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';
import { corruption, crash, expiry, outage, suspension } from '../requirements.js';

/** Section 5 of the contract: check, loss, crash and damage. */
export const lossCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('5.1', 'check succeeds while the lease is held and changes nothing', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    const { epoch } = lease;
    for (let round = 0; round < 3; round += 1) await tools.settle(lease.check());
    assert.equal(lease.epoch, epoch, 'check must not change the epoch');
    await tools.expectHeld(lease, second, 'check must not end the lease');
  }),

  leaserCase(
    '5.2',
    'a holder that is cut off knows that it has lost before others can be granted the name',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      await tools.harness.expire?.(lease, first);
      const fix = 'abort `lost` before the time-to-live can have run out elsewhere';
      tools.expectEnded(lease, involuntary, fix);
      const next = await tools.acquire(second, lease.name);
      assert.ok(next.epoch > lease.epoch, 'an expired grant must not take its epoch with it');
    },
    expiry,
  ),

  leaserCase(
    '5.3',
    'a loss is reported once, with one reason',
    async (tools) => {
      const leaser = await tools.fresh();
      const lease = await tools.acquire(leaser, tools.name());
      let events = 0;
      lease.signal.addEventListener('abort', () => {
        events += 1;
      });
      await tools.harness.expire?.(lease, leaser);
      const first = await tools.rejectsWith(lease.check(), 'LEASE_LOST', 'check must fail after a loss');
      await tools.settle(lease.release());
      const second = await tools.rejectsWith(lease.check(), 'LEASE_LOST', 'check must fail after a loss');
      assert.equal(second, first, 'every check after a loss must give the same reason');
      assert.equal(lease.signal.reason, first, 'check and signal must give the same reason');
      assert.equal(events, 1, `the signal fired ${events} times`);
    },
    expiry,
  ),

  leaserCase(
    '5.4',
    'a holder that was overtaken while it was stopped learns it from check',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      await tools.harness.suspend?.(lease, first);
      const next = await tools.acquire(second, lease.name);
      const fix = 'check must ask the backend, not the local deadline alone';
      await tools.rejectsWith(lease.check(), 'LEASE_LOST', fix);
      tools.expectEnded(lease, involuntary, fix);
      await tools.expectHeld(next, first, 'the check of an old holder must not disturb the new one');
    },
    suspension,
  ),

  leaserCase(
    '5.5',
    'a stopped holder that nobody overtook loses nothing or says so',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      await tools.harness.suspend?.(lease, first);
      try {
        await tools.settle(lease.check());
      } catch {
        tools.expectEnded(lease, involuntary, 'a check that fails must end the lease');
        return;
      }
      // A check that succeeded is a promise: it must have shut out everybody who was about to take over.
      await tools.expectHeld(lease, second, 'a lease that was confirmed must exclude others again');
    },
    suspension,
  ),

  leaserCase('5.6', 'check refuses an aborted signal with its reason and keeps the lease', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    const reason = new Error('caller gave up');
    const error = await tools.rejection(
      lease.check({ signal: AbortSignal.abort(reason) }),
      'check must reject when its signal is aborted',
    );
    assert.equal(error, reason, 'an abort must reject with the reason of the signal itself');
    await tools.expectHeld(lease, second, 'an aborted check must not end the lease');
  }),

  leaserCase(
    '5.7',
    'an outage during check is neither a loss nor a success',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      const repair = await tools.harness.outage?.(first);
      const fix = 'a check that cannot reach the backend must throw what happened, and not guess';
      try {
        await tools.rejectsWith(lease.check(), 'LEASE_BACKEND', fix);
      } finally {
        repair?.();
      }
      await tools.expectHeld(lease, second, 'a short outage must not end the lease');
    },
    outage,
  ),

  leaserCase(
    '5.8',
    'an outage during acquire is never reported as held, nor as free',
    async (tools) => {
      const [first, second] = await tools.views();
      const held = await tools.acquire(second, tools.name('held'));
      const repair = await tools.harness.outage?.(first);
      const fix = 'acquire must throw LeaserBackendError when the backend cannot be asked';
      try {
        for (const wait of [false, true]) {
          await tools.rejectsWith(first.acquire(held.name, { wait }), 'LEASE_BACKEND', fix);
          await tools.rejectsWith(first.acquire(tools.name('free'), { wait }), 'LEASE_BACKEND', fix);
        }
      } finally {
        repair?.();
      }
      await tools.expectHeld(held, first, 'after the outage the present holder must still be there');
    },
    outage,
  ),

  leaserCase(
    '5.9',
    'the lease of a crashed holder can be taken over, with a higher epoch',
    async (tools) => {
      const [doomed, second] = await tools.doomedViews();
      const name = tools.name();
      const lost = await tools.settle(doomed.acquire(name));
      await tools.harness.crash?.(doomed);
      const next = await tools.acquire(second, name);
      assert.ok(
        next.epoch > lost.epoch,
        `epoch ${next.epoch} after a crash, expected one above ${lost.epoch}`,
      );
      await tools.expectHeld(
        next,
        await tools.reopen(second),
        'after a takeover the name must be held again',
      );
    },
    crash,
  ),

  leaserCase(
    '5.10',
    'damaged storage is never read as free, and never lowers the epoch',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      await tools.harness.corrupt?.(first, lease.name);
      const fix = 'a record that cannot be read says nothing about its holder: refuse, and keep the counter';
      const error = await tools.rejection(second.acquire(lease.name), fix);
      const { code } = error as { code?: unknown };
      assert.ok(code === 'LEASE_HELD' || code === 'LEASE_BACKEND', `${fix}; found ${String(error)}`);
      await tools.settle(lease.release());
      try {
        const next = await tools.acquire(second, lease.name);
        assert.ok(
          next.epoch > lease.epoch,
          `epoch ${next.epoch} after damage, expected one above ${lease.epoch}`,
        );
      } catch (later) {
        assert.notEqual((later as { code?: unknown }).code, undefined, 'refusals must be typed');
      }
    },
    corruption,
  ),
];
