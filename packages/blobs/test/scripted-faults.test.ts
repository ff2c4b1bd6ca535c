import { isHoldfastError } from '@holdfast/base';
import { type BackendFault, backendFaults, FaultScript, ManualClock } from '@holdfast/base/testing';
import {
  BlobIntegrityError,
  Blobs,
  BlobsAmbiguousError,
  MemoryBlobStorage,
  MemoryBlobsDriver,
} from '@holdfast/blobs';
import { openFsBlobsDriver } from '@holdfast/blobs/fs';
import {
  type BlobsFaultOperation,
  type BlobsHarness,
  blobsFaults,
  collect,
  scriptedBlobsDriver,
  verifyBlobs,
} from '@holdfast/blobs/testing';
import { ModelFileSystem } from '@holdfast/durable/testing';
import { describe, expect, it } from 'vitest';

const liars = new Set<BackendFault>(backendFaults.filter(({ lies }) => lies).map(({ kind }) => kind));
const rows = Object.entries(blobsFaults).flatMap(([operation, kinds]) =>
  kinds.map((kind) => [operation as BlobsFaultOperation, kind] as const),
);
const contentOf = (key: string): Uint8Array => new TextEncoder().encode(`content of ${key}`);
type Fate = 'stored' | 'deleted' | 'unknown' | 'refused';

function scripted(storage: MemoryBlobStorage, script: FaultScript<BlobsFaultOperation>): Blobs {
  return new Blobs(scriptedBlobsDriver(new MemoryBlobsDriver({ storage }), script));
}

/** Puts, reads, lists and deletes as a client does that believes what it is told, and remembers that. */
async function work(store: Blobs): Promise<Map<string, Fate>> {
  const fates = new Map<string, Fate>();
  const attempt = async (key: string, fate: Fate, call: () => Promise<unknown>): Promise<void> => {
    const before = fates.get(key);
    try {
      await call();
      // What is still on its way may come after this.
      if (before !== 'unknown') fates.set(key, fate);
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      // A failure that says "nothing happened" leaves what was there.
      fates.set(key, BlobsAmbiguousError.is(error) ? 'unknown' : (before ?? 'refused'));
    }
  };
  for (const key of ['a', 'a/b', 'c'])
    await attempt(key, 'stored', async () => await store.put(key, contentOf(key)));
  for (const key of ['a', 'a/b', 'c']) {
    const seen = await store.getBytes(key).catch((error: unknown) => error);
    if (seen instanceof Uint8Array) expect(seen).toEqual(contentOf(key));
    else expect(isHoldfastError(seen)).toBe(true);
    await store.stat(key).catch((error: unknown) => expect(isHoldfastError(error)).toBe(true));
  }
  await collect(store.list()).catch((error: unknown) => expect(isHoldfastError(error)).toBe(true));
  await attempt('c', 'deleted', async () => {
    await store.delete('c');
  });
  return fates;
}

describe('every fault of every operation of a blob store', () => {
  it('is one of the eighteen kinds, and every kind can happen', () => {
    const known = backendFaults.map(({ kind }) => kind);
    expect(known.filter((kind) => !rows.some(([, used]) => used === kind))).toEqual([]);
    expect(rows.filter(([, kind]) => !known.includes(kind))).toEqual([]);
  });

  it.each(rows.filter(([, kind]) => !liars.has(kind)))(
    '%s: %s leaves what was said true',
    async (operation, kind) => {
      for (const times of [1, 2, 'always'] as const) {
        for (let nth = 1; ; nth += 1) {
          const storage = new MemoryBlobStorage();
          const script = new FaultScript<BlobsFaultOperation>([{ operation, kind, nth, times }]);
          const fates = await work(scripted(storage, script));
          await script.deliver();
          const clean = new Blobs(new MemoryBlobsDriver({ storage }));
          for (const [key, fate] of fates) {
            const there = (await clean.stat(key)) !== undefined;
            const where = `${key} ${fate}, ${times} from call ${nth}`;
            if (fate === 'stored') expect(there, where).toBe(true);
            if (fate === 'deleted' || fate === 'refused') expect(there, where).toBe(false);
            if (there) expect(await clean.getBytes(key), where).toEqual(contentOf(key));
            // Whatever happened, asking again settles it.
            await clean.put(key, contentOf(key));
          }
          if (script.fired.length === 0) break;
          expect(nth).toBeLessThan(40);
        }
      }
    },
  );

  it('with a disk that is full says so in its cause, and shows nothing', async () => {
    const storage = new MemoryBlobStorage();
    const store = scripted(storage, new FaultScript([{ operation: 'put', kind: 'short-write' }]));
    const error = await store.put('a', contentOf('a')).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'BLOBS_BACKEND', effect: 'none', cause: { code: 'ENOSPC' } });
    expect(await store.stat('a')).toBeUndefined();
    await store.put('a', contentOf('a'));
  });
});

/** The memory driver, lying in one way for ever. */
function lyingHarness(operation: BlobsFaultOperation, kind: BackendFault): BlobsHarness {
  const storages = new WeakMap<Blobs, MemoryBlobStorage>();
  const open = async (storage: MemoryBlobStorage): Promise<Blobs> => {
    const store = scripted(storage, new FaultScript([{ operation, kind, times: 'always' }]));
    storages.set(store, storage);
    return await Promise.resolve(store);
  };
  return {
    adapter: `memory, with ${kind} of ${operation}`,
    limits: { largeObjectBytes: 200_000, caseMilliseconds: 2_000 },
    fresh: async () => await open(new MemoryBlobStorage()),
    reopen: async (store) => await open(storages.get(store) as MemoryBlobStorage),
  };
}

/** The same of the driver of a disk. */
function lyingFsHarness(operation: BlobsFaultOperation, kind: BackendFault | 'nothing'): BlobsHarness {
  const disks = new WeakMap<Blobs, ModelFileSystem>();
  const open = async (fileSystem: ModelFileSystem): Promise<Blobs> => {
    const driver = await openFsBlobsDriver('/store', { fileSystem, clock: new ManualClock(0) });
    const faults = kind === 'nothing' ? [] : [{ operation, kind, times: 'always' as const }];
    const script = new FaultScript<BlobsFaultOperation>(faults);
    const store = new Blobs(scriptedBlobsDriver(driver, script));
    disks.set(store, fileSystem);
    return store;
  };
  return {
    adapter: `fs, with ${kind} of ${operation}`,
    limits: { manyKeys: 120, ...(kind === 'nothing' ? {} : { caseMilliseconds: 2_000 }) },
    fresh: async () => await open(new ModelFileSystem()),
    reopen: async (store) => await open(disks.get(store) as ModelFileSystem),
  };
}

describe.each([
  ['in memory', lyingHarness],
  ['on a disk', lyingFsHarness],
] as const)('a blob store %s that always lies', (_, harnessOf) => {
  it.each(rows.filter(([, kind]) => liars.has(kind)))(
    'is noticed by the suite: %s: %s',
    async (operation, kind) => {
      const { cases } = await verifyBlobs(harnessOf(operation, kind));
      const killers = cases.filter(({ outcome }) => outcome === 'failed').map(({ clause }) => clause);
      expect(killers).not.toEqual([]);
    },
  );
});

describe('a blob store that always lies', () => {
  it('is noticed for its lies: its twin that has none passes', async () => {
    const { cases } = await verifyBlobs(lyingFsHarness('put', 'nothing'));
    expect(cases.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });

  it('about the end of an object is noticed by the reader', async () => {
    const storage = new MemoryBlobStorage();
    await new Blobs(new MemoryBlobsDriver({ storage })).put('a', contentOf('a'));
    const store = scripted(storage, new FaultScript([{ operation: 'read', kind: 'short-read' }]));
    await expect(store.getBytes('a')).rejects.toSatisfy((error) => BlobIntegrityError.is(error));
  });
});
