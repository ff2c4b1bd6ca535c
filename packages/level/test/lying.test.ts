import { type BackendFault, backendFaults, FaultScript } from '@holdfast/base/testing';
import { Ledger, type LedgerDriver } from '@holdfast/journal';
import {
  type LedgerFaultOperation,
  type LedgerHarness,
  ledgerFaults,
  scriptedLedgerDriver,
  verifyLedger,
} from '@holdfast/journal/testing';
import { afterAll, describe, expect, it } from 'vitest';

import { levelLedgerHarness, removeTemporaryDirectories } from './support/level-harness.js';

afterAll(removeTemporaryDirectories);

/** Who waits for what never comes has seen enough. */
const impatient = { caseMilliseconds: 2_000 };
const liars = new Set<BackendFault>(backendFaults.filter(({ lies }) => lies).map(({ kind }) => kind));
const rows = Object.entries(ledgerFaults).flatMap(([operation, kinds]) =>
  kinds.filter((kind) => liars.has(kind)).map((kind) => [operation as LedgerFaultOperation, kind] as const),
);

/** A ledger as a driver, so that something can be put in front of it. */
function driverOf(ledger: Ledger): LedgerDriver {
  return {
    contract: 'ledger/1',
    supports: ledger.supports,
    maxRecordBytes: ledger.maxRecordBytes,
    storagePaths: () => ledger.storagePaths(),
    append: async (...call) => {
      await ledger.append(...call);
    },
    read: (name, range, options) => ledger.read(name, { ...range, ...options }),
    changed: async (...call) => {
      await ledger.changed(...call);
    },
    tip: async (...call) => await ledger.tip(...call),
    list: (...call) => ledger.list(...call),
    delete: async (...call) => {
      await ledger.delete(...call);
    },
    close: async () => {
      await ledger.close();
    },
  };
}

/** The harness of the database with another ledger in front of each of its own. */
function twinHarness(
  script: () => FaultScript<LedgerFaultOperation>,
  what: string,
  limits: LedgerHarness['limits'] = {},
): LedgerHarness {
  const inner = levelLedgerHarness();
  const rights = new WeakMap<Ledger, Ledger>();
  const twin = (right: Ledger): Ledger => {
    const ledger = new Ledger(scriptedLedgerDriver(driverOf(right), script()), { pollMilliseconds: 5 });
    rights.set(ledger, right);
    return ledger;
  };
  return {
    adapter: `level, with ${what}`,
    limits: { ...inner.limits, ...limits },
    fresh: async () => twin(await inner.fresh()),
    reopen: async (ledger) => twin(await inner.reopen(rights.get(ledger) as Ledger)),
  };
}

const killersOf = async (harness: LedgerHarness): Promise<string[]> => {
  const { cases } = await verifyLedger(harness);
  return cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
};

describe('a twin of the database', () => {
  it('that does not lie passes the suite', async () => {
    expect(await killersOf(twinHarness(() => new FaultScript<LedgerFaultOperation>([]), 'nothing'))).toEqual(
      [],
    );
  });

  it.each(rows)('that always lies is noticed by the suite: %s: %s', async (operation, kind) => {
    const script = (): FaultScript<LedgerFaultOperation> =>
      new FaultScript<LedgerFaultOperation>([{ operation, kind, times: 'always' }]);
    expect(await killersOf(twinHarness(script, `${kind} of ${operation}`, impatient))).not.toEqual([]);
  });
});
