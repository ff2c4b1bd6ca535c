import { ManualClock, seededRandom } from '@holdfast/base/testing';
import { ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import { previewRestore, type RestoreStrategy, reconcile, swap } from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { bench } from './support/bench.js';
import { generatedCase } from './support/crash-cases.js';

const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const seeds = Array.from({ length: 120 }, (_, index) => firstSeed + index);

async function pairOf(seed: number) {
  const fileSystem = new ModelFileSystem();
  const { old, target } = generatedCase(seed);
  writeTree(fileSystem, '/', { 'base/': null, 'base/root/': null, 'base/target/': null });
  writeTree(fileSystem, '/base/root', old);
  writeTree(fileSystem, '/base/target', target);
  const b = bench(fileSystem, '/base');
  const ref = b.source.capture('/base/target');
  const tree = (name: string) => readTree(fileSystem, `/base/${name}`);
  return await Promise.resolve({ b, ref, fileSystem, tree, random: seededRandom(seed) });
}

describe('any old tree and any target', () => {
  const strategies: readonly RestoreStrategy[] = [reconcile({ prune: 'exact' }), swap({ fallback: false })];

  for (const strategy of strategies) {
    it(`end equal when ${strategy.name} prunes exactly`, async () => {
      for (const seed of seeds) {
        const { b, ref, tree } = await pairOf(seed);
        const receipt = await b.restore(ref, { strategy, verify: 'all', clock: new ManualClock() });
        expect(tree('root'), `seed ${seed}`).toEqual(tree('target'));
        expect(receipt.exact, `seed ${seed}`).toBe(true);
      }
    });
  }

  it('agree on every path that the plan says, and keep every other', async () => {
    for (const seed of seeds) {
      const { b, ref, tree } = await pairOf(seed);
      const before = tree('root');
      const plan = await previewRestore(b.source, ref, b.root, { fileSystem: b.source.fileSystem });
      const receipt = await b.restore(ref, { plan, clock: new ManualClock() });
      const after = tree('root');
      const wanted = tree('target');
      const touched = new Set(
        [plan.create, plan.replace, plan.chmod, plan.retype, plan.mkdir].flat().map(({ path }) => path),
      );
      for (const path of touched) expect(after[path], `seed ${seed}: ${path}`).toBe(wanted[path]);
      const gone = new Set(plan.delete.map(({ path }) => path));
      for (const path of gone) expect(after[path], `seed ${seed}: ${path}`).toBeUndefined();
      for (const [path, node] of Object.entries(before)) {
        if (!touched.has(path) && !gone.has(path)) expect(after[path], `seed ${seed}: ${path}`).toBe(node);
      }
      for (const path of Object.keys(wanted)) expect(after[path], `seed ${seed}: ${path}`).toBe(wanted[path]);
      expect(receipt.exact, `seed ${seed}`).toBe(JSON.stringify(after) === JSON.stringify(wanted));
      expect(plan.exact, `seed ${seed}`).toBe(receipt.exact);
      const kept = Object.entries(before).filter(([path, node]) => wanted[path] === node).length;
      expect(plan.keep, `seed ${seed}`).toBe(kept);
    }
  });

  it('change only what is chosen', async () => {
    for (const seed of seeds) {
      const { b, ref, tree, random } = await pairOf(seed);
      const before = tree('root');
      const wanted = tree('target');
      const all = [...new Set([...Object.keys(before), ...Object.keys(wanted)])];
      if (all.length === 0) continue;
      const chosen = random.pick(all);
      const receipt = await b.restore(ref, { paths: [chosen], prune: 'exact', clock: new ManualClock() });
      const after = tree('root');
      const inside = (path: string): boolean => path === chosen || path.startsWith(`${chosen}/`);
      const above = (path: string): boolean => chosen.startsWith(`${path}/`);
      const reachable = !Object.keys(wanted).some(
        (path) => above(path) && !wanted[path]?.startsWith('directory'),
      );
      for (const path of all) {
        if (inside(path) && reachable)
          expect(after[path], `seed ${seed}: ${path} of ${chosen}`).toBe(wanted[path]);
        // What is on the way may have to become a directory, which takes what stood there.
        const moved = all.some(
          (up) => above(up) && after[up] !== before[up] && (path === up || path.startsWith(`${up}/`)),
        );
        if (!inside(path) && !moved)
          expect(after[path], `seed ${seed}: ${path} of ${chosen}`).toBe(before[path]);
      }
      expect(receipt.exact, `seed ${seed}`).toBe(JSON.stringify(after) === JSON.stringify(wanted));
    }
  });
});
