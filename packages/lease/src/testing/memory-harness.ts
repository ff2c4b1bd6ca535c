import { type Leaser } from '../leaser.js';
import { memoryLeaser } from '../memory/memory-leaser.js';
import { MemoryLeases } from '../memory/memory-leases.js';
import type { LeaserHarness } from './harness.js';

/** The harness of the memory driver; also the shortest example of one. */
export function memoryLeaserHarness(options: { readonly seed?: number | undefined } = {}): LeaserHarness {
  const storages = new WeakMap<Leaser, MemoryLeases>();
  const open = (leases: MemoryLeases): Leaser => {
    const leaser = memoryLeaser({ leases });
    storages.set(leaser, leases);
    return leaser;
  };
  const storageOf = (leaser: Leaser): MemoryLeases => {
    const leases = storages.get(leaser);
    if (leases === undefined) throw new TypeError('this leaser was not opened by this harness');
    return leases;
  };
  return {
    adapter: 'memory',
    seed: options.seed,
    fresh: async () => await Promise.resolve(open(new MemoryLeases())),
    reopen: async (leaser) => await Promise.resolve(open(storageOf(leaser))),
    expire: async (lease, leaser) => {
      storageOf(leaser).expire(lease.name);
      await Promise.resolve();
    },
    suspend: async (lease, leaser) => {
      storageOf(leaser).expire(lease.name, { silently: true });
      await Promise.resolve();
    },
  };
}
