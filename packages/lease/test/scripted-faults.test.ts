import { isHoldfastError } from '@holdfast/base';
import { type BackendFault, backendFaults, FaultScript } from '@holdfast/base/testing';
import { ModelFileSystem } from '@holdfast/durable/testing';
import { LeaseHeldError, Leaser, MemoryLeaserDriver, MemoryLeases } from '@holdfast/lease';
import {
  fsLeaserHarness,
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

/** The same of the driver of a disk: its harness, with another leaser in front of each of its own. */
function lyingFsHarness(operation: LeaserFaultOperation, kind: BackendFault | 'nothing'): LeaserHarness {
  const inner = fsLeaserHarness('/leases', { fileSystem: new ModelFileSystem() });
  const rights = new WeakMap<Leaser, Leaser>();
  const twin = (right: Leaser): Leaser => {
    const faults = kind === 'nothing' ? [] : [{ operation, kind, times: 'always' as const }];
    const script = new FaultScript<LeaserFaultOperation>(faults);
    const leaser = new Leaser(scriptedLeaserDriver(right.driver, script));
    rights.set(leaser, right);
    return leaser;
  };
  const right = (leaser: Leaser): Leaser => rights.get(leaser) as Leaser;
  return {
    adapter: `fs, with ${kind} of ${operation}`,
    limits: kind === 'nothing' ? {} : { caseMilliseconds: 2_000 },
    fresh: async () => twin(await inner.fresh()),
    reopen: async (leaser) => twin(await inner.reopen(right(leaser))),
    expire: async (lease, leaser) => await inner.expire?.(lease, right(leaser)),
    suspend: async (lease, leaser) => await inner.suspend?.(lease, right(leaser)),
    crash: async (leaser) => await inner.crash?.(right(leaser)),
    corrupt: async (leaser, name) => await inner.corrupt?.(right(leaser), name),
    outage: async (leaser) => (await inner.outage?.(right(leaser))) ?? (() => undefined),
    advance: async (milliseconds) => await inner.advance?.(milliseconds),
  };
}

describe.each([
  ['in memory', lyingHarness],
  ['on a disk', lyingFsHarness],
] as const)('a leaser %s that always lies', (_, harnessOf) => {
  it.each(rows.filter(([, kind]) => liars.has(kind)))(
    'is noticed by the suite: %s: %s',
    async (operation, kind) => {
      const { cases } = await verifyLeaser(harnessOf(operation, kind), { clock: turnClock() });
      const killers = cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
      expect(killers).not.toEqual([]);
    },
  );
});

it('a leaser on a disk that lies about nothing passes', async () => {
  const { cases } = await verifyLeaser(lyingFsHarness('acquire', 'nothing'));
  expect(cases.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
});
