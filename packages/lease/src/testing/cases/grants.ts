import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import { LeaseHeldError } from '../../errors.js';
import type { Lease } from '../../lease.js';
import type { Leaser } from '../../leaser.js';
import { type CaseTools, describe } from '../case-helpers.js';
import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';

/** Section 2 of the contract: grants and exclusion. */
export const grantCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('2.1', 'a granted lease is held, has a safe epoch and a live signal', async (tools) => {
    const leaser = await tools.fresh();
    const name = tools.name();
    const lease = await tools.acquire(leaser, name);
    assert.equal(lease.name, name, 'lease.name must be the name that was asked for');
    assert.ok(
      Number.isSafeInteger(lease.epoch) && lease.epoch >= 1,
      `epoch ${lease.epoch} is not a safe integer ≥ 1`,
    );
    assert.equal(lease.held, true, 'a lease that was just granted must be held');
    assert.equal(
      lease.signal.aborted,
      false,
      'the signal of a lease that was just granted must not be aborted',
    );
    assert.ok(lease.expiresIn() > 0, 'expiresIn() of a lease that was just granted must be above 0');
  }),

  leaserCase('2.2', 'a held name is refused to the same leaser', async (tools) => {
    const leaser = await tools.fresh();
    const lease = await tools.acquire(leaser, tools.name());
    await expectRefusal(tools, lease, leaser);
  }),

  leaserCase('2.3', 'a held name is refused to a second view', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    await expectRefusal(tools, lease, second);
    const other = await tools.acquire(second, tools.name('other'));
    await expectRefusal(tools, other, first);
  }),

  leaserCase('2.4', 'the refusal tells who holds the name', async (tools) => {
    const [first, second] = await tools.views();
    const owner = { title: 'nightly build', pid: 4711, tags: ['a', 'b'], nested: { deep: null, yes: true } };
    const lease = await tools.acquire(first, tools.name(), { owner });
    for (const leaser of [first, second]) {
      const error = await tools.rejectsWith(
        leaser.acquire(lease.name),
        'LEASE_HELD',
        'a held name must be refused',
      );
      assert.deepEqual(error['owner'], owner, 'LeaseHeldError.owner must be what the holder gave to acquire');
    }
  }),

  leaserCase('2.5', 'the owner is copied when the lease is acquired', async (tools) => {
    const [first, second] = await tools.views();
    const owner = { title: 'before', tags: ['one'] };
    const acquiring = tools.begin(first.acquire(tools.name(), { owner }));
    owner.title = 'after';
    owner.tags.push('two');
    const lease = tools.scope.use(await tools.settle(acquiring));
    const error = await tools.rejectsWith(
      second.acquire(lease.name),
      'LEASE_HELD',
      'a held name must be refused',
    );
    assert.deepEqual(
      error['owner'],
      { title: 'before', tags: ['one'] },
      'changes that the caller makes to its owner object after the call must not be seen',
    );
  }),

  leaserCase(
    '2.6',
    'of several attempts at once through one leaser exactly one is granted',
    async (tools) => {
      const leaser = await tools.fresh();
      for (let round = 0; round < 4; round += 1) {
        await expectOneWinner(
          tools,
          tools.name(),
          Array.from({ length: 6 }, () => leaser),
        );
      }
    },
  ),

  leaserCase('2.7', 'of several attempts at once through two views exactly one is granted', async (tools) => {
    const [first, second] = await tools.views();
    const name = tools.name();
    for (let round = 0; round < 6; round += 1) {
      await expectOneWinner(tools, name, [first, second, second, first, first, second]);
    }
  }),

  leaserCase('2.8', 'a refused attempt changes nothing for the holder', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await tools.rejectsWith(second.acquire(lease.name), 'LEASE_HELD', 'a held name must be refused');
    }
    await tools.settle(lease.check());
    assert.equal(lease.held, true, 'refused attempts by others must not end the lease');
    await lease.release();
    await tools.expectFree(second, lease.name, 'refused attempts must not leave a claim behind');
  }),

  leaserCase('2.9', 'several names can be held at once and end one by one', async (tools) => {
    const [first, second] = await tools.views();
    const names = ['one', 'two', 'three'].map((label) => tools.name(label));
    const leases = await Promise.all(names.map(async (name) => await tools.acquire(first, name)));
    const [one, two, three] = leases as [Lease, Lease, Lease];
    await two.release();
    await tools.expectFree(second, two.name, 'releasing a lease must free its name');
    await tools.expectHeld(one, second, 'releasing one lease must not end another');
    await tools.expectHeld(three, second, 'releasing one lease must not end another');
  }),
];

async function expectRefusal(tools: CaseTools, lease: Lease, leaser: Leaser): Promise<void> {
  const fix = 'acquire must throw LeaseHeldError while a live holder exists';
  const error = await tools.rejectsWith(leaser.acquire(lease.name), 'LEASE_HELD', fix);
  assert.equal(
    error['leaseName'],
    lease.name,
    'LeaseHeldError.leaseName must be the name that was asked for',
  );
  assert.equal(
    error['holderEpoch'],
    lease.epoch,
    'LeaseHeldError.holderEpoch must be the epoch of the present holder',
  );
  assert.equal(error['effect'], 'none', 'a refusal must state that nothing was changed');
}

async function expectOneWinner(tools: CaseTools, name: string, leasers: readonly Leaser[]): Promise<void> {
  const attempts = leasers.map(async (leaser) => await leaser.acquire(name));
  const outcomes = await tools.settle(Promise.allSettled(attempts));
  const granted: Lease[] = [];
  const refused: unknown[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') granted.push(outcome.value);
    else refused.push(outcome.reason);
  }
  for (const lease of granted) await lease.release();
  assert.equal(
    granted.length,
    1,
    `${granted.length} of ${leasers.length} attempts at once were granted, expected one`,
  );
  for (const error of refused) {
    assert.ok(
      LeaseHeldError.is(error),
      `the losers of a race must get LeaseHeldError, one got ${describe(error)}`,
    );
  }
}
