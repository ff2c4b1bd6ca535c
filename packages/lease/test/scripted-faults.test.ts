import { isHoldfastError } from '@holdfast/base';
import { type BackendFault, backendFaults, FaultScript } from '@holdfast/base/testing';
import { LeaseHeldError, Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';
import {
  type LeaserFaultOperation,
  type LeaserHarness,
  leaserFaults,
  scriptedLeaserDriver,
  verifyLeaser,
} from '@holdfast/lease/testing';
import { describe, expect, it } from 'vitest';

import { turnClock } from './mutants/turn-clock.js';

const liars = new Set<BackendFault>(backendFaults.filter(({ lies }) => lies).map(({ kind }) => kind));
const rows = Object.entries(leaserFaults).flatMap(([operation, kinds]) =>
  kinds.map((kind) => [operation as LeaserFaultOperation, kind] as const),
);

function scripted(leases: MemoryLeases, script: FaultScript<LeaserFaultOperation>): Leaser {
  return new Leaser(scriptedLeaserDriver(new MemoryLeaserDriver(leases), script));
}

describe('every fault of every operation of a leaser', () => {
  it('is one of the eighteen kinds', () => {
    const known = backendFaults.map(({ kind }) => kind);
    expect(rows.filter(([, kind]) => !known.includes(kind))).toEqual([]);
    // Leases are not listed, and nothing of them is read in pieces.
    expect(known.filter((kind) => !rows.some(([, used]) => used === kind))).toEqual([
      'short-read',
      'corrupt-read',
      'lagging-list',
      'disordered-list',
      'dropped-connection',
    ]);
  });

  it.each(rows.filter(([, kind]) => !liars.has(kind)))(
    '%s: %s never makes two holders, nor an epoch twice',
    async (operation, kind) => {
      for (const times of [1, 2, 'always'] as const) {
        for (let nth = 1; ; nth += 1) {
          const leases = new MemoryLeases();
          const script = new FaultScript<LeaserFaultOperation>([{ operation, kind, nth, times }]);
          const leaser = scripted(leases, script);
          const other = new Leaser(new MemoryLeaserDriver(leases));
          let highest = 0;
          for (let turn = 0; turn < 3; turn += 1) {
            const lease = await leaser.acquire('a').catch((error: unknown) => {
              expect(isHoldfastError(error), String(error)).toBe(true);
              return undefined;
            });
            if (lease === undefined) continue;
            expect(lease.epoch, `${times} from call ${nth}`).toBeGreaterThan(highest);
            highest = lease.epoch;
            if (!lease.signal.aborted) {
              await expect(other.acquire('a')).rejects.toSatisfy((error) => LeaseHeldError.is(error));
              await lease.check().catch((error: unknown) => expect(isHoldfastError(error)).toBe(true));
            }
            await lease.release().catch((error: unknown) => expect(isHoldfastError(error)).toBe(true));
          }
          await script.deliver();
          // What nobody could give back ends with the process.
          await leaser.close();
          const next = await other.acquire('a');
          expect(next.epoch).toBeGreaterThan(highest);
          await other.close();
          if (script.fired.length === 0) break;
          expect(nth).toBeLessThan(40);
        }
      }
    },
  );
});

/** The memory driver, lying in one way for ever. */
function lyingHarness(operation: LeaserFaultOperation, kind: BackendFault): LeaserHarness {
  const storages = new WeakMap<Leaser, MemoryLeases>();
  const open = async (leases: MemoryLeases): Promise<Leaser> => {
    const leaser = scripted(leases, new FaultScript([{ operation, kind, times: 'always' }]));
    storages.set(leaser, leases);
    return await Promise.resolve(leaser);
  };
  const leasesOf = (leaser: Leaser): MemoryLeases => storages.get(leaser) as MemoryLeases;
  return {
    adapter: `memory, with ${kind} of ${operation}`,
    limits: { caseMilliseconds: 2_000 },
    fresh: async () => await open(new MemoryLeases()),
    reopen: async (leaser) => await open(leasesOf(leaser)),
    expire: async (lease, leaser) => {
      leasesOf(leaser).expire(lease.name);
      await Promise.resolve();
    },
    suspend: async (lease, leaser) => {
      leasesOf(leaser).expire(lease.name, { silently: true });
      await Promise.resolve();
    },
  };
}

describe('a leaser that always lies', () => {
  it.each(rows.filter(([, kind]) => liars.has(kind)))(
    'is noticed by the suite: %s: %s',
    { timeout: 60_000 },
    async (operation, kind) => {
      const { cases } = await verifyLeaser(lyingHarness(operation, kind), { clock: turnClock() });
      const killers = cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
      expect(killers).not.toEqual([]);
    },
  );
});
