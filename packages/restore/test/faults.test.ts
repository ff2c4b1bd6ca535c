import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import {
  exploreFaults,
  type ModelFileSystem,
  readTree,
  type TreePlan,
  writeTree,
} from '@holdfast/durable/testing';
import {
  applyRestore,
  type RestoreStrategy,
  readOutcomes,
  reconcile,
  recover,
  ScratchUnavailableError,
  swap,
  sweepScratch,
  WorkspaceRestoreError,
} from '@holdfast/restore';
import { MemorySource } from '@holdfast/restore/testing';
import type { Ref } from '@holdfast/workspacestore';
import { describe, expect, it } from 'vitest';

import { inertLock, MemoryJournal } from './support/bench.js';

const root = '/base/root';
const old: TreePlan = {
  'root/': null,
  'root/a': 'old',
  'root/gone': 'gone',
  'root/d/': null,
  'root/d/x': 'x',
  'root/m': 'm',
};
const strategies: Readonly<Record<string, RestoreStrategy>> = {
  reconcile: reconcile({ prune: 'exact' }),
  swap: swap({ fallback: false }),
};

function chmod(fileSystem: ModelFileSystem, name: string, mode: number): void {
  const dir = fileSystem.openRoot(root);
  fileSystem.chmodAt(dir, Buffer.from(name), mode);
  fileSystem.close(dir);
}

/** Fails every call in turn. Whatever the restore says must be true of the disk. */
async function explore(
  strategy: RestoreStrategy,
  errno: string,
  options: Pick<Parameters<typeof exploreFaults>[1] & object, 'times' | 'when' | 'operation'>,
): Promise<{ faults: number; kinds: Set<string> }> {
  const kinds = new Set<string>();
  let ref: Ref;
  let contents = new MemorySource();
  let journal = new MemoryJournal();
  let before: unknown;
  const after = {
    a: 'file 600 "new"',
    d: 'file 644 "now a file"',
    fresh: 'file 644 "fresh"',
    m: 'file 755 "m"',
  };
  const faults = await exploreFaults(
    {
      setup: (fileSystem) => {
        writeTree(fileSystem, '/', { 'base/': null });
        writeTree(fileSystem, '/base', old);
        chmod(fileSystem, 'd', 0o500);
        before = readTree(fileSystem, root);
        contents = new MemorySource(fileSystem);
        journal = new MemoryJournal();
        ref = contents.define(
          {
            a: { kind: 'file', content: 'new', mode: 0o600 },
            m: { kind: 'file', content: 'm', mode: 0o755 },
            d: { kind: 'file', content: 'now a file' },
            fresh: { kind: 'file', content: 'fresh' },
          },
          { rootMode: 0o700 },
        );
      },
      run: async (fileSystem) => {
        const scanner = new MemorySource(fileSystem);
        const source = {
          openTree: (wanted: Ref) => contents.openTree(wanted),
          fetch: (...args: Parameters<MemorySource['fetch']>) => contents.fetch(...args),
          scan: (...args: Parameters<MemorySource['scan']>) => scanner.scan(...args),
        };
        await applyRestore(source, ref, root, {
          session: 'failing',
          owner: null,
          hostLock: inertLock,
          journal,
          fileSystem,
          strategy,
          clock: new ManualClock(4_000_000_000_000),
        });
      },
      check: async (fileSystem, { error }) => {
        const last = journal.rows.at(-1)?.type;
        if (error === undefined) {
          kinds.add('done');
          assert.deepEqual(readTree(fileSystem, root), after);
          assert.equal(last, 'restored');
        } else if (WorkspaceRestoreError.is(error) && error.kind === 'rollback-failed') {
          kinds.add(error.kind);
          assert.ok(error.cause instanceof AggregateError && error.cause.errors.length === 2, 'both causes');
          assert.ok(error.keptAt?.startsWith('/base/.root.holdfast/'), 'the copies are named');
          assert.equal(last, 'started', 'the next open decides');
        } else {
          kinds.add(WorkspaceRestoreError.is(error) ? error.kind : String((error as { code?: string }).code));
          assert.ok(
            WorkspaceRestoreError.is(error) ||
              ScratchUnavailableError.is(error) ||
              'errno' in (error as object),
            `typed: ${(error as Error).message}`,
          );
          assert.deepEqual(readTree(fileSystem, root), before);
          assert.notEqual(last, 'restored');
          assert.notEqual(last, 'started', 'the journal knows the end');
        }
        await recoverAll(fileSystem, last);
      },
    },
    { errnos: [errno], operation: 'any', ...options },
  );
  return { faults, kinds };

  /** The disk is well again: recovery brings tree and journal together and leaves nothing behind. */
  async function recoverAll(fileSystem: ModelFileSystem, last: string | undefined): Promise<void> {
    const clock = new ManualClock(4_000_000_000_000);
    await recover(root, { isAlive: () => 'dead', fileSystem, clock });
    let end = last;
    for (const { phase } of readOutcomes(root, { fileSystem })) {
      if (end === 'started') end = phase === 'committed' ? 'restored' : 'aborted';
    }
    await sweepScratch(root, {
      settled: () => true,
      fileSystem,
      clock,
      scan: (path) => new MemorySource(fileSystem).scan(path),
    });
    assert.deepEqual(readTree(fileSystem, root), end === 'restored' ? after : before);
    const beside = Object.keys(readTree(fileSystem, '/base')).filter((path) => !path.startsWith('root'));
    assert.deepEqual(beside, []);
  }
}

for (const [label, strategy] of Object.entries(strategies)) {
  describe(`faults in ${label}`, () => {
    for (const errno of ['ENOSPC', 'EIO', 'EACCES', 'EMFILE']) {
      it(`brings the old tree back after one ${errno} anywhere`, async () => {
        const { faults, kinds } = await explore(strategy, errno, {});
        expect(faults).toBeGreaterThan(200);
        expect(kinds).toContain('materialize-failed');
      });
    }

    for (const errno of ['ENOSPC', 'EIO']) {
      it(`stays recoverable when ${errno} does not go away`, async () => {
        const { kinds } = await explore(strategy, errno, { times: 'forever' });
        expect(kinds).toContain('rollback-failed');
      });
    }

    it('believes no answer: every change may have happened before its error', async () => {
      await explore(strategy, 'EIO', { when: 'after', operation: 'any-change' });
    });
  });
}
