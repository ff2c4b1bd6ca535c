import * as fs from 'node:fs';
import * as path from 'node:path';

import { HoldfastError } from '@holdfast/base';
import { seededRandom } from '@holdfast/base/testing';
import { memoryBlobs } from '@holdfast/blobs';
import type { Ref, WorkspaceStore } from '@holdfast/workspacestore';
import { beforeAll, describe, expect, test } from 'vitest';

import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { blobsOf, contents, withStore } from './support/store.js';
import { temporaryDirectory } from './support/temporary.js';

/** `HOLDFAST_CAMPAIGN=1` tries every bit and every length of every blob; else one bit of some bytes and a few lengths. */
const campaign = process.env['HOLDFAST_CAMPAIGN'] === '1';
const seed = Number(process.env['HOLDFAST_SEED'] ?? 1);

let stored: Map<string, Uint8Array>;
const wanted = new Map<Ref, string>();

/** Everything that a snapshot holds, as text. */
async function readAll(store: WorkspaceStore, ref: Ref): Promise<string> {
  const rows: unknown[] = [];
  for (const entry of await store.list(ref)) {
    const parts: Uint8Array[] = [];
    if (entry.kind === 'file') for await (const part of await store.read(ref, entry.path)) parts.push(part);
    rows.push([entry.kind, entry.mode, entry.path, entry.target, Buffer.concat(parts).toString('latin1')]);
  }
  return JSON.stringify(rows);
}

beforeAll(async () => {
  const root = path.join(temporaryDirectory(), 'root');
  fs.mkdirSync(path.join(root, 'd/empty'), { recursive: true });
  fs.writeFileSync(path.join(root, 'a'), 'content of a');
  fs.writeFileSync(path.join(root, 'd/b'), 'content of b\n'.repeat(40), { mode: 0o755 });
  fs.symlinkSync('d/b', path.join(root, 'link'));
  const blobs = memoryBlobs();
  await withStore(blobs, async (store) => {
    const first = (await store.snapshot(root)).ref;
    fs.writeFileSync(path.join(root, 'c'), 'added');
    const second = (await store.snapshot(root, { base: first })).ref;
    for (const ref of [first, second]) wanted.set(ref, await readAll(store, ref));
  });
  stored = await contents(blobs);
});

interface Outcomes {
  damaged: number;
  /** Snapshots that could be read as they were, and those that were refused. */
  whole: number;
  refused: number;
}

/** Damages one blob at a time. Verification names it, and whoever reads is given the truth or an error of ours. */
async function damageAll({ deep }: { readonly deep: boolean }): Promise<Outcomes> {
  const random = seededRandom(seed);
  const outcomes: Outcomes = { damaged: 0, whole: 0, refused: 0 };
  const check = async (key: string, bytes: Uint8Array, what: string): Promise<void> => {
    outcomes.damaged += 1;
    const where = `seed ${seed}, ${key}, ${what}`;
    await withStore(await blobsOf(new Map(stored).set(key, bytes)), { threads: false }, async (store) => {
      const { problems } = await store.verify('all', { deep });
      if (!problems.some((problem) => problem.key === key)) throw new Error(`${where}: not noticed`);
      for (const { code } of problems) expect(code, where).toMatch(/^(WORKSPACE|BLOBS)_/);
      // One of the snapshots in its turn: opening a store anew is what costs.
      const turns = [...wanted];
      for (const [ref, text] of turns.slice(outcomes.damaged % turns.length).slice(0, 1)) {
        try {
          const found = await readAll(store, ref);
          if (found !== text) throw new Error(`${where}: ${ref} was read as ${found}`);
          outcomes.whole += 1;
        } catch (error) {
          if (!HoldfastError.is(error) || !/^(WORKSPACE|BLOBS)_/.test(error.code)) throw error;
          outcomes.refused += 1;
        }
      }
    });
  };
  for (const [key, bytes] of stored) {
    // Archives are large, and much of them is padding.
    const isArchive = key.startsWith('archives/');
    for (let at = 0; at < bytes.length; at += 1) {
      const isSampled = !isArchive || (at % 7 === 0 && (bytes[at] !== 0 || at % 61 === 0));
      if (!campaign && !isSampled) continue;
      for (const bit of campaign ? [0, 1, 2, 3, 4, 5, 6, 7] : [random.below(8)]) {
        const flipped = bytes.slice();
        flipped[at] = (flipped[at] as number) ^ (1 << bit);
        await check(key, flipped, `bit ${bit} of byte ${at}`);
      }
    }
    const lengths = campaign
      ? [...bytes.keys()]
      : [0, 1, bytes.length >> 1, bytes.length - 1, random.below(bytes.length)];
    for (const length of lengths) await check(key, bytes.slice(0, length), `cut to ${length} bytes`);
    await check(key, Buffer.concat([bytes, Buffer.from('x')]), 'a byte more');
  }
  return outcomes;
}

describe(`every blob of a store, damaged${campaign ? '' : ' here and there'}`, () => {
  test(
    'is found by a deep verification, and nobody reads what was not written',
    async () => {
      const { damaged, whole, refused } = await damageAll({ deep: true });
      countForCampaign('damaged blobs read', damaged);
      console.log(`${damaged} damaged blobs: ${whole} snapshots whole, ${refused} refused`);
      expect(damaged).toBeGreaterThan(1_000);
      expect(whole).toBeGreaterThan(damaged / 10);
      expect(refused).toBeGreaterThan(damaged / 10);
    },
    campaign ? 7_200_000 : 600_000,
  );

  test('is not found when verification looks at indexes and trees only', async () => {
    await expect(damageAll({ deep: false })).rejects.toThrow('not noticed');
  });
});
