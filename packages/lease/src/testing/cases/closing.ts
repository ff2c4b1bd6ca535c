import assert from 'node:assert/strict';
import { isAbsolute, resolve } from 'node:path';

import type { CaseDefinition } from '@holdfast/base/testing';

import { leaserCase } from '../define-cases.js';
import type { LeaserHarness } from '../harness.js';

/** Sections 8 and 9 of the contract: closing, declarations and errors. */
export const closingCases: readonly CaseDefinition<LeaserHarness>[] = [
  leaserCase('8.1', 'close ends the leases that are still held and frees their names', async (tools) => {
    const [first, second] = await tools.views();
    const leases = [await tools.acquire(first, tools.name('a')), await tools.acquire(first, tools.name('b'))];
    await first.close();
    for (const lease of leases) {
      tools.expectEnded(lease, ['closed'], 'close must end every lease with kind "closed"');
      await tools.expectFree(second, lease.name, 'close must give back what is still held');
    }
  }),

  leaserCase('8.2', 'a closed leaser refuses to acquire', async (tools) => {
    const leaser = await tools.fresh();
    await leaser.close();
    for (const wait of [false, true]) {
      const fix = 'acquire after close must reject with LeaserClosedError';
      await tools.rejectsWith(leaser.acquire(tools.name(), { wait }), 'LEASE_CLOSED', fix);
    }
  }),

  leaserCase('8.3', 'close rejects those who wait', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    const waiting = [0, 1].map(async () => await second.acquire(lease.name, { wait: true }));
    const outcomes = Promise.allSettled(waiting);
    await tools.settle(second.close());
    for (const outcome of await tools.settle(outcomes)) {
      assert.equal(outcome.status, 'rejected', 'a waiter must not be granted a name by close');
      const { code } = (outcome as PromiseRejectedResult).reason as { code?: unknown };
      assert.equal(code, 'LEASE_CLOSED', 'close must reject waiters with LeaserClosedError');
    }
    await tools.expectHeld(lease, first, 'closing one view must not touch the leases of another');
  }),

  leaserCase('8.4', 'close can be called again, also at the same time', async (tools) => {
    const leaser = await tools.fresh();
    await tools.acquire(leaser, tools.name());
    await Promise.all([leaser.close(), leaser.close()]);
    await leaser.close();
    await leaser[Symbol.asyncDispose]();
  }),

  leaserCase('8.5', 'leases of a closed leaser can be released and fail their checks', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    await first.close();
    const error = await tools.rejectsWith(lease.check(), 'LEASE_LOST', 'check must fail after close');
    assert.equal(error['kind'], 'closed');
    const next = await tools.acquire(second, lease.name);
    await lease.release();
    await tools.settle(next.check());
  }),

  leaserCase('8.6', 'closing one view leaves the leases of another alone', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name());
    await second.close();
    await tools.expectHeld(
      lease,
      await tools.reopen(first),
      'close must end only the leases of its own leaser',
    );
  }),

  leaserCase('8.7', 'a leaser closes itself at the end of its scope', async (tools) => {
    const first = await tools.fresh();
    const second = await tools.reopen(first);
    const lease = await tools.acquire(first, tools.name());
    await first[Symbol.asyncDispose]();
    tools.expectEnded(lease, ['closed'], 'Symbol.asyncDispose of a leaser must close it');
    await tools.expectFree(second, lease.name, 'Symbol.asyncDispose of a leaser must close it');
  }),

  leaserCase('9.1', 'the declaration is frozen and says how far exclusion reaches', async (tools) => {
    const leaser = await tools.fresh();
    const { supports } = leaser;
    assert.ok(Object.isFrozen(supports), 'supports must be a frozen object');
    assert.ok(['process', 'host', 'fleet'].includes(supports.scope), `scope ${supports.scope} is not known`);
    assert.equal(typeof supports.durable, 'boolean', 'supports.durable must be a boolean');
  }),

  leaserCase('9.2', 'storage paths are absolute, resolved and a fresh list', async (tools) => {
    const leaser = await tools.fresh();
    const paths = leaser.storagePaths();
    for (const path of paths) {
      assert.ok(
        isAbsolute(path) && resolve(path) === path,
        `storage path ${path} must be absolute and resolved`,
      );
    }
    try {
      (paths as string[]).push('/changed/by/the/caller');
    } catch {
      // Frozen is as good as copied.
    }
    assert.equal(
      leaser.storagePaths().includes('/changed/by/the/caller'),
      false,
      'storagePaths must not share its list',
    );
  }),

  leaserCase('9.3', 'errors carry their facts and survive serialization', async (tools) => {
    const [first, second] = await tools.views();
    const lease = await tools.acquire(first, tools.name(), { owner: { title: 'me' } });
    const errors = [
      await tools.rejectsWith(second.acquire(lease.name), 'LEASE_HELD', 'a held name must be refused'),
    ];
    await lease.release();
    errors.push(await tools.rejectsWith(lease.check(), 'LEASE_LOST', 'check must fail after release'));
    await first.close();
    errors.push(
      await tools.rejectsWith(first.acquire(lease.name), 'LEASE_CLOSED', 'acquire must fail after close'),
    );
    for (const error of errors) {
      assert.ok(error instanceof Error, 'failures must be errors');
      const json: unknown = JSON.parse(JSON.stringify(error));
      assert.deepEqual(structuredClone(json), json);
      const { code, message } = json as { code?: unknown; message?: unknown };
      assert.equal(code, error['code'], 'toJSON must carry the code');
      assert.equal(message, error.message, 'toJSON must carry the message');
      assert.match(
        error.message,
        /^[a-z][^\n]*[^.\n]$/,
        'messages are one line, lower case, without a full stop',
      );
    }
  }),
];
