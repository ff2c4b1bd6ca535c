import { idleClauses, runMutants, verifySuite } from '@holdfast/base/testing';
import { type BlobsHarness, blobsContract } from '@holdfast/blobs/testing';
import { describe, expect, it } from 'vitest';

import { driverMutants } from './support/driver-mutants.js';
import { portableMutants } from './support/portable-mutants.js';
import { openSpare, spareHarness } from './support/spare-driver.js';

const mutants = [...driverMutants, ...portableMutants];

/** Clauses that no mutant has to make fail, with the reason. */
const justified: Readonly<Record<string, string>> = {};

describe('the contract suite of blobs', () => {
  it('passes the driver that the mutants are made of', async () => {
    const report = await verifySuite(
      blobsContract,
      spareHarness(openSpare, { limits: { largeObjectBytes: 200_000 } }),
    );
    expect(
      report.cases.filter((result) => result.outcome === 'failed').map((result) => result.failure?.message),
    ).toEqual([]);
    expect(
      report.cases.filter((result) => result.branch === 'refusal').map((result) => result.clause),
    ).toEqual([]);
  });

  it('says what the author of an adapter must do, where the clause is and which seed was used', async () => {
    const wrong = driverMutants.find((mutant) => mutant.name === 'writes to the final name');
    const report = await verifySuite(blobsContract, {
      ...(wrong?.harness() as BlobsHarness),
      adapter: 'mine',
      seed: 42,
    });
    const failure = report.cases.find((result) => result.clause === '2.17')?.failure;
    // Some versions of Node add the two values to the message of an assertion.
    expect(failure?.message).toMatch(
      /^mine breaks blobs\/1 "nothing of an object is visible before it is complete": an object must become visible at once and whole, at the end of its put; stat of "growing" finds an object/,
    );
    expect(failure?.message).toMatch(/\(docs\/contracts\/blobs\.md, clause 2\.17, seed 42\)$/);
  });

  it('kills every mutant in the cases that are meant to, and every case kills one', async () => {
    const verdicts = await runMutants(blobsContract, mutants, { cases: 'expected' });
    expect(verdicts.filter((verdict) => verdict.missed.length > 0)).toEqual([]);
    expect(verdicts.filter((verdict) => verdict.killers.length === 0)).toEqual([]);
    expect(idleClauses(blobsContract, verdicts).filter((clause) => !(clause in justified))).toEqual([]);
    expect(mutants.length).toBeGreaterThanOrEqual(30);
  });
});
