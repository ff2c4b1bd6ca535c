import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';

/** Section 3 of the contract: epochs. */
export const epochCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('3.1', 'epochs rise strictly from grant to grant', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    let last = 0;
    for (let round = 0; round < 12; round += 1) {
      const lease = await tools.acquire(leaser, name);
      expectAbove(lease.epoch, last, 'release must keep the epoch counter; never delete the record');
      last = lease.epoch;
      await lease.release();
    }
  }),

  leaserCase('3.2', 'epochs rise strictly across views', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    let last = 0;
    for (let round = 0; round < 8; round += 1) {
      const lease = await tools.acquire(round % 2 === 0 ? first : second, name);
      expectAbove(lease.epoch, last, 'the counter must live in the backend, not in the leaser');
      last = lease.epoch;
      await lease.release();
    }
  }),

  leaserCase(
    '3.3',
    'epochs go on rising after every leaser was closed',
    async (tools) => {
      let leaser = await tools.fresh();
      const name = tools.name();
      let last = 0;
      for (let round = 0; round < 3; round += 1) {
        const lease = await tools.acquire(leaser, name);
        expectAbove(lease.epoch, last, 'a durable driver must keep the counter when it is closed');
        last = lease.epoch;
        await leaser.close();
        leaser = await tools.reopen(leaser);
      }
    },
    {
      capability: 'supports.durable',
      met: async (harness) => {
        await using leaser = await harness.fresh();
        return leaser.supports.durable;
      },
      otherwise: async (tools) => {
        const paths = (await tools.fresh()).storagePaths();
        assert.deepEqual(
          paths,
          [],
          'a driver that stores files must keep epochs, and declare supports.durable',
        );
      },
    },
  ),

  leaserCase('3.4', 'the epoch is above the number that the caller gives', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    const raised = await tools.acquire(first, name, { above: 41 });
    expectAbove(raised.epoch, 41, 'acquire must grant above options.above');
    await tools.expectHeld(raised, second, 'a lease with a raised epoch must exclude others like any other');
    await raised.release();
    const next = await tools.acquire(second, name);
    expectAbove(next.epoch, raised.epoch, 'a raised epoch must be remembered');
    await next.release();
    const above = next.epoch + 41;
    const known = await tools.acquire(first, name, { above });
    expectAbove(known.epoch, above, 'options.above holds for a name that has a counter already, too');
  }),

  leaserCase('3.5', 'a number below the counter does not lower it', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    const raised = await tools.acquire(leaser, name, { above: 100 });
    await raised.release();
    const next = await tools.acquire(leaser, name, { above: 3 });
    expectAbove(next.epoch, raised.epoch, 'take the larger of the counter and options.above, then add one');
  }),

  leaserCase('3.6', 'epochs beyond 32 bits are exact', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    let last = 2 ** 52;
    for (const leaser of [first, second, first]) {
      const lease = await tools.acquire(leaser, name, { above: last });
      expectAbove(lease.epoch, last, 'keep epochs as 64-bit integers');
      assert.ok(
        lease.epoch < last + 1_000_000,
        `epoch jumped from ${last} to ${lease.epoch}: digits were lost`,
      );
      const error = await tools.rejectsWith(
        second.acquire(name),
        'LEASE_HELD',
        'a held name must be refused',
      );
      assert.equal(error['holderEpoch'], lease.epoch, 'holderEpoch must be exact');
      last = lease.epoch;
      await lease.release();
    }
  }),

  leaserCase('3.7', 'when no safe epoch is left, acquire fails and never wraps', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    const last = await tools.acquire(leaser, name, { above: Number.MAX_SAFE_INTEGER - 1 });
    assert.equal(last.epoch, Number.MAX_SAFE_INTEGER, 'the largest safe integer is a legal epoch');
    await last.release();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const fix = 'refuse to grant an epoch above the largest safe integer';
      await tools.rejectsWith(leaser.acquire(name), 'LEASE_BACKEND', fix);
    }
  }),

  leaserCase('3.8', 'a wrong number for "above" is an argument mistake', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    for (const above of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, '7']) {
      const fix = `acquire must refuse above: ${String(above)}`;
      const error = await tools.rejection(leaser.acquire(name, { above: above as number }), fix);
      assert.ok(error instanceof RangeError || error instanceof TypeError, fix);
    }
    const epoch = await tools.expectFree(leaser, name, 'a refused argument must leave the name free');
    assert.ok(epoch < 1_000_000, 'a refused argument must not raise the counter');
  }),
];

function expectAbove(epoch: number, last: number, fix: string): void {
  assert.ok(epoch > last, `epoch ${epoch} was granted, expected one above ${last}: ${fix}`);
  assert.ok(Number.isSafeInteger(epoch), `epoch ${epoch} is not a safe integer`);
}
