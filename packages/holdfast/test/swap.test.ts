import path from 'node:path';

import { type Blobs, memoryBlobs } from '@holdfast/blobs';
import { openFsBlobs } from '@holdfast/blobs/fs';
import {
  MemorySessionStorage,
  memorySessionLedgers,
  type SessionLedgers,
  sharedSessionLedgers,
} from '@holdfast/journal';
import { type Leaser, MemoryLeases, memoryLeaser } from '@holdfast/lease';
import { openFsLeaser } from '@holdfast/lease/fs';
import { openLevelLedgers } from '@holdfast/level';
import { afterEach, beforeEach, describe, it } from 'vitest';

import { openFileLedger } from '../../../examples/file-ledger/src/file-ledger.mjs';
import { temporaryDirectory } from './run-command.js';
import { travel } from './swap-journey.js';

/** The same rig over every combination of parts, from end to end and over two openings: each swap is one line. */

/** What outlives an opening when it is not on the disk. */
interface Outlives {
  readonly place: string;
  readonly blobs: Blobs;
  readonly journals: MemorySessionStorage;
  readonly leases: MemoryLeases;
}

const blobs: Record<string, (given: Outlives) => Promise<Blobs>> = {
  memory: async (given) => await Promise.resolve(given.blobs),
  fs: async ({ place }) => await openFsBlobs(path.join(place, 'blobs')),
};
const ledgers: Record<string, (given: Outlives) => Promise<SessionLedgers>> = {
  memory: async ({ journals }) => await Promise.resolve(memorySessionLedgers({ storage: journals })),
  level: async ({ place }) => await openLevelLedgers(path.join(place, 'level')),
  'multi-process file': async ({ place }) =>
    sharedSessionLedgers(await openFileLedger(path.join(place, 'files'))),
};
const leasers: Record<string, (given: Outlives) => Promise<Leaser>> = {
  memory: async ({ leases }) => await Promise.resolve(memoryLeaser({ leases })),
  fs: async ({ place }) => await openFsLeaser(path.join(place, 'leases')),
};

const combinations = Object.keys(blobs).flatMap((blob) =>
  Object.keys(ledgers).flatMap((ledger) =>
    Object.keys(leasers).map((leaser) => [blob, ledger, leaser] as const),
  ),
);

let temporary: ReturnType<typeof temporaryDirectory>;

beforeEach(() => {
  temporary = temporaryDirectory();
});

afterEach(() => {
  temporary[Symbol.dispose]();
});

describe('the same rig', () => {
  it.each(combinations)('over %s blobs, %s ledgers and %s leases', async (blob, ledger, lease) => {
    const given: Outlives = {
      place: temporary.path,
      blobs: memoryBlobs(),
      journals: new MemorySessionStorage(),
      leases: new MemoryLeases(),
    };
    await travel(given.place, async () => {
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
          // The one in memory is the world's.
          if (stored !== given.blobs) await stored.close();
        },
      };
    });
  });
});
