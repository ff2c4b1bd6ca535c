import assert from 'node:assert/strict';

import type { JsonValue } from '@holdfast/base';
import type { CaseDefinition } from '@holdfast/base/testing';
import { Dir } from '@holdfast/durable';
import {
  exploreCrashes,
  FaultFileSystem,
  type ModelFileSystem,
  readTree,
  type TreePlan,
  writeTree,
} from '@holdfast/durable/testing';
import type { Ref } from '@holdfast/workspacestore';

import { applyRestore } from '../../apply-restore.js';
import { WorkspaceRestoreError } from '../../errors.js';
import { readOutcomes } from '../../outcomes.js';
import { recover } from '../../recover.js';
import type { RestoreStrategy, StrategyContext } from '../../strategy.js';
import { sweepScratch } from '../../sweep-scratch.js';
import { MemorySource } from '../memory-source.js';
import { failureOf, inertLock, StrategyBench } from '../strategy-bench.js';
import type { StrategyHarness } from '../strategy-harness.js';
import { arrange } from './arrange.js';

const stop = new Error('stopped by the suite');

/** Clauses 4 and 5: the way back, in the same process and after a crash. */
export const undoingCases: readonly CaseDefinition<StrategyHarness>[] = [
  {
    clause: '4.1',
    name: 'undo after a finished commit brings the old tree back',
    check: async (harness, scope) => {
      await undoAfter(new StrategyBench(harness, scope), harness, async (commit) => {
        await commit();
        throw stop;
      });
    },
  },
  {
    clause: '4.2',
    name: 'undo before anything was committed leaves the old tree',
    check: async (harness, scope) => {
      await undoAfter(new StrategyBench(harness, scope), harness, async () => await Promise.reject(stop));
    },
  },
  {
    clause: '4.3',
    name: 'undo may be run again',
    check: async (harness, scope) => {
      const twice = async (context: StrategyContext, state: JsonValue): Promise<void> => {
        await harness.strategy.undo(context, state);
        await harness.strategy.undo(context, state);
      };
      const bench = new StrategyBench(harness, scope);
      await undoAfter(
        bench,
        { ...harness, strategy: { ...harness.strategy, undo: twice } },
        async (commit) => {
          await commit();
          throw stop;
        },
      );
    },
  },
  {
    clause: '4.4',
    name: 'undo brings the old tree back whatever call of the commit failed',
    check: async (harness, scope) => {
      for (let nth = 1; ; nth += 1) {
        const bench = new StrategyBench(harness, scope);
        const { ref, before, after } = arrange(bench);
        let armed: FaultFileSystem | undefined;
        const switchable = new FaultFileSystem(bench.fileSystem, []);
        const failing: RestoreStrategy = {
          ...harness.strategy,
          commit: async (context, state) => {
            armed = new FaultFileSystem(bench.fileSystem, [{ operation: 'any-change', nth, errno: 'EIO' }]);
            await harness.strategy.commit(contextOn(armed, bench, context), state);
          },
        };
        const result = await bench.restoreOn(switchable, ref, { strategy: failing }).then(
          () => 'done',
          (error: unknown) => error,
        );
        if (result !== 'done')
          assert.deepEqual(bench.tree(), before, `after failing change ${nth} of the commit`);
        else assert.deepEqual(bench.tree(), after);
        if ((armed?.fired ?? 0) === 0) break;
      }
    },
  },
  {
    clause: '4.5',
    name: 'undo that has lost its copies changes nothing and says so',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, before, after } = arrange(bench);
      const forgetful: RestoreStrategy = {
        ...harness.strategy,
        commit: async (context, state) => {
          await harness.strategy.commit(context, state);
          for (const name of context.work.list()) empty(context.work, name);
          throw stop;
        },
      };
      const error = await failureOf(bench.restore(ref, { strategy: forgetful }));
      if (WorkspaceRestoreError.is(error) && error.kind === 'rollback-failed')
        assert.deepEqual(bench.tree(), after);
      else assert.deepEqual(bench.tree(), before, 'a strategy that needs no copies brings the old tree back');
    },
  },
  {
    clause: '5.1',
    name: 'a crash at any instruction leaves, after recovery, the old tree or the new one',
    check: async (harness) => {
      await crash(harness, 1);
    },
  },
  {
    clause: '5.2',
    name: 'so does a crash of the recovery',
    check: async (harness) => {
      await crash(harness, 2);
    },
  },
];

async function undoAfter(
  bench: StrategyBench,
  harness: StrategyHarness,
  commit: (inner: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { ref, before } = arrange(bench);
  const stopped: RestoreStrategy = {
    ...harness.strategy,
    commit: (context, state) => commit(() => harness.strategy.commit(context, state)),
  };
  const error = await failureOf(bench.restore(ref, { strategy: stopped }));
  assert.ok(WorkspaceRestoreError.is(error), String(error));
  assert.notEqual(error.kind, 'rollback-failed', String(error.cause));
  assert.deepEqual(bench.tree(), before);
  assert.deepEqual(bench.beside(), []);
}

/** The same context on a file system that fails. */
function contextOn(
  fileSystem: FaultFileSystem,
  bench: StrategyBench,
  context: StrategyContext,
): StrategyContext {
  const scratch = `${bench.directory}/.root.holdfast/contract/work`;
  return {
    ...context,
    parent: Dir.openRoot(fileSystem, bench.directory),
    root: Dir.openRoot(fileSystem, bench.root),
    work: Dir.openRoot(fileSystem, scratch),
  };
}

function empty(dir: StrategyContext['work'], name: Uint8Array): void {
  if (dir.lstat(name)?.kind !== 'directory') {
    dir.unlink(name);
    return;
  }
  using child = dir.openDir(name);
  for (const inner of child.list()) empty(child, inner);
}

const old: TreePlan = {
  'root/': null,
  'root/a': 'old',
  'root/gone': 'gone',
  'root/d/': null,
  'root/d/x': 'x',
  'root/l': { link: 'one' },
};

/** Runs the whole protocol on the crash model. */
async function crash(harness: StrategyHarness, crashes: number): Promise<void> {
  let source = new MemorySource();
  let ref: Ref;
  let before: unknown;
  const after = {
    a: 'file 600 "new"',
    d: 'file 600 "file"',
    l: 'symlink "two"',
    'n/y': 'file 600 "y"',
    n: 'directory 700',
  };
  const strategies = [harness.strategy];
  await exploreCrashes<'started' | 'restored' | 'aborted'>(
    {
      setup: (fileSystem) => {
        writeTree(fileSystem, '/', { 'base/': null });
        writeTree(fileSystem, '/base', old);
        before = readTree(fileSystem, '/base/root');
        source = new MemorySource(fileSystem);
        ref = source.define(
          {
            a: { kind: 'file', content: 'new', mode: 0o600 },
            d: { kind: 'file', content: 'file', mode: 0o600 },
            l: { kind: 'symlink', target: 'two' },
            n: { kind: 'directory', mode: 0o700 },
            'n/y': { kind: 'file', content: 'y', mode: 0o600 },
          },
          { rootMode: 0o700 },
        );
      },
      run: async (fileSystem, context) => {
        const tell = async (fact: 'started' | 'restored' | 'aborted'): Promise<void> => {
          await Promise.resolve();
          context.ack(fact);
        };
        await applyRestore(source, ref, '/base/root', {
          session: 'contract',
          owner: null,
          hostLock: inertLock,
          fileSystem,
          strategy: harness.strategy,
          prune: 'exact',
          clock: frozenClock,
          journal: {
            prepare: () => new Uint8Array([1]),
            started: async () => {
              await tell('started');
              return 1;
            },
            restored: () => tell('restored'),
            aborted: () => tell('aborted'),
          },
        });
      },
      recover: async (fileSystem, context) => {
        await recover('/base/root', { isAlive: () => 'dead', strategies, fileSystem, clock: frozenClock });
        for (const { phase } of readOutcomes('/base/root', { fileSystem })) {
          if (context.acked.at(-1) === 'started') context.ack(phase === 'committed' ? 'restored' : 'aborted');
        }
        const scan = async (path: string) => await new MemorySource(fileSystem).scan(path);
        await sweepScratch('/base/root', {
          settled: () => true,
          strategies,
          fileSystem,
          clock: frozenClock,
          scan,
        });
      },
      check: (fileSystem: ModelFileSystem, { acked }) => {
        const tree = readTree(fileSystem, '/base/root');
        assert.deepEqual(tree, acked.at(-1) === 'restored' ? after : before);
      },
    },
    { crashes, maxStates: harness.crashStates ?? 400, recoverySamples: 8 },
  );
}

const frozenClock = {
  now: () => 4_000_000_000_000,
  monotonic: () => 0,
  sleep: async () => {
    await Promise.resolve();
  },
  schedule: () => ({ [Symbol.dispose]: () => undefined }),
};
