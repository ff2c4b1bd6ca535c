import { LedgerConflictError, type LedgerDriver } from '@holdfast/journal';
import { LeaseHeldError, type LeaserDriver } from '@holdfast/lease';
import { describe, expect, it } from 'vitest';

import { leaseHistory } from './lease.mjs';
import { ledgerHistory } from './ledger.mjs';

const histories = Number(process.env['HOLDFAST_HISTORIES'] ?? 150);
const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const seeds = Array.from({ length: histories }, (_, index) => firstSeed + index);

/** A driver of which some methods are others. */
function changed<Driver extends object>(driver: Driver, changes: (inner: Driver) => Partial<Driver>): Driver {
  const methods = changes(driver);
  return new Proxy(driver, {
    get: (target, property) => {
      const value: unknown = Reflect.get(methods, property) ?? Reflect.get(target, property, target);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
}

const ledgerMistakes: Readonly<Record<string, (driver: LedgerDriver) => LedgerDriver>> = {
  'reads that do not see the last record': (driver) =>
    changed(driver, (inner) => ({
      tip: async (...call) => Math.max(0, (await inner.tip(...call)) - 1),
    })),
  'appends wherever the end is': (driver) =>
    changed(driver, (inner) => ({
      append: async (name, _tip, records, options) => {
        await inner.append(name, await inner.tip(name, options), records, options);
      },
    })),
  'now and then forgets what it says it wrote': (driver) => {
    let turn = 0;
    return changed(driver, (inner) => ({
      append: async (...call) => {
        turn += 1;
        if (turn % 4 > 0) await inner.append(...call);
      },
    }));
  },
  'writes a record twice': (driver) => {
    let turn = 0;
    return changed(driver, (inner) => ({
      append: async (name, tip, records, options) => {
        turn += 1;
        await inner.append(name, tip, turn % 4 > 0 ? records : [...records, ...records], options);
      },
    }));
  },
  'reports a conflict after it wrote': (driver) => {
    let turn = 0;
    return changed(driver, (inner) => ({
      append: async (name, tip, records, options) => {
        turn += 1;
        await inner.append(name, tip, records, options);
        if (turn % 4 === 0) throw new LedgerConflictError(name, tip);
      },
    }));
  },
};

const leaseMistakes: Readonly<Record<string, (driver: LeaserDriver) => LeaserDriver>> = {
  'grants what is held': (driver) =>
    changed(driver, (inner) => ({
      acquire: async (name, options) => {
        try {
          return await inner.acquire(name, options);
        } catch (error) {
          if (!LeaseHeldError.is(error)) throw error;
          return await inner.acquire(`${name}-again`, options);
        }
      },
    })),
  'grants every epoch anew': (driver) =>
    changed(driver, (inner) => ({
      acquire: async (name, options) => {
        const grant = await inner.acquire(name, options);
        return changed(grant, () => ({ epoch: 1 }));
      },
    })),
  'calls held what is free': (driver) => {
    let turn = 0;
    return changed(driver, (inner) => ({
      acquire: async (name, options) => {
        turn += 1;
        if (turn % 3 === 0) throw new LeaseHeldError(name, { holderEpoch: 1 } as never);
        return await inner.acquire(name, options);
      },
    }));
  },
};

describe('clients beside each other', () => {
  it(`of a ledger see one history (HOLDFAST_SEED=${firstSeed})`, async () => {
    const fates = new Set<string>();
    for (const seed of seeds) {
      const { verdict, calls } = await ledgerHistory(seed);
      expect(verdict.unexplained, `seed ${seed}`).toEqual([]);
      for (const { output, returned } of calls)
        fates.add(returned === undefined ? 'unknown' : String(typeof output));
      for (const { output } of calls) if (typeof output === 'string') fates.add(output);
    }
    // The run must have met what it is for.
    expect([...fates]).toEqual(expect.arrayContaining(['unknown', 'conflict', 'written', 'object']));
  });

  it(`of a lease see one history (HOLDFAST_SEED=${firstSeed})`, async () => {
    let held = 0;
    for (const seed of seeds) {
      const { verdict, calls } = await leaseHistory(seed);
      expect(verdict.unexplained, `seed ${seed}`).toEqual([]);
      held += calls.filter(({ output }) => output === 'held').length;
    }
    expect(held).toBeGreaterThan(histories);
  });
});

describe('a driver that is wrong is found within a hundred histories', () => {
  it.each(Object.entries(ledgerMistakes))('ledger: %s', async (_, mistake) => {
    for (let seed = 1; seed <= 100; seed += 1)
      if (!(await ledgerHistory(seed, mistake)).verdict.linearizable) return;
    throw new Error('not found');
  });

  it.each(Object.entries(leaseMistakes))('lease: %s', async (_, mistake) => {
    for (let seed = 1; seed <= 100; seed += 1)
      if (!(await leaseHistory(seed, mistake)).verdict.linearizable) return;
    throw new Error('not found');
  });
});
