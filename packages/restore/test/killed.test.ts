import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { nodeFileSystem } from '@holdfast/durable';
import { readTree } from '@holdfast/durable/testing';
import { readOutcomes, recover, sweepScratch } from '@holdfast/restore';
import { MemorySource } from '@holdfast/restore/testing';
import { describe, expect, it } from 'vitest';
import { countForCampaign } from '../../../tools/campaign/count.mjs';
import { temporaryDirectory } from './support/bench.js';

const run = promisify(execFile);
const script = fileURLToPath(new URL('./fixtures/killed.mjs', import.meta.url));
/** How many places each strategy is killed at, spread evenly; `HOLDFAST_KILLS` raises it up to every change. */
const kills = Number(process.env['HOLDFAST_KILLS'] ?? 15);
const disk = nodeFileSystem();

function build(root: string): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(root, 'd/deep'), { recursive: true });
  writeFileSync(join(root, 'a'), 'old');
  writeFileSync(join(root, 'd/deep/x'), 'x');
  writeFileSync(join(root, 'f'), 'a file');
  writeFileSync(join(root, 'm'), 'm', { mode: 0o600 });
  symlinkSync('one', join(root, 'l'));
  chmodSync(join(root, 'd/deep'), 0o555);
}

async function attempt(base: string, strategy: string, nth: number): Promise<number | 'killed'> {
  try {
    const { stdout } = await run(process.execPath, [script, base, strategy, String(nth)]);
    return Number(stdout);
  } catch (error) {
    if ((error as { signal?: string }).signal === 'SIGKILL') return 'killed';
    throw error;
  }
}

/** Kills a restore at so many of its changes, recovers each, and says how often the old and the new tree was left. */
async function killEverywhere(strategy: string): Promise<{ old: number; new: number }> {
  const base = temporaryDirectory();
  const root = join(base, 'root');
  build(root);
  const before = readTree(disk, root);
  const changes = (await attempt(base, strategy, 0)) as number;
  const after = readTree(disk, root);
  const found = { old: 0, new: 0 };
  const step = Math.max(1, changes / kills);
  for (let at = 1; at <= changes; at += step) {
    const nth = Math.round(at);
    build(root);
    expect(await attempt(base, strategy, nth)).toBe('killed');
    const { action } = await recover(root, { isAlive: () => 'dead' });
    const [outcome] = readOutcomes(root);
    const tree = readTree(disk, root);
    // Without an outcome nothing was begun, or everything is over.
    const expected =
      outcome === undefined ? (action === 'none' && nth > changes / 2 ? 'new' : 'old') : outcome.phase;
    if (expected === 'new' || expected === 'committed') {
      expect(tree, `killed before change ${nth}`).toEqual(after);
      found.new += 1;
    } else {
      expect(tree, `killed before change ${nth}`).toEqual(before);
      found.old += 1;
    }
    const source = new MemorySource();
    await sweepScratch(root, { settled: () => true, scan: (path) => source.scan(path) });
    expect(readTree(disk, root)).toEqual(tree);
    expect(readdirSync(base)).toEqual(['root']);
  }
  return found;
}

for (const strategy of ['reconcile', 'swap']) {
  describe(`SIGKILL in ${strategy} on the real disk`, () => {
    it(`leaves old or new at ${kills} places`, { timeout: 3_600_000 }, async () => {
      const found = await killEverywhere(strategy);
      countForCampaign('restores killed', found.old + found.new);
      expect(found.old).toBeGreaterThan(5);
      expect(found.new).toBeGreaterThan(0);
    });
  });
}

it('SIGKILL in a restore that notes nothing leaves neither tree, which is found', async () => {
  await expect(killEverywhere('careless')).rejects.toThrow(/killed before change \d+/);
});
