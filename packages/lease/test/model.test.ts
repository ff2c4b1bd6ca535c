import { ModelFileSystem } from '@holdfast/durable/testing';
import type { Lease, Leaser } from '@holdfast/lease';
import { fsLeaserHarness, type LeaserHarness, memoryLeaserHarness } from '@holdfast/lease/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { type Mutation, referenceHarness } from './mutants/reference.js';
import { mutants } from './mutants/table.js';

type Step =
  | { readonly kind: 'acquire'; readonly name: string; readonly above: number }
  | { readonly kind: 'abort-before' | 'overtake' | 'hand-over' | 'expire' | 'crash'; readonly name: string }
  | { readonly kind: 'abort-during'; readonly name: string; readonly turns: number }
  | { readonly kind: 'release' | 'check' | 'release-old'; readonly name: string };

interface Holding {
  readonly lease: Lease;
  readonly leaser: Leaser;
}

/** What the contract says, without any driver: who holds what, and which epochs are used up. */
class Reference {
  readonly #harness: LeaserHarness;
  readonly #root: Leaser;
  readonly #holders = new Map<string, Holding>();
  readonly #past: Holding[] = [];
  readonly #epochs = new Map<string, number>();

  constructor(harness: LeaserHarness, root: Leaser) {
    this.#harness = harness;
    this.#root = root;
  }

  async run(step: Step): Promise<void> {
    const { name } = step;
    const holding = this.#holders.get(name);
    switch (step.kind) {
      case 'acquire': {
        await this.#acquire(name, step.above);
        return;
      }
      case 'abort-before': {
        const reason = new Error('before');
        const leaser = await this.#view();
        await expect(leaser.acquire(name, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
        return;
      }
      case 'abort-during': {
        await this.#abortDuring(name, step.turns);
        return;
      }
      case 'release-old': {
        for (const { lease } of this.#past) await lease.release();
        return;
      }
      default: {
        if (holding !== undefined) await this.#toHolder(step.kind, name, holding);
      }
    }
  }

  async finish(): Promise<void> {
    for (const { lease } of this.#past) {
      expect(lease.held).toBe(false);
      await expect(lease.check()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    }
    for (const { lease } of this.#holders.values()) {
      expect(lease.held).toBe(true);
      await lease.check();
    }
  }

  async #toHolder(kind: Step['kind'], name: string, holding: Holding): Promise<void> {
    const { lease, leaser } = holding;
    if (kind === 'check') {
      await lease.check();
      return;
    }
    const { expire, suspend, crash } = this.#harness;
    const next = await this.#view();
    if (kind === 'release') await lease.release();
    if (kind === 'expire') await expire?.(lease, leaser);
    if (kind === 'overtake') await suspend?.(lease, leaser);
    if (kind === 'crash') {
      if (crash === undefined) return;
      await crash(leaser);
    }
    if (kind === 'hand-over') {
      const waiting = next.acquire(name, { wait: true });
      await this.#harness.advance?.(50);
      await lease.release();
      this.#hold(name, { lease: await this.#settle(waiting), leaser: next });
      this.#past.push(holding);
      return;
    }
    this.#holders.delete(name);
    this.#past.push(holding);
    if (kind !== 'overtake' && kind !== 'expire') return;
    expect(lease.held).toBe(kind === 'overtake');
    this.#hold(name, { lease: await next.acquire(name), leaser: next });
    await lease.release();
    await expect(lease.check()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  }

  async #acquire(name: string, above: number): Promise<void> {
    const leaser = await this.#view();
    const holding = this.#holders.get(name);
    if (holding === undefined) {
      this.#hold(name, { lease: await leaser.acquire(name, { above }), leaser }, above);
      return;
    }
    const { epoch } = holding.lease;
    await expect(leaser.acquire(name, { above })).rejects.toMatchObject({
      code: 'LEASE_HELD',
      holderEpoch: epoch,
    });
  }

  async #abortDuring(name: string, turns: number): Promise<void> {
    const leaser = await this.#view();
    const controller = new AbortController();
    const reason = new Error('during');
    const acquiring = leaser.acquire(name, { signal: controller.signal });
    acquiring.catch(() => undefined);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    controller.abort(reason);
    const outcome = await acquiring.catch((error: unknown) => error);
    if (outcome === reason) return;
    if (this.#holders.has(name)) expect(outcome).toMatchObject({ code: 'LEASE_HELD' });
    else this.#hold(name, { lease: outcome as Lease, leaser });
  }

  #hold(name: string, holding: Holding, above = 0): void {
    const { epoch } = holding.lease;
    expect(epoch).toBeGreaterThan(Math.max(above, this.#epochs.get(name) ?? 0));
    this.#epochs.set(name, epoch);
    this.#holders.set(name, holding);
  }

  /** A process of its own for every lease, so that what ends one ends no other. */
  async #view(): Promise<Leaser> {
    return await this.#harness.reopen(this.#root);
  }

  async #settle<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    promise.then(mark, mark);
    for (let step = 0; step < 1000 && !settled && this.#harness.advance !== undefined; step += 1) {
      await this.#harness.advance(25);
    }
    return await promise;
  }
}

const names = fc.constantFrom('a', 'a/b', 'c');
const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ kind: fc.constant('acquire' as const), name: names, above: fc.constantFrom(0, 0, 0, 3, 40) }),
    fc.record({
      kind: fc.constantFrom('overtake' as const, 'hand-over' as const, 'expire' as const, 'crash' as const),
      name: names,
    }),
    fc.record({ kind: fc.constant('abort-before' as const), name: names }),
    fc.record({ kind: fc.constant('abort-during' as const), name: names, turns: fc.nat({ max: 60 }) }),
    fc.record({
      kind: fc.constantFrom('release' as const, 'check' as const, 'release-old' as const),
      name: names,
    }),
  ),
  { minLength: 1, maxLength: 40 },
);

const seed = Number(process.env['HOLDFAST_SEED'] ?? Date.now() % 1_000_000);
const numRuns = Number(process.env['HOLDFAST_RUNS'] ?? 400);

/** Runs generated sequences against the reference; the details tell of the shortest one that does not agree. */
async function compare(harnessOf: () => LeaserHarness, options: fc.Parameters<[Step[]]>): Promise<string> {
  const details = await fc.check(
    fc.asyncProperty(steps, async (sequence) => {
      const harness = harnessOf();
      const root = await harness.fresh();
      const reference = new Reference(harness, root);
      for (const step of sequence) await reference.run(step);
      await reference.finish();
    }),
    options,
  );
  return details.failed ? (fc.defaultReportMessage(details) ?? 'failed') : 'agrees';
}

describe.each<readonly [string, () => LeaserHarness]>([
  ['memory', () => memoryLeaserHarness()],
  ['fs', () => fsLeaserHarness('/leases', { fileSystem: new ModelFileSystem() })],
])('any sequence of steps on the %s driver', (_, harnessOf) => {
  it(`agrees with the reference (HOLDFAST_SEED=${seed})`, { timeout: 180_000 + numRuns * 100 }, async () => {
    const verdict = await compare(harnessOf, { seed, numRuns });
    countForCampaign('sequences of lease calls against a reference', numRuns);
    expect(verdict).toBe('agrees');
  });
});

/** The driver of the mutants. Its crash tells the holder nothing, which is not what the reference asks for. */
const withMistake = (name: string, mutation: Mutation = {}): LeaserHarness => ({
  ...referenceHarness(name, mutation),
  crash: undefined,
});

describe('a planted mistake', () => {
  const limits = { seed: 1, numRuns: 300, endOnFailure: true };

  it('is not found where there is none', async () => {
    expect(await compare(() => withMistake('right'), limits)).toBe('agrees');
  });

  it.each([
    'keeps every view to itself',
    'counts epochs per view',
    'forgets the counter when the last view is closed',
    'frees the name, whoever has it, at every release',
    'does not tell the holder that its time has run out',
  ])('is found by sequences of calls: a leaser that %s', async (name) => {
    const mutant = mutants.find((row) => row.name === name);
    if (mutant === undefined) throw new Error(`no such mutant: ${name}`);
    expect(await compare(() => withMistake(name, mutant), limits)).not.toBe('agrees');
  });
});
