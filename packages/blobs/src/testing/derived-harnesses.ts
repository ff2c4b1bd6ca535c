import { Blobs } from '../blobs.js';
import type { BlobsDriver } from '../driver.js';
import { blobsAsDriver } from '../layers/blobs-as-driver.js';
import { layerBlobs } from '../layers/layer.js';
import { prefixLayer } from '../layers/prefix.js';
import type { BlobsHarness } from './harness.js';

/** The same storage through a prefix layer, with foreign neighbours around it: every clause holds there too. */
export function prefixedHarness(harness: BlobsHarness, prefix: string = 'tenant/one'): BlobsHarness {
  const room = (harness.limits?.maxKeyBytes ?? 512) - prefix.length - 1;
  return derive(harness, {
    adapter: `${harness.adapter}, behind a prefix`,
    limits: { ...harness.limits, maxKeyBytes: room },
    keyOf: (key) => `${prefix}/${key}`,
    view: async (store, fresh) => {
      const neighbours = ['tenant', 'tenant/on', prefix, `${prefix}0`, `${prefix}-a`, `${prefix}.a/b`, 'zzz'];
      if (fresh) for (const key of neighbours) await store.put(key, Uint8Array.of(1));
      return layerBlobs(store, [prefixLayer(prefix)]);
    },
  });
}

/** The same storage, written through one view and read through another: every clause holds there too. */
export function secondViewHarness(harness: BlobsHarness): BlobsHarness {
  return derive(harness, {
    adapter: `${harness.adapter}, read through a second view`,
    limits: harness.limits,
    keyOf: (key) => key,
    view: async (store) => new Blobs(split(blobsAsDriver(store), blobsAsDriver(await harness.reopen(store)))),
  });
}

function split(writer: BlobsDriver, reader: BlobsDriver): BlobsDriver {
  return {
    ...writer,
    get: async (key, options) => await reader.get(key, options),
    stat: async (key, options) => await reader.stat(key, options),
    list: (prefix, options) => reader.list(prefix, options),
    close: async () => {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

interface Derivation {
  readonly adapter: string;
  readonly limits: BlobsHarness['limits'];
  keyOf(key: string): string;
  view(store: Blobs, fresh: boolean): Promise<Blobs>;
}

function derive(harness: BlobsHarness, derivation: Derivation): BlobsHarness {
  const stores = new WeakMap<Blobs, Blobs>();
  const inner = (view: Blobs): Blobs => stores.get(view) as Blobs;
  const open = async (store: Blobs, fresh: boolean): Promise<Blobs> => {
    const view = await derivation.view(store, fresh);
    stores.set(view, store);
    return view;
  };
  const { crash, corrupt, held, leftovers } = harness;
  return {
    ...harness,
    adapter: derivation.adapter,
    limits: derivation.limits,
    fresh: async () => await open(await harness.fresh(), true),
    reopen: async (view) => await open(await harness.reopen(inner(view)), false),
    crash: crash && (async (view) => await open(await crash(inner(view)), false)),
    corrupt:
      corrupt &&
      (async (view, key) => {
        await corrupt(inner(view), derivation.keyOf(key));
      }),
    held: held && (async (view) => await held(inner(view))),
    leftovers: leftovers && (async (view) => await leftovers(inner(view))),
  };
}
