import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';

import type { RestoreStrategy } from '../../strategy.js';
import { failureOf, StrategyBench } from '../strategy-bench.js';
import type { StrategyHarness } from '../strategy-harness.js';
import { arrange } from './arrange.js';

/** Clauses 1 and 2: what a strategy says of itself, and what it does before the first change. */
export const preparingCases: readonly CaseDefinition<StrategyHarness>[] = [
  {
    clause: '1.1',
    name: 'a strategy names itself and its contract',
    check: async ({ strategy }) => {
      assert.equal(strategy.contract, 'restore-strategy/1');
      assert.match(strategy.name, /^[a-z0-9-]{1,40}$/);
      assert.ok(['files', 'exact'].includes(strategy.prune));
      assert.notEqual(strategy.fallback, strategy);
      await Promise.resolve();
    },
  },
  {
    clause: '2.1',
    name: 'looking whether it is available changes nothing that outlives it',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, before } = arrange(bench);
      const reason = new Error('stop here');
      const stopping: RestoreStrategy = {
        ...harness.strategy,
        unavailable: async (context) => {
          await harness.strategy.unavailable(context);
          throw reason;
        },
      };
      assert.equal(findReason(await failureOf(bench.restore(ref, { strategy: stopping })), reason), true);
      assert.deepEqual(bench.tree(), before);
      assert.deepEqual(bench.beside(), []);
    },
  },
  {
    clause: '2.2',
    name: 'staging and securing leave the root as it was',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, before } = arrange(bench);
      const seen: unknown[] = [];
      const looking: RestoreStrategy = {
        ...harness.strategy,
        stage: async (context) => {
          await harness.strategy.stage(context);
          seen.push(bench.tree());
        },
        secure: async (context) => {
          const state = await harness.strategy.secure(context);
          seen.push(bench.tree());
          return state;
        },
      };
      await bench.restore(ref, { strategy: looking });
      assert.deepEqual(seen, [before, before]);
    },
  },
  {
    clause: '2.3',
    name: 'an abort while staging rejects with its own reason and leaves no trace',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, before } = arrange(bench);
      const controller = new AbortController();
      const reason = new Error('enough');
      bench.source.tamper = (_entry, bytes) => {
        controller.abort(reason);
        return bytes;
      };
      assert.equal(await failureOf(bench.restore(ref, { signal: controller.signal })), reason);
      assert.deepEqual(bench.tree(), before);
      assert.deepEqual(bench.beside(), []);
    },
  },
  {
    clause: '2.4',
    name: 'content that is not what the tree says never stays in the root',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, before } = arrange(bench);
      bench.source.tamper = (_entry, bytes) => Uint8Array.from(bytes, (byte) => byte ^ 1);
      await failureOf(bench.restore(ref));
      assert.deepEqual(bench.tree(), before);
      assert.deepEqual(bench.beside(), []);
    },
  },
  {
    clause: '2.5',
    name: 'what securing returns is JSON',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref } = arrange(bench);
      let state: unknown;
      const looking: RestoreStrategy = {
        ...harness.strategy,
        secure: async (context) => {
          const secured = await harness.strategy.secure(context);
          state = secured;
          return secured;
        },
      };
      await bench.restore(ref, { strategy: looking });
      assert.deepEqual(JSON.parse(JSON.stringify(state)), present(state));
    },
  },
];

function findReason(error: unknown, reason: Error): boolean {
  for (let at: unknown = error; at !== undefined; at = (at as { cause?: unknown }).cause)
    if (at === reason) return true;
  return false;
}

/** A value without absent members, as JSON leaves them out. */
function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(present);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, present(member)]));
}
