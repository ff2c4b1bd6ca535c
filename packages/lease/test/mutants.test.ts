import { idleClauses, type MutantVerdict } from '@holdfast/base/testing';
import {
  type LeaserHarness,
  leaserSuite,
  secondViewLeaserHarness,
  verifyLeaser,
} from '@holdfast/lease/testing';
import { describe, expect, it } from 'vitest';

import { referenceHarness } from './mutants/reference.js';
import { mutants } from './mutants/table.js';
import { turnClock } from './mutants/turn-clock.js';

/** Clauses that no mutant needs to break, each with its reason. None at present. */
const justified: readonly string[] = [];

/** Clauses that fail. */
async function killed(harness: LeaserHarness): Promise<string[]> {
  const { cases } = await verifyLeaser(harness, { clock: turnClock() });
  return cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
}

describe('the suite', () => {
  it('passes the reference driver, with every capability declared', async () => {
    const { cases, summary } = await verifyLeaser(referenceHarness('reference'));
    expect(cases.flatMap(({ failure }) => (failure === undefined ? [] : [failure.message]))).toEqual([]);
    expect(
      cases.every(({ branch }) => branch === 'declared'),
      summary,
    ).toBe(true);
  });

  it(`kills all ${mutants.length} mutants, and every clause kills one`, async () => {
    const verdicts: MutantVerdict[] = [];
    for (const { name, killedBy, ...mutation } of mutants) {
      const killers = await killed(referenceHarness(name, mutation));
      verdicts.push({ name, killers, missed: killedBy.filter((clause) => !killers.includes(clause)) });
    }
    const survivors = verdicts.filter(({ killers }) => killers.length === 0).map(({ name }) => name);
    expect(survivors, 'mutants that survived').toEqual([]);
    const broken = verdicts.filter(({ killers }) => killers.length > leaserSuite.cases.length * 0.6);
    expect(broken, 'mutants that do not work at all prove nothing').toEqual([]);
    const missed = verdicts.filter((verdict) => verdict.missed.length > 0);
    expect(missed, 'mutants that were not killed by the clause that is there for them').toEqual([]);
    expect(idleClauses(leaserSuite, verdicts), 'clauses that killed nothing').toEqual(justified);
  });

  it('sees more through two views in turn', async () => {
    const mutant = mutants.find(({ name }) => name === 'keeps every view to itself');
    const raw = referenceHarness('alone', mutant);
    expect(await killed(raw)).not.toContain('2.2');
    expect(await killed(secondViewLeaserHarness(raw))).toContain('2.2');
  });
});
