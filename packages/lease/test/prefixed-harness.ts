import { type Leaser, prefixedLeaser } from '@holdfast/lease';
import type { LeaserHarness } from '@holdfast/lease/testing';

const prefix = 'below/here';

/** Runs a harness through the prefix layer, with a bystander who holds the same names without the prefix. */
export function prefixedHarness(harness: LeaserHarness): LeaserHarness {
  const inner = new WeakMap<Leaser, Leaser>();
  const wrap = (leaser: Leaser): Leaser => {
    const view = prefixedLeaser(leaser, prefix);
    const close = view.close.bind(view);
    // The view leaves its base open; here both belong to the case.
    view.close = async () => {
      await close();
      await leaser.close();
    };
    inner.set(view, leaser);
    return view;
  };
  const base = (view: Leaser): Leaser => {
    const leaser = inner.get(view);
    if (leaser === undefined) throw new TypeError('this leaser was not opened by this harness');
    return leaser;
  };
  const { expire, suspend, crash, corrupt, outage } = harness;
  return {
    ...harness,
    adapter: `${harness.adapter} below a prefix`,
    longestName: (harness.longestName ?? 512) - prefix.length - 1,
    fresh: async () => wrap(await harness.fresh()),
    reopen: async (view) => wrap(await harness.reopen(base(view))),
    ...(expire && { expire: async (lease, view) => await expire(whole(lease), base(view)) }),
    ...(suspend && { suspend: async (lease, view) => await suspend(whole(lease), base(view)) }),
    ...(crash && { crash: async (view) => await crash(base(view)) }),
    ...(corrupt && { corrupt: async (view, name) => await corrupt(base(view), `${prefix}/${name}`) }),
    ...(outage && { outage: async (view) => await outage(base(view)) }),
  };
}

function whole<T extends { readonly name: string }>(lease: T): T {
  return Object.create(lease, { name: { value: `${prefix}/${lease.name}` } }) as T;
}
