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
import {
  type Adapter,
  postgresLeaserHarness,
  postgresLedgerHarness,
  postgresUnderTest,
  World,
} from './harness.mjs';
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
    harness: postgresLedgerHarness(world, { driver }),
    tests: testsOf((runner) => {
      testLedgerFaults(runner, postgresUnderTest(world, driver));
      runner.it(everyName, async () => {
        await listsEveryName(driver);
      });
    }),
  });
}

const everyName = 'more names than a page holds are listed, each once';

async function listsEveryName(driver: Adapter): Promise<void> {
  const schema = await world.schema();
  const count = 1_234;
  await world.pool.query(
    `insert into ${schema}.ledger (name, tip) select 'log-' || at, 1 from generate_series(1, $1) at`,
    [count],
  );
  await using storage = await driver.openPostgres(world.pool, { schema });
  const found: string[] = [];
  for await (const name of storage.ledger.list('log-')) found.push(name);
  expect(found).toEqual(Array.from({ length: count }, (_, at) => `log-${at + 1}`).sort());
}

/** Those of `seenBy` that notice the mistake in a driver of leases. */
async function noticedInLeaser(wrong: WrongDriver | undefined, seenBy: readonly string[]) {
  using copy = await openWrongDriver<Adapter>(home, wrong);
  const driver = copy.module;
  return await noticedBy(seenBy, {
    suite: leaserSuite,
    harness: postgresLeaserHarness(world, { driver }),
    tests: testsOf((runner) => {
      testLeaserFaults(runner, postgresUnderTest(world, driver));
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
      expect(await noticedInLedger(undefined, [...clausesOf(ledgerMutants), everyName])).toEqual([]);
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
