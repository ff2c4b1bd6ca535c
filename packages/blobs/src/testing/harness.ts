import { type Clock, systemClock } from '@holdfast/base';
import type { CaseScope, ContractHarness, ContractLimits } from '@holdfast/base/testing';

import { Blobs } from '../blobs.js';
import type { BlobsDriver } from '../driver.js';
import { blobsAsDriver } from '../layers/blobs-as-driver.js';

/** What an adapter's author writes once; every case of the suite runs over it. */
export interface BlobsHarness extends ContractHarness {
  /** Opens an empty store that shares nothing with any other. */
  fresh(): Promise<Blobs>;
  /** Opens an independent second view of the same storage; works while `store` is open and after it was closed. */
  reopen(store: Blobs): Promise<Blobs>;
  /**
   * Ends `store` the hard way (for a durable one: as a loss of power would, without close) and opens what is left.
   * Absent: the cases that need it check what can be checked without.
   */
  readonly crash?: ((store: Blobs) => Promise<Blobs>) | undefined;
  /** Damages the stored bytes of one object behind the store's back. */
  readonly corrupt?: ((store: Blobs, key: string) => Promise<void>) | undefined;
  /** Counts what the reads of `store` hold now: handles, connections. */
  readonly held?: ((store: Blobs) => Promise<number>) | undefined;
  /** Counts what lies in the storage beside visible objects: temporary files, unfinished uploads. */
  readonly leftovers?: ((store: Blobs) => Promise<number>) | undefined;
  /** How soon a change is seen by every view. Default `'immediate'`. */
  readonly timing?: 'immediate' | { readonly settleMilliseconds: number } | undefined;
  /** Waits for `timing`. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  readonly limits?: BlobsLimits | undefined;
}

/** For slow or paid services, and for views that leave less room. */
export interface BlobsLimits extends ContractLimits {
  /** Longest key in bytes. Default 512; only a view behind a prefix may have less. */
  readonly maxKeyBytes?: number | undefined;
  /** Size of the large object of the suite. Default 3 MiB and 17 bytes. */
  readonly largeObjectBytes?: number | undefined;
  /** Keys of the longest listing. Default 300. */
  readonly manyKeys?: number | undefined;
}

const views = new WeakMap<Blobs, Blobs>();

/** Opens an empty store for a case and closes it when the case ends. */
export async function openFresh(harness: BlobsHarness, scope: CaseScope): Promise<Blobs> {
  return scope.use(settled(harness, scope.use(await harness.fresh())));
}

/** Opens a second view for a case and closes it when the case ends. */
export async function openAgain(harness: BlobsHarness, scope: CaseScope, store: Blobs): Promise<Blobs> {
  return scope.use(settled(harness, scope.use(await harness.reopen(original(store)))));
}

/** The store that the harness itself handed out. */
export function original(store: Blobs): Blobs {
  return views.get(store) ?? store;
}

/** Over an eventual backend, changes resolve when every view has had the time to see them: cases stay the same. */
function settled(harness: BlobsHarness, store: Blobs): Blobs {
  const { timing } = harness;
  if (timing === undefined || timing === 'immediate') return store;
  const inner = blobsAsDriver(store);
  const settle = async (): Promise<void> => {
    await (harness.clock ?? systemClock).sleep(timing.settleMilliseconds);
  };
  const driver: BlobsDriver = {
    ...inner,
    put: async (key, source, options) => {
      const result = await inner.put(key, source, options);
      await settle();
      return result;
    },
    delete: async (key, options) => {
      await inner.delete(key, options);
      await settle();
    },
  };
  const view = new Blobs(driver);
  views.set(view, store);
  return view;
}
