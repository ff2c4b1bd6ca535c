import assert from 'node:assert/strict';

import { yieldToEventLoop } from '@holdfast/base';
import type { CaseScope } from '@holdfast/base/testing';

import { LeaseLostError, type LeaseLostKind } from '../errors.js';
import type { Lease } from '../lease.js';
import type { AcquireOptions, Leaser } from '../leaser.js';
import type { LeaserHarness } from './harness.js';

/** Step of a fake clock while the suite waits for something: below every sensible polling interval. */
const stepMilliseconds = 25;
const maxSteps = 20_000;

/** One case's tools: everything it opens is released when it ends, and every wait moves a fake clock. */
export class CaseTools {
  readonly harness: LeaserHarness;
  readonly scope: CaseScope;

  constructor(harness: LeaserHarness, scope: CaseScope) {
    this.harness = harness;
    this.scope = scope;
  }

  async fresh(): Promise<Leaser> {
    return this.scope.use(await this.harness.fresh());
  }

  async reopen(leaser: Leaser): Promise<Leaser> {
    return this.scope.use(await this.harness.reopen(leaser));
  }

  /** Two views of one fresh storage. */
  async views(): Promise<readonly [Leaser, Leaser]> {
    const first = await this.fresh();
    return [first, await this.reopen(first)];
  }

  /** The same, but the first is to be crashed, so nobody closes it. */
  async doomedViews(): Promise<readonly [Leaser, Leaser]> {
    const doomed = await this.harness.fresh();
    return [doomed, await this.reopen(doomed)];
  }

  /** A legal name that only this seed and case use. */
  name(label = 'lease'): string {
    return `${label}-${this.scope.random.below(1_000_000)}`;
  }

  async acquire(leaser: Leaser, name: string, options: AcquireOptions = {}): Promise<Lease> {
    return this.scope.use(await this.settle(leaser.acquire(name, options)));
  }

  /**
   * Begins something that is awaited later in the case. When the case fails before that, its late rejection is nobody's
   * business any more; without this it would end the whole test run.
   */
  begin<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    return promise;
  }

  /** Awaits `promise`, moving a fake clock until it settles. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    if (this.harness.advance === undefined) return await promise;
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    promise.then(mark, mark);
    for (let step = 0; !settled; step += 1) {
      assert.ok(
        step < maxSteps,
        `nothing happened within ${maxSteps * stepMilliseconds} ms of the fake clock`,
      );
      await this.harness.advance(stepMilliseconds);
      // What does not hang on the fake clock must get on as well.
      await yieldToEventLoop();
    }
    return await promise;
  }

  /** How many turns of the event loop `promise` takes to settle without a fake clock; no more than `most` are waited for. */
  async turnsOf(promise: Promise<unknown>, most: number): Promise<number> {
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    promise.then(mark, mark);
    let turns = 0;
    for (; !settled && turns < most; turns += 1) await yieldToEventLoop();
    return turns;
  }

  /** The error that `promise` rejects with; `fix` tells the adapter's author what to do when it resolves. */
  async rejection(promise: Promise<unknown>, fix: string): Promise<unknown> {
    let value: unknown;
    try {
      value = await this.settle(promise);
    } catch (error) {
      return error;
    }
    if (isLease(value)) await value.release();
    return assert.fail(fix);
  }

  /** Checks that `promise` rejects with an error of `code` and returns it. */
  async rejectsWith(promise: Promise<unknown>, code: string, fix: string): Promise<Record<string, unknown>> {
    const error = await this.rejection(promise, fix);
    const found = (error as { code?: unknown } | undefined)?.code;
    assert.equal(found, code, `${fix}; expected an error with code ${code}, found ${describe(error)}`);
    return error as Record<string, unknown>;
  }

  /** Checks that nobody holds `name`, by taking it and giving it back. Returns the epoch used up. */
  async expectFree(leaser: Leaser, name: string, fix: string): Promise<number> {
    try {
      const lease = await this.settle(leaser.acquire(name));
      await lease.release();
      return lease.epoch;
    } catch (error) {
      return assert.fail(`${fix}; acquire said ${describe(error)}`);
    }
  }

  /** Checks that `lease` still stands and that others are refused, also before a check could take the name back. */
  async expectHeld(lease: Lease, others: Leaser, fix: string): Promise<void> {
    await this.rejectsWith(others.acquire(lease.name), 'LEASE_HELD', fix);
    try {
      await this.settle(lease.check());
    } catch (error) {
      assert.fail(`${fix}; check of the holder said ${describe(error)}`);
    }
    await this.rejectsWith(others.acquire(lease.name), 'LEASE_HELD', fix);
  }

  /** Checks that `lease` says everywhere that it has ended, and how. */
  expectEnded(lease: Lease, kinds: readonly LeaseLostKind[], fix: string): void {
    assert.equal(lease.held, false, `${fix}; held is still true`);
    assert.equal(lease.expiresIn(), 0, `${fix}; expiresIn() must be 0 once the lease has ended`);
    const { aborted, reason } = lease.signal as { aborted: boolean; reason: unknown };
    assert.equal(aborted, true, `${fix}; its signal is not aborted`);
    assert.ok(
      LeaseLostError.is(reason),
      `${fix}; the reason of its signal is ${describe(reason)}, not a LeaseLostError`,
    );
    assert.ok(kinds.includes(reason.kind), `${fix}; kind is ${reason.kind}, expected ${kinds.join(' or ')}`);
    assert.equal(reason.leaseName, lease.name, `${fix}; the reason names another lease`);
    assert.equal(reason.epoch, lease.epoch, `${fix}; the reason names another epoch`);
  }
}

/** Kinds of a loss that the holder did not ask for. */
export const involuntary: readonly LeaseLostKind[] = Object.freeze(['expired', 'taken-over', 'self-fenced']);

export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${code} (${error.message})` : `${error.name} (${error.message})`;
}

function isLease(value: unknown): value is Lease {
  return typeof value === 'object' && value !== null && 'epoch' in value && 'release' in value;
}
