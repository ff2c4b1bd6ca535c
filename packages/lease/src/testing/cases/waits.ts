import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';
import { crash, expiry } from '../requirements.js';

/** Section 6 of the contract: waiting. */
export const waitCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('6.1', 'waiting for a free name grants it at once', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name(), { wait: true });
    assert.equal(lease.held, true);
  }),

  leaserCase('6.2', 'a waiter is granted the name when it is released, in the same leaser', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    const waiting = tools.begin(leaser.acquire(lease.name, { wait: true }));
    await passTime(tools.harness);
    await lease.release();
    const next = tools.scope.use(await tools.settle(waiting));
    assert.ok(next.epoch > lease.epoch, 'a waiter gets a new epoch');
  }),

  leaserCase('6.3', 'a waiter is granted the name when another view releases it', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    const waiting = tools.begin(second.acquire(lease.name, { wait: true }));
    await passTime(tools.harness);
    await lease.release();
    const next = tools.scope.use(await tools.settle(waiting));
    assert.ok(next.epoch > lease.epoch, 'a waiter gets a new epoch');
    await tools.expectHeld(next, first, 'a waiter that was granted the name must hold it');
  }),

  leaserCase('6.4', 'a waiter is not granted the name while somebody holds it', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    let granted = false;
    const controller = new AbortController();
    const waiting = tools.begin(
      second.acquire(lease.name, { wait: true, signal: controller.signal }).then((next) => {
        granted = true;
        return next;
      }),
    );
    for (let round = 0; round < 3; round += 1) {
      await passTime(tools.harness);
      await tools.settle(lease.check());
    }
    assert.equal(granted, false, 'acquire with wait must not resolve while a live holder exists');
    controller.abort(new Error('enough'));
    await tools.rejection(waiting, 'an aborted waiter must not be granted the name');
  }),

  leaserCase('6.5', 'waiters of one leaser are granted the name in order of arrival', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    const order: number[] = [];
    const waiters = [0, 1, 2, 3, 4].map(async (index) => {
      const next = await leaser.acquire(lease.name, { wait: true });
      order.push(index);
      await next.release();
    });
    const all = tools.begin(Promise.all(waiters));
    await passTime(tools.harness);
    await lease.release();
    await tools.settle(all);
    assert.deepEqual(order, [0, 1, 2, 3, 4], 'waiters must be granted the name first come, first served');
  }),

  leaserCase('6.6', 'a waiter that gives up rejects with its reason and leaves no claim', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    const controller = new AbortController();
    const reason = new Error('tired of waiting');
    const waiting = tools.begin(second.acquire(lease.name, { wait: true, signal: controller.signal }));
    await passTime(tools.harness);
    controller.abort(reason);
    const error = await tools.rejection(waiting, 'an aborted waiter must reject');
    assert.equal(error, reason, 'an abort must reject with the reason of the signal itself');
    await tools.expectHeld(lease, second, 'a waiter that gives up must not touch the holder');
    await lease.release();
    await tools.expectFree(first, lease.name, 'a waiter that gave up must not be granted the name later');
  }),

  leaserCase('6.7', 'a waiter that gives up does not hold up those behind it', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    const controller = new AbortController();
    const reason = new Error('second in line gives up');
    const front = tools.begin(leaser.acquire(lease.name, { wait: true }));
    const middle = tools.begin(leaser.acquire(lease.name, { wait: true, signal: controller.signal }));
    const back = tools.begin(leaser.acquire(lease.name, { wait: true }));
    controller.abort(reason);
    assert.equal(await tools.rejection(middle, 'an aborted waiter must reject'), reason);
    await lease.release();
    const next = await tools.settle(front);
    await next.release();
    const last = await tools.settle(back);
    await last.release();
    assert.ok(last.epoch > next.epoch, 'those behind must be granted the name in turn');
  }),

  leaserCase(
    '6.8',
    'a waiter is granted the name when the holder crashes',
    async (tools) => {
      const [doomed, second] = await tools.doomedViews();
      const name = tools.name();
      const lost = await tools.settle(doomed.acquire(name));
      const waiting = tools.begin(second.acquire(name, { wait: true }));
      await passTime(tools.harness);
      await tools.harness.crash?.(doomed);
      const next = tools.scope.use(await tools.settle(waiting));
      assert.ok(next.epoch > lost.epoch, 'a waiter gets a new epoch');
    },
    crash,
  ),

  leaserCase(
    '6.9',
    'a waiter is granted the name when the holder is cut off',
    async (tools) => {
      const [first, second] = await tools.views();
      const lease = await tools.acquire(first, tools.name());
      const waiting = tools.begin(second.acquire(lease.name, { wait: true }));
      await passTime(tools.harness);
      await tools.harness.expire?.(lease, first);
      const next = tools.scope.use(await tools.settle(waiting));
      assert.ok(next.epoch > lease.epoch, 'a waiter gets a new epoch');
    },
    expiry,
  ),

  leaserCase('6.10', 'waiting for one name does not hold up another', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name('busy'));
    const controller = new AbortController();
    const waiting = tools.begin(leaser.acquire(lease.name, { wait: true, signal: controller.signal }));
    const other = await tools.acquire(leaser, tools.name('idle'), { wait: true });
    assert.equal(other.held, true);
    controller.abort(new Error('enough'));
    await tools.rejection(waiting, 'an aborted waiter must reject');
  }),
];

/** Lets a fake clock, or a few turns of the queue, go by, so that a waiter has really begun to wait. */
async function passTime(harness: LeaserHarness): Promise<void> {
  await harness.advance?.(200);
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}
