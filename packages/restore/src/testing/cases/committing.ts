import assert from 'node:assert/strict';

import type { CaseDefinition } from '@holdfast/base/testing';
import { Dir, type Stat } from '@holdfast/durable';
import { writeTree } from '@holdfast/durable/testing';

import type { RestoreStrategy } from '../../strategy.js';
import { failureOf, StrategyBench } from '../strategy-bench.js';
import type { StrategyHarness } from '../strategy-harness.js';
import { arrange } from './arrange.js';

/** Clause 3: the change. */
export const committingCases: readonly CaseDefinition<StrategyHarness>[] = [
  {
    clause: '3.1',
    name: 'committing leaves exactly the names, bytes, modes and links of the target',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref, after } = arrange(bench);
      const receipt = await bench.restore(ref, { verify: 'all' });
      assert.deepEqual(bench.tree(), after);
      assert.equal(receipt.exact, true);
      assert.equal(receipt.strategy, harness.strategy.name);
    },
  },
  {
    clause: '3.2',
    name: 'nothing is left beside the root, nor under reserved names in it',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref } = arrange(bench);
      await bench.restore(ref);
      assert.deepEqual(bench.beside(), []);
      assert.deepEqual(
        Object.keys(bench.tree()).filter((path) => path.includes('.holdfast-')),
        [],
      );
    },
  },
  {
    clause: '3.3',
    name: 'the mode of the root is restored',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const ref = bench.source.define({}, { rootMode: 0o755 });
      await bench.restore(ref);
      using root = Dir.openRoot(bench.fileSystem, bench.root);
      assert.equal(root.stat().mode & 0o777, 0o755);
    },
  },
  {
    clause: '3.4',
    name: 'in place, the root and what is unchanged keep their inodes and times',
    requires: {
      capability: 'inPlace',
      met: ({ inPlace }) => inPlace,
      otherwise: async (harness, scope) => {
        const bench = new StrategyBench(harness, scope);
        const { ref } = arrange(bench);
        const old = statOf(bench, 'kept');
        await bench.restore(ref);
        assert.notEqual(
          statOf(bench, 'kept').ino,
          old.ino,
          'a copy must not share its inode with the old tree',
        );
      },
    },
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref } = arrange(bench);
      using root = Dir.openRoot(bench.fileSystem, bench.root);
      const { ino } = root.stat();
      const old = statOf(bench, 'kept');
      await bench.restore(ref);
      const kept = statOf(bench, 'kept');
      assert.deepEqual([kept.ino, kept.mtimeNs, kept.ctimeNs], [old.ino, old.mtimeNs, old.ctimeNs]);
      using again = Dir.openRoot(bench.fileSystem, bench.root);
      assert.equal(again.stat().ino, ino);
    },
  },
  {
    clause: '3.5',
    name: 'the other names of an inode in the root keep their bytes and their mode',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref } = arrange(bench);
      using root = Dir.openRoot(bench.fileSystem, bench.root);
      using outside = Dir.openRoot(bench.fileSystem, bench.directory);
      root.link('replaced', outside, 'outside-1');
      root.link('mode', outside, 'outside-2');
      await bench.restore(ref);
      using first = outside.openFile('outside-1');
      assert.equal(Buffer.from(first.readAll({ maxBytes: 100 })).toString(), 'old');
      assert.equal((outside.lstat('outside-2') as Stat).mode & 0o777, 0o600);
    },
  },
  {
    clause: '3.6',
    name: 'what changed after it was secured is refused, and stays as somebody left it',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      const { ref } = arrange(bench);
      const racing: RestoreStrategy = {
        ...harness.strategy,
        secure: async (context) => {
          const state = await harness.strategy.secure(context);
          using root = Dir.openRoot(bench.fileSystem, bench.root);
          root.unlink('replaced');
          bench.write({ replaced: 'theirs' });
          return state;
        },
      };
      if (!harness.inPlace) {
        // The old tree as a whole is kept beside the root instead, because it changed.
        const receipt = await bench.restore(ref, { strategy: racing });
        assert.ok(receipt.notes?.some(({ kind }) => kind === 'backup-kept'));
        return;
      }
      await failureOf(bench.restore(ref, { strategy: racing }));
      assert.equal(bench.tree()['replaced'], 'file 600 "theirs"');
      assert.equal(bench.tree()['deleted'], 'file 600 "deleted"');
    },
  },
  {
    clause: '3.7',
    name: 'a link that takes the place of a directory is never followed',
    check: async (harness, scope) => {
      const bench = new StrategyBench(harness, scope);
      writeTree(bench.fileSystem, bench.directory, { 'outside/': null, 'outside/x': 'host' });
      bench.write({ 'd/': null, 'd/x': 'old', 'd/y': 'y' });
      const ref = bench.source.define({ 'd/x': { kind: 'file', content: 'new' } });
      const racing: RestoreStrategy = {
        ...harness.strategy,
        commit: async (context, state) => {
          using root = Dir.openRoot(bench.fileSystem, bench.root);
          root.rename('d', root, 'aside');
          root.symlink('../outside', 'd');
          await harness.strategy.commit(context, state);
        },
      };
      await bench.restore(ref, { strategy: racing, verify: 'none' }).catch(() => undefined);
      using outside = Dir.openRoot(bench.fileSystem, `${bench.directory}/outside`);
      assert.deepEqual(
        outside.list().map((name) => Buffer.from(name).toString()),
        ['x'],
      );
      using host = outside.openFile('x');
      assert.equal(Buffer.from(host.readAll({ maxBytes: 100 })).toString(), 'host');
    },
  },
];

function statOf(bench: StrategyBench, name: string): Stat {
  using root = Dir.openRoot(bench.fileSystem, bench.root);
  return root.lstat(name) as Stat;
}
