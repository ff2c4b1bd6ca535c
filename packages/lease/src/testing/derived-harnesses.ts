import type { LeaserDriver } from '../driver.js';
import type { Lease } from '../lease.js';
import { Leaser } from '../leaser.js';
import { prefixedLeaser } from '../prefixed-leaser.js';
import type { LeaserHarness } from './harness.js';

/** The same backend through a prefix layer: every clause holds there too. */
export function prefixedLeaserHarness(harness: LeaserHarness, prefix: string = 'tenant/one'): LeaserHarness {
  return derive(harness, {
    adapter: `${harness.adapter}, behind a prefix`,
    longestName: (harness.longestName ?? 512) - prefix.length - 1,
    nameOf: (name) => `${prefix}/${name}`,
    open: async (inner) =>
      await Promise.resolve({ views: [inner], driver: prefixedLeaser(inner, prefix).driver }),
  });
}

/** The same backend, every other attempt through a second view of it: every clause holds there too. */
export function secondViewLeaserHarness(harness: LeaserHarness): LeaserHarness {
  return derive(harness, {
    adapter: `${harness.adapter}, through two views in turn`,
    longestName: harness.longestName ?? 512,
    nameOf: (name) => name,
    open: async (inner) => {
      const other = await harness.reopen(inner);
      return { views: [inner, other], driver: alternating(inner.driver, other.driver) };
    },
  });
}

interface Derivation {
  readonly adapter: string;
  readonly longestName: number;
  nameOf(name: string): string;
  open(inner: Leaser): Promise<Derived>;
}

interface Derived {
  /** What the harness below opened for it; one of them made each grant. */
  readonly views: readonly Leaser[];
  readonly driver: LeaserDriver;
}

/** A derived view, with the harness's own leaser behind each grant. */
interface Opened {
  readonly views: readonly Leaser[];
  readonly granted: Map<string, Leaser>;
}

function derive(harness: LeaserHarness, derivation: Derivation): LeaserHarness {
  const opened = new WeakMap<Leaser, Opened>();
  const open = async (inner: Leaser): Promise<Leaser> => {
    const { views, driver } = await derivation.open(inner);
    const granted = new Map<string, Leaser>();
    let turn = 0;
    const leaser = new Leaser({
      ...pass(driver),
      acquire: async (name, options) => {
        // The driver above takes its views in the same turn.
        const view = views[turn % views.length] as Leaser;
        turn += 1;
        const grant = await driver.acquire(name, options);
        granted.set(`${name} ${grant.epoch}`, view);
        return grant;
      },
      close: async () => {
        await driver.close();
        for (const view of views) await view.close();
      },
    });
    opened.set(leaser, { views, granted });
    return leaser;
  };
  const below = (leaser: Leaser): Opened => {
    const found = opened.get(leaser);
    if (found === undefined) throw new TypeError('this leaser was not opened by this harness');
    return found;
  };
  const holderOf = (lease: Lease, leaser: Leaser): Leaser => {
    const { granted, views } = below(leaser);
    return granted.get(`${lease.name} ${lease.epoch}`) ?? (views[0] as Leaser);
  };
  const { expire, suspend, crash, corrupt, outage } = harness;
  return {
    ...harness,
    adapter: derivation.adapter,
    longestName: derivation.longestName,
    fresh: async () => await open(await harness.fresh()),
    reopen: async (leaser) => await open(await harness.reopen(below(leaser).views[0] as Leaser)),
    expire:
      expire &&
      (async (lease, leaser) => {
        await expire(renamed(lease, derivation.nameOf(lease.name)), holderOf(lease, leaser));
      }),
    suspend:
      suspend &&
      (async (lease, leaser) => {
        await suspend(renamed(lease, derivation.nameOf(lease.name)), holderOf(lease, leaser));
      }),
    crash:
      crash &&
      (async (leaser) => {
        for (const view of below(leaser).views) await crash(view);
      }),
    corrupt:
      corrupt &&
      (async (leaser, name) => {
        await corrupt(below(leaser).views[0] as Leaser, derivation.nameOf(name));
      }),
    outage:
      outage &&
      (async (leaser) => {
        const repairs = await Promise.all(below(leaser).views.map(async (view) => await outage(view)));
        return () => {
          for (const repair of repairs) repair();
        };
      }),
  };
}

function alternating(first: LeaserDriver, second: LeaserDriver): LeaserDriver {
  let turn = 0;
  return {
    ...pass(first),
    acquire: async (name, options) => {
      turn += 1;
      return await (turn % 2 === 1 ? first : second).acquire(name, options);
    },
    // Asked of the view that did not make the attempt: what one view does, the other must notice.
    changed: async (name, options) => {
      await (turn % 2 === 1 ? second : first).changed(name, options);
    },
    close: async () => {
      await first.close();
      await second.close();
    },
  };
}

function pass(driver: LeaserDriver): LeaserDriver {
  return {
    contract: driver.contract,
    supports: driver.supports,
    storagePaths: () => driver.storagePaths(),
    checkName: (name) => driver.checkName?.(name),
    acquire: async (name, options) => await driver.acquire(name, options),
    changed: async (name, options) => {
      await driver.changed(name, options);
    },
    close: async () => {
      await driver.close();
    },
  };
}

/** The lease as the harness below knows it. */
function renamed(lease: Lease, name: string): Lease {
  return {
    name,
    epoch: lease.epoch,
    signal: lease.signal,
    get held() {
      return lease.held;
    },
    expiresIn: () => lease.expiresIn(),
    check: async (options) => {
      await lease.check(options);
    },
    release: async () => {
      await lease.release();
    },
    [Symbol.asyncDispose]: async () => {
      await lease.release();
    },
  };
}
