import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { runMutants } from '@holdfast/base/testing';
import { nodeFileSystem } from '@holdfast/durable';
import { type RestoreStrategy, reconcile, swap } from '@holdfast/restore';
import {
  type StrategyHarness,
  strategyContract,
  testStrategy,
  verifyStrategy,
} from '@holdfast/restore/testing';
import { describe, expect, it } from 'vitest';

import { copying } from './support/copying-strategy.js';

const onDisk = (): ReturnType<NonNullable<StrategyHarness['disk']>> => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-strategy-')));
  return {
    fileSystem: nodeFileSystem(),
    directory,
    release: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

const harnesses: readonly StrategyHarness[] = [
  { adapter: 'reconcile', strategy: reconcile(), inPlace: true, crashStates: 200 },
  { adapter: 'reconcile on the disk', strategy: reconcile(), inPlace: true, crashStates: 1, disk: onDisk },
  { adapter: 'swap', strategy: swap({ fallback: false }), inPlace: false, crashStates: 200 },
  {
    adapter: 'swap on the disk',
    strategy: swap({ fallback: false }),
    inPlace: false,
    crashStates: 1,
    disk: onDisk,
  },
  { adapter: 'a strategy of a stranger', strategy: copying(), inPlace: true, crashStates: 200 },
];

for (const harness of harnesses) testStrategy({ describe, it }, harness);

describe('the suite', () => {
  it('reports for people', async () => {
    const report = await verifyStrategy({
      adapter: 'reconcile',
      strategy: reconcile(),
      inPlace: true,
      crashStates: 50,
    });
    expect(report.ok).toBe(true);
    expect(report.summary).toContain('restore-strategy/1');
  });

  it('catches every broken strategy', async () => {
    const good = reconcile({ prune: 'exact' });
    const broken =
      (change: Partial<RestoreStrategy>): (() => StrategyHarness) =>
      () => ({
        adapter: 'broken',
        strategy: { ...good, ...change },
        inPlace: true,
        crashStates: 200,
      });
    const verdicts = await runMutants(strategyContract, [
      { name: 'has no proper name', killedBy: ['1.1'], harness: broken({ name: 'Not A Name' }) },
      {
        name: 'leaves a probe behind',
        killedBy: ['2.1'],
        harness: broken({
          unavailable: async (context) => {
            context.parent.mkdir('probe');
            return await Promise.resolve(undefined);
          },
        }),
      },
      {
        name: 'changes the root while staging',
        killedBy: ['2.2'],
        harness: broken({
          stage: async (context) => {
            await good.stage(context);
            context.root.unlink('deleted');
          },
        }),
      },
      {
        name: 'hides the reason of an abort',
        killedBy: ['2.3'],
        harness: broken({
          stage: async (context) => {
            try {
              await good.stage(context);
            } catch (cause) {
              throw new Error('aborted', { cause });
            }
          },
        }),
      },
      {
        name: 'returns what JSON cannot carry',
        killedBy: ['2.5'],
        harness: broken({
          secure: async (context) => ({ ...((await good.secure(context)) as object), lost: Number.NaN }),
        }),
      },
      {
        name: 'does nothing and says it did',
        killedBy: ['3.1'],
        harness: broken({ commit: () => Promise.resolve() }),
      },
      {
        name: 'leaves a reserved name',
        killedBy: ['3.2'],
        harness: broken({
          commit: async (context, state) => {
            await good.commit(context, state);
            context.root?.mkdir('.holdfast-left');
          },
        }),
      },
      {
        name: 'is not in place',
        killedBy: ['3.4'],
        harness: () => ({ adapter: 'broken', strategy: swap({ fallback: false }), inPlace: true }),
      },
      {
        name: 'writes through names',
        killedBy: ['3.5'],
        harness: broken({
          commit: async (context, state) => {
            {
              using file = context.root?.openFile('replaced', 'read-write');
              file?.write(Buffer.from('new'), 0);
            }
            await good.commit(context, state).catch(() => undefined);
          },
        }),
      },
      { name: 'does not undo', killedBy: ['4.1', '4.4'], harness: broken({ undo: () => Promise.resolve() }) },
      {
        name: 'undoes only once',
        killedBy: ['4.3'],
        harness: () => {
          const done = new Set<string>();
          const undo: RestoreStrategy['undo'] = async (context, state) => {
            if (done.has(context.restoreId)) throw new Error('already undone');
            done.add(context.restoreId);
            await good.undo(context, state);
          };
          return broken({ undo })();
        },
      },
      {
        name: 'does not sync what it changed',
        killedBy: ['5.1'],
        harness: broken({
          commit: async (context, state) => {
            const lazy = {
              ...context,
              root: context.root === undefined ? undefined : unsynced(context.root),
            };
            await good.commit(lazy, state);
          },
        }),
      },
    ]);
    expect(verdicts.filter(({ killers, missed }) => killers.length === 0 || missed.length > 0)).toEqual([]);
  });
});

/** A directory whose syncs do nothing. */
function unsynced<T extends object>(dir: T): T {
  return new Proxy(dir, {
    get: (target, name) => {
      if (name === 'sync' || name === 'syncLater') return () => Promise.resolve();
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const result = (value as (...inner: unknown[]) => unknown).apply(target, args);
        return name === 'openDir' ? unsynced(result as object) : result;
      };
    },
  });
}
