import { afterAll, expect, it, vi } from 'vitest';

import { openFileLedger } from '../src/file-ledger.mjs';
import { removeDirectories, temporaryDirectory } from '../src/harness.mjs';

/** The listing with this number misses a file, as one of a large directory can while files are added; 0: none does. */
const miss = vi.hoisted(() => ({ listing: 0, done: false }));
const missedFile = /^0{15}4\./;

vi.mock('node:fs/promises', async (original) => {
  const real = await original();
  return {
    ...real,
    readdir: async (...call) => {
      const entries = await real.readdir(...call);
      miss.listing -= 1;
      if (miss.listing !== 0) return entries;
      miss.done = true;
      const left = entries.filter((entry) => !missedFile.test(entry.name));
      expect(left.length).toBe(entries.length - 1);
      return left;
    },
  };
});

afterAll(removeDirectories);

const name = 'a/ledger';
const record = (/** @type {number} */ seq) => Buffer.from(`record ${seq}`);

async function ledgerOf(/** @type {number} */ count) {
  const ledger = await openFileLedger(await temporaryDirectory());
  for (let tip = 0; tip < count; tip += 1) await ledger.append(name, tip, [record(tip + 1)]);
  return ledger;
}

// The tip is looked at first, then the history.
const cases = [1, 2].flatMap((listing) => [false, true].map((reverse) => [listing, reverse]));

it.each(cases)(
  'listing %i has a file and not its predecessor: no gap is read, reverse: %s',
  async (listing, reverse) => {
    const ledger = await ledgerOf(6);
    miss.done = false;
    miss.listing = listing;
    const seqs = [];
    for await (const { seq } of ledger.read(name, { from: 1, reverse })) seqs.push(seq);
    expect(miss.done).toBe(true);
    const all = [1, 2, 3, 4, 5, 6];
    expect(seqs).toEqual(reverse ? all.toReversed() : all);
    await ledger.close();
  },
);
