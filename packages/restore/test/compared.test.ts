import { ManualClock } from '@holdfast/base/testing';
import { ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import {
  planDigest,
  planRestore,
  previewRestore,
  type RestoreSource,
  reconcile,
  swap,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { bench } from './support/bench.js';
import { generatedCase } from './support/crash-cases.js';

const firstSeed = Number(process.env['HOLDFAST_SEED'] ?? 1);
const seeds = Array.from({ length: 80 }, (_, index) => firstSeed + index);

/** Directories that are equal in both trees, beside a generated case that differs. */
const same = { 'same/': null, 'same/deep/': null, 'same/deep/a': 'one', 'same/b': 'two', 'same/link@': 'b' };

function pairOf(seed: number) {
  const fileSystem = new ModelFileSystem();
  const { old, target } = generatedCase(seed);
  writeTree(fileSystem, '/', { 'base/': null, 'base/root/': null, 'base/target/': null });
  for (const [name, plan] of [
    ['root', old],
    ['target', target],
  ] as const) {
    writeTree(fileSystem, `/base/${name}`, plan);
    writeTree(fileSystem, `/base/${name}`, same);
  }
  const b = bench(fileSystem, '/base');
  const ref = b.source.capture('/base/target');
  return { b, ref, fileSystem, tree: (name: string) => readTree(fileSystem, `/base/${name}`) };
}

/** A source that can only read whole trees, as strangers' sources may. */
function wholeOnly(source: RestoreSource): RestoreSource {
  return {
    openTree: (ref, options) => source.openTree(ref, options),
    scan: (root, options) => source.scan(root, options),
    fetch: (entries, sink, options) => source.fetch(entries, sink, options),
  };
}

describe('a plan from what differs', () => {
  it('is the plan from both whole trees, whatever the options', async () => {
    for (const seed of seeds) {
      const { b, ref } = pairOf(seed);
      const safetyRef = b.source.capture(b.root);
      for (const strategy of [reconcile(), reconcile({ prune: 'exact' })]) {
        for (const extra of [{}, { safetyRef }, { onConflict: 'skip', safetyRef }] as const) {
          const options = { fileSystem: b.source.fileSystem, strategy, ...extra };
          const compared = await previewRestore(b.source, ref, b.root, options);
          const whole = await previewRestore(wholeOnly(b.source), ref, b.root, options);
          expect(compared, `seed ${seed}`).toEqual(whole);
          expect(planDigest(compared), `seed ${seed}`).toBe(planDigest(whole));
          expect(compared.keep, `seed ${seed}`).toBeGreaterThanOrEqual(Object.keys(same).length);
        }
      }
    }
  });

  it('finds what was changed after the safety checkpoint', async () => {
    const { b, ref, fileSystem } = pairOf(1);
    writeTree(fileSystem, b.root, { 'same/deep/late': 'present in the checkpoint' });
    const safetyRef = b.source.capture(b.root);
    const dir = fileSystem.openRoot(`${b.root}/same/deep`);
    fileSystem.unlink(dir, Buffer.from('late'));
    fileSystem.close(dir);
    writeTree(fileSystem, b.root, { 'same/deep/late': 'written behind its back', 'same/deep/new': 'too' });
    const plan = await previewRestore(b.source, ref, b.root, { fileSystem, safetyRef });
    const paths = plan.conflicts.map(({ path }) => path);
    expect(paths).toEqual(['same/deep/late', 'same/deep/new']);
  });

  it('reads trees whole for a strategy that needs them, also for a plan that was shown', async () => {
    for (const seed of seeds.slice(0, 20)) {
      const { b, ref, tree } = pairOf(seed);
      const strategy = swap({ fallback: false });
      const shown = await previewRestore(b.source, ref, b.root, {
        fileSystem: b.source.fileSystem,
        strategy: reconcile({ prune: 'exact' }),
      });
      const asSwap = { ...shown, strategy: 'swap' };
      const receipt = await b.restore(ref, {
        strategy,
        plan: asSwap,
        verify: 'all',
        clock: new ManualClock(),
      });
      expect([receipt.strategy, tree('root')], `seed ${seed}`).toEqual(['swap', tree('target')]);
    }
  });

  it('verifies the whole tree from what differs too', async () => {
    for (const seed of seeds.slice(0, 30)) {
      const { b, ref, tree } = pairOf(seed);
      const strategy = reconcile({ prune: 'exact' });
      const receipt = await b.restore(ref, { strategy, verify: 'all', clock: new ManualClock() });
      expect([receipt.verified, tree('root')], `seed ${seed}`).toEqual(['all', tree('target')]);
    }
  });

  it('counts what it does not list, and says nothing about it', async () => {
    const { b, ref } = pairOf(3);
    const compared = await b.source.compare(b.root, ref);
    const [live, target] = [await b.source.scan(b.root), await b.source.openTree(ref)];
    expect(compared.live.entries.length + compared.unlisted).toBe(live.entries.length);
    expect(compared.target.entries.length + compared.unlisted).toBe(target.entries.length);
    expect(planRestore(live, target).keep).toBeGreaterThanOrEqual(compared.unlisted);
  });
});
