import { ledgerContract } from '@holdfast/journal/testing';
import { leaserSuite } from '@holdfast/lease/testing';
import { afterAll, describe, expect, test } from 'vitest';

import { testLeaserFaults } from '../../../../tools/engines/leaser-faults.mjs';
import { testLedgerFaults } from '../../../../tools/engines/ledger-faults.mjs';
import {
  isClause,
  noticedBy,
  openWrongDriver,
  testsOf,
  type WrongDriver,
} from '../../../../tools/engines/wrong-drivers.mjs';
import { type Adapter, natsLeaserHarness, natsLedgerHarness, natsUnderTest, World } from './harness.mjs';
import { leaserMutants, ledgerMutants } from './mutants.js';

const world = new World();
afterAll(async () => {
  await world.close();
});
const home = new URL('../../', import.meta.url);
const patience = 300_000;

/** Those of `seenBy` that notice the mistake in a driver of ledgers. */
async function noticedInLedger(wrong: WrongDriver | undefined, seenBy: readonly string[]) {
  using copy = await openWrongDriver<Adapter>(home, wrong);
  const driver = copy.module;
  return await noticedBy(seenBy, {
    suite: ledgerContract,
    harness: natsLedgerHarness(world, { driver, deaf: true }),
    tests: testsOf((runner) => {
      testLedgerFaults(runner, natsUnderTest(world, driver));
    }),
  });
}

/** Those of `seenBy` that notice the mistake in a driver of leases. */
async function noticedInLeaser(wrong: WrongDriver | undefined, seenBy: readonly string[]) {
  using copy = await openWrongDriver<Adapter>(home, wrong);
  const driver = copy.module;
  return await noticedBy(seenBy, {
    suite: leaserSuite,
    harness: natsLeaserHarness(world, { driver, deaf: true }),
    tests: testsOf((runner) => {
      testLeaserFaults(runner, natsUnderTest(world, driver));
    }),
  });
}

/** The tests of the kit are run over the right driver elsewhere. */
const clausesOf = (mutants: readonly WrongDriver[]) => [
  ...new Set(mutants.flatMap(({ seenBy }) => seenBy.filter(isClause))),
];

describe('a driver of ledgers with a mistake in it is noticed', () => {
  test(
    'one without is not',
    async () => {
      expect(await noticedInLedger(undefined, clausesOf(ledgerMutants))).toEqual([]);
    },
    patience,
  );

  test.each(ledgerMutants)(
    '$mistake, by $seenBy',
    async (wrong) => {
      expect((await noticedInLedger(wrong, wrong.seenBy)).sort()).toEqual([...wrong.seenBy].sort());
    },
    patience,
  );
});

describe('a driver of leases with a mistake in it is noticed', () => {
  test(
    'one without is not',
    async () => {
      expect(await noticedInLeaser(undefined, clausesOf(leaserMutants))).toEqual([]);
    },
    patience,
  );

  test.each(leaserMutants)(
    '$mistake, by $seenBy',
    async (wrong) => {
      expect((await noticedInLeaser(wrong, wrong.seenBy)).sort()).toEqual([...wrong.seenBy].sort());
    },
    patience,
  );
});
