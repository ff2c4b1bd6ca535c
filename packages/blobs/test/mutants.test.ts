import { idleClauses, runMutants, verifySuite } from '@holdfast/base/testing';
import { blobsContract } from '@holdfast/blobs/testing';
import { describe, expect, it } from 'vitest';

import { driverMutants } from './support/driver-mutants.js';
import { portableMutants } from './support/portable-mutants.js';
import { spareHarness } from './support/spare-driver.js';

const mutants = [...driverMutants, ...portableMutants];

/** Clauses that no mutant has to make fail, with the reason. */
const justified: Readonly<Record<string, string>> = {};

describe('the contract suite of blobs', () => {
  it('passes the driver that the mutants are made of', async () => {
    const report = await verifySuite(blobsContract, spareHarness());
    expect(
      report.cases.filter((result) => result.outcome === 'failed').map((result) => result.failure?.message),
    ).toEqual([]);
    expect(
      report.cases.filter((result) => result.branch === 'refusal').map((result) => result.clause),
    ).toEqual([]);
  });

  it('kills every mutant in the cases that are meant to, and every case kills one', {
    timeout: 120_000,
  }, async () => {
    const verdicts = await runMutants(blobsContract, mutants);
    expect(verdicts.filter((verdict) => verdict.missed.length > 0)).toEqual([]);
    expect(verdicts.filter((verdict) => verdict.killers.length === 0)).toEqual([]);
    const named = new Set(mutants.flatMap((mutant) => mutant.killedBy));
    expect(idleClauses(blobsContract, verdicts).filter((clause) => !(clause in justified))).toEqual([]);
    expect(
      blobsContract.cases
        .map(({ clause }) => clause)
        .filter((clause) => !named.has(clause) && !(clause in justified)),
    ).toEqual([]);
    expect(mutants.length).toBeGreaterThanOrEqual(30);
  });
});
