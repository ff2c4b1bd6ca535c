import { ManualClock } from '@holdfast/base/testing';
import { Dir } from '@holdfast/durable';
import { FaultFileSystem, ModelFileSystem, readTree, writeTree } from '@holdfast/durable/testing';
import {
  type RestoreStrategy,
  readOutcomes,
  reconcile,
  recover,
  swap,
  sweepScratch,
} from '@holdfast/restore';
import { describe, expect, it } from 'vitest';

import { type Bench, bench } from './support/bench.js';

const root = '/base/root';
const clock = new ManualClock(4_000_000_000_000);
const before = { a: 'file 600 "old"', gone: 'file 600 "gone"' };
const after = { a: 'file 644 "new"', fresh: 'file 644 "fresh"' };
const theirs = { a: 'file 600 "theirs"' };

interface Failed extends Bench {
  /** The disk without faults. */
  readonly disk: ModelFileSystem;
  /** Restores again in the same process. */
  again(): Promise<unknown>;
}

/** A restore whose nth phase could not be recorded. */
async function failedAt(nth: number, strategy: RestoreStrategy, failOn?: string): Promise<Failed> {
  const disk = new ModelFileSystem();
  writeTree(disk, '/', {
    'base/': null,
    'base/root/': null,
    'base/root/a': 'old',
    'base/root/gone': 'gone',
  });
  const b = bench(disk, '/base');
  const ref = b.source.define(
    {
      a: { kind: 'file', content: 'new', mode: 0o644 },
      fresh: { kind: 'file', content: 'fresh', mode: 0o644 },
    },
    { rootMode: 0o700 },
  );
  const fileSystem = new FaultFileSystem(disk, [
    { operation: 'sync', pathEnd: '/intent', nth, errno: 'EIO' },
  ]);
  b.journal.failOn = failOn;
  const options = { strategy, fileSystem, clock, prune: 'exact' } as const;
  await expect(b.restore(ref, options)).rejects.toThrow();
  expect(fileSystem.fired).toBe(1);
  expect(readTree(disk, root)).toEqual(before);
  const again = { ...options, strategy: plain[strategy.name] };
  return { ...b, disk, again: () => b.restore(ref, again) };
}

/** What an agent does once it was told that the old tree is in place. */
function goOn(disk: ModelFileSystem): void {
  using dir = Dir.openRoot(disk, root);
  for (const name of dir.list()) dir.unlink(name);
  writeTree(disk, root, { a: 'theirs' });
}

const plain: Readonly<Record<string, RestoreStrategy>> = {
  reconcile: reconcile({ prune: 'exact' }),
  swap: swap({ fallback: false }),
};

const takingBack = (strategy: RestoreStrategy): RestoreStrategy => ({
  ...strategy,
  commit: async (context, state) => {
    await strategy.commit(context, state);
    throw new Error('stop');
  },
});

for (const [label, strategy] of Object.entries(plain)) {
  const places = [
    ['before the first change', 1, strategy],
    ['when the old tree is back', 2, takingBack(strategy)],
  ] as const;
  for (const [place, nth, failing] of places) {
    describe(`a phase of ${label} that cannot be recorded ${place}`, () => {
      it('stands in nobody’s way: the next restore works, and no recovery touches what came after it', async () => {
        const b = await failedAt(nth, failing);
        expect(b.journal.types).toBe('started aborted');
        expect(Object.keys(readTree(b.disk, '/base'))).not.toContain('.root.holdfast');
        goOn(b.disk);
        await b.again();
        expect(readTree(b.disk, root)).toEqual(after);
        goOn(b.disk);
        expect(await recover(root, { isAlive: () => 'dead', fileSystem: b.disk, clock })).toEqual({
          action: 'none',
        });
        expect(readTree(b.disk, root)).toEqual(theirs);
      });

      it('is over before the journal is told: a recovery undoes nothing in a tree that has moved on', async () => {
        const b = await failedAt(nth, failing, 'aborted');
        goOn(b.disk);
        const result = await recover(root, { isAlive: () => 'dead', fileSystem: b.disk, clock });
        expect(result).toMatchObject({ action: 'undone' });
        expect(readTree(b.disk, root)).toEqual(theirs);
        expect(readOutcomes(root, { fileSystem: b.disk })).toMatchObject([{ phase: 'undone' }]);
        await sweepScratch(root, { settled: () => true, fileSystem: b.disk, clock });
        expect(Object.keys(readTree(b.disk, '/base'))).toEqual(['root', 'root/a']);
      });
    });
  }
}
