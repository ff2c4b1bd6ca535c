import { idleClauses, runMutants } from '@holdfast/base/testing';
import { ledgerContract, memoryLedgerHarness, verifyLedger } from '@holdfast/journal/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { ledgerMutants } from './support/ledger-mutants.js';

describe('the ledger suite kills wrong drivers', () => {
  let verdicts: Awaited<ReturnType<typeof runMutants>>;
  beforeAll(async () => {
    verdicts = await runMutants(ledgerContract, ledgerMutants);
  });

  it('lets the right one pass', async () => {
    const report = await verifyLedger(memoryLedgerHarness());
    expect(report.summary).toBe(
      `contract: ledger/1, cases ${ledgerContract.cases.length}, advisory 0: all passed`,
    );
  });

  it.each(ledgerMutants.map((mutant) => mutant.name))('kills the one that %s', (name) => {
    const verdict = verdicts.find((candidate) => candidate.name === name);
    expect(verdict?.killers).not.toEqual([]);
    expect(verdict?.missed).toEqual([]);
  });

  it('has no case that kills nobody', () => {
    expect(idleClauses(ledgerContract, verdicts)).toEqual([]);
  });
});
