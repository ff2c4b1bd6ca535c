import { randomBytes } from 'node:crypto';
import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import {
  type Ledger,
  MemorySessionStorage,
  memorySessionLedgers,
  type SessionLedgers,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { afterEach, beforeAll, beforeEach, describe, it } from 'vitest';

import { openFileLedger } from '../../../../examples/file-ledger/src/file-ledger.mjs';
import { openBucket, openDatabase, openStreams } from '../../../../examples/two-hosts/src/engines.mjs';
import { makeBucket } from '../../../../examples/two-hosts/src/two-hosts.mjs';
import { temporaryDirectory } from '../run-command.js';
import { type Parts, travel } from '../swap-journey.js';

/** The matrix of `swap.test.ts` with the engines for many machines in it: each swap is one line. */

interface Storage {
  readonly ledger: Ledger;
  readonly leaser: Leaser;
  close(): Promise<void>;
}

/** What outlives an opening, and the engines of this one, opened when somebody asks for them. */
interface Given {
  readonly place: string;
  readonly blobs: Blobs;
  readonly journals: MemorySessionStorage;
  readonly leases: MemoryLeases;
  readonly bucket: () => Promise<Blobs>;
  readonly postgres: () => Promise<Storage>;
  readonly nats: () => Promise<Storage>;
}

const blobs: Record<string, (given: Given) => Promise<Blobs>> = {
  memory: async (given) => await Promise.resolve(given.blobs),
  fs: async ({ place }) => await openFsBlobs(path.join(place, 'blobs')),
  s3: async ({ bucket }) => await bucket(),
};
const ledgers: Record<string, (given: Given) => Promise<SessionLedgers>> = {
  memory: async ({ journals }) => await Promise.resolve(memorySessionLedgers({ storage: journals })),
  level: async ({ place }) => await openLevelLedgers(path.join(place, 'level')),
  'multi-process file': async ({ place }) =>
    sharedSessionLedgers(await openFileLedger(path.join(place, 'files'))),
  postgres: async ({ postgres }) => sharedSessionLedgers((await postgres()).ledger),
  nats: async ({ nats }) => sharedSessionLedgers((await nats()).ledger),
};
const leasers: Record<string, (given: Given) => Promise<Leaser>> = {
  memory: async ({ leases }) => await Promise.resolve(memoryLeaser({ leases })),
  fs: async ({ place }) => await openFsLeaser(path.join(place, 'leases')),
  postgres: async ({ postgres }) => (await postgres()).leaser,
  nats: async ({ nats }) => (await nats()).leaser,
};

const engines = new Set(['s3', 'postgres', 'nats']);
const combinations = Object.keys(blobs).flatMap((blob) =>
  Object.keys(ledgers).flatMap((ledger) =>
    Object.keys(leasers)
      .map((leaser) => [blob, ledger, leaser] as const)
      .filter((names) => names.some((name) => engines.has(name))),
  ),
);

let temporary: ReturnType<typeof temporaryDirectory>;
const bucketName = `swap-${randomBytes(6).toString('hex')}`;

beforeAll(async () => {
  await makeBucket(bucketName);
});

beforeEach(() => {
  temporary = temporaryDirectory();
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

describe('the same rig', () => {
  it.each(combinations)('over %s blobs, %s ledgers and %s leases', async (blob, ledger, lease) => {
    const name = `swap_${randomBytes(6).toString('hex')}`;
    const env = {
      ...process.env,
      TWO_HOSTS_BUCKET: bucketName,
      TWO_HOSTS_PREFIX: name,
      TWO_HOSTS_NAME: name,
    };
    const outlives = {
      place: temporary.path,
      blobs: memoryBlobs(),
      journals: new MemorySessionStorage(),
      leases: new MemoryLeases(),
    };
    const open = async (): Promise<Parts> => {
      const used = new Set<Storage>();
      const once = (make: () => Promise<Storage>): (() => Promise<Storage>) => {
        let made: Promise<Storage> | undefined;
        return async () => {
          made ??= make();
          const storage = await made;
          used.add(storage);
          return storage;
        };
      };
      const given: Given = {
        ...outlives,
        bucket: async () => await openBucket(env),
        postgres: once(async () => await openDatabase(env)),
        nats: once(async () => await openStreams(env)),
      };
      const leaser = await (leasers[lease] as (typeof leasers)['x'])(given);
      const stored = await (blobs[blob] as (typeof blobs)['x'])(given);
      const opened = await (ledgers[ledger] as (typeof ledgers)['x'])(given);
      return {
        blobs: stored,
        ledgers: opened,
        leaser,
        close: async () => {
          await opened.close();
          await leaser.close();
          for (const storage of used) await storage.close();
          if (stored !== outlives.blobs) await stored.close();
        },
      };
    };
    await travel(outlives.place, open);
  });
});
