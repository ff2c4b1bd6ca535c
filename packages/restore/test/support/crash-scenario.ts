import assert from 'node:assert/strict';

import { ManualClock } from '@holdfast/base/testing';
import type { FileSystem } from '@holdfast/durable';
import {
  type CrashScenario,
  type ModelFileSystem,
  readTree,
  type TreePlan,
  writeTree,
} from '@holdfast/durable/testing';
import {
  applyRestore,
  type Prune,
  type RestoreStep,
  type RestoreStrategy,
  readOutcomes,
  reconcile,
  recover,
  sweepScratch,
  type WholeSync,
} from '@holdfast/restore';
import { compareWhole, MemorySource } from '@holdfast/restore/testing';
import type { Ref } from '@holdfast/workspacestore';

import { inertLock } from './bench.js';

export const base = '/base';
export const root = '/base/root';

export interface CrashCase {
  readonly old: TreePlan;
  readonly target: TreePlan;
  readonly strategy?: RestoreStrategy | undefined;
  readonly prune?: Prune | undefined;
  readonly links?: boolean | undefined;
  /** Files that appear in the old tree just before the restore begins, not synced by whoever wrote them. */
  readonly dirty?: TreePlan | undefined;
  /** Modes by path, set on the old tree and wanted in the target. */
  readonly modes?: { readonly old?: Modes; readonly target?: Modes } | undefined;
  /** What the protocol runs on instead of the bare model. */
  readonly through?: ((fileSystem: ModelFileSystem) => FileSystem) | undefined;
  /** Fails the read-back, so that the restore takes itself back. */
  readonly failVerification?: boolean | undefined;
  /** The restore fails on what `through` does; how it ends is for the journal and the tree to say. */
  readonly mayFail?: boolean | undefined;
  /** Crashes only from the first change of the root on; everything before is done and durable. */
  readonly late?: boolean | undefined;
  /** Syncs the whole disk instead of single files and directories; calls with these numbers, from 1, are left out. */
  readonly wholeSync?: { readonly leaveOut?: readonly number[] } | undefined;
  /** A protocol mistake: tells the journal at this step already. */
  readonly earlyAck?: { readonly step: RestoreStep; readonly promise: Promised } | undefined;
}

type Modes = Readonly<Record<string, number>>;

/** What a restore promises on the way: an event that is durable in the journal. */
export type Promised = 'started' | 'restored' | 'aborted';

/** What the model wrote a moment ago counts as young only where a case is about that. */
const clockOf = (item: CrashCase): ManualClock =>
  item.dirty === undefined ? new ManualClock(4_000_000_000_000) : new ManualClock();

/** A restore on the crash model: after any crash, recovery leaves exactly the old tree or exactly the new one. */
export function crashScenario(item: CrashCase): CrashScenario<Promised> {
  let ref: Ref;
  let contents: MemorySource;
  let oldTree: unknown;
  let newTree: unknown;
  let tell: (promise: Promised) => void = () => undefined;
  let openGate: (() => void) | undefined;
  let restoring: Promise<unknown> | undefined;
  const mayFail = item.failVerification === true || item.mayFail === true;

  const ended = async (restore: Promise<unknown> | undefined): Promise<void> => {
    try {
      await restore;
    } catch (error) {
      if (!mayFail) throw error;
    }
  };

  const restore = async (
    fileSystem: ModelFileSystem,
    strategy: RestoreStrategy | undefined,
  ): Promise<void> => {
    const disk = item.through?.(fileSystem) ?? fileSystem;
    const reader = readerOn(contents, disk);
    await applyRestore(reader, ref, root, {
      session: 'crashing',
      owner: null,
      hostLock: inertLock,
      fileSystem: disk,
      strategy,
      prune: item.prune ?? 'exact',
      restoreId: '0123456789abcdef0123456789abcdef',
      clock: clockOf(item),
      wholeSync: wholeSyncOf(fileSystem, item),
      journal: {
        prepare: () => Buffer.from('event'),
        started: () => acked(() => tell('started'), 1),
        restored: () => acked(() => tell('restored'), undefined),
        aborted: () => acked(() => tell('aborted'), undefined),
      },
      health: () => {
        if (item.failVerification === true) reader.lie();
      },
      onStep: (step) => {
        if (step === item.earlyAck?.step) tell(item.earlyAck.promise);
      },
      verify: item.failVerification === true ? 'all' : 'touched',
    });
  };

  return {
    model: { links: item.links },
    setup: async (fileSystem) => {
      buildTree(fileSystem, item.target, item.modes?.target);
      contents = new MemorySource(fileSystem);
      ref = contents.capture(root);
      newTree = readTree(fileSystem, root);
      clearTree(fileSystem);
      buildTree(fileSystem, item.old, item.modes?.old);
      oldTree = readTree(fileSystem, root);
      if (item.late !== true) return;
      const { strategy = reconcile({ prune: 'exact' }) } = item;
      await new Promise<void>((reached) => {
        const gate = new Promise<void>((open) => {
          openGate = open;
        });
        const commit: RestoreStrategy['commit'] = async (context, state) => {
          reached();
          await gate;
          await strategy.commit(context, state);
        };
        restoring = restore(fileSystem, { ...strategy, commit });
      });
    },
    run: async (fileSystem, context) => {
      tell = context.ack;
      if (item.late === true) {
        tell('started');
        openGate?.();
        await ended(restoring);
        return;
      }
      writeTree(fileSystem, root, item.dirty ?? {});
      await ended(restore(fileSystem, item.strategy));
    },
    recover: async (fileSystem, context) => {
      const clock = clockOf(item);
      const settled = new Set<string>();
      await recover(root, {
        isAlive: () => 'dead',
        fileSystem,
        clock,
        wholeSync: wholeSyncOf(fileSystem, item),
      });
      for (const outcome of readOutcomes(root, { fileSystem })) {
        const open = context.acked.at(-1) === 'started';
        if (open) context.ack(outcome.phase === 'committed' ? 'restored' : 'aborted');
        settled.add(outcome.restoreId);
      }
      const scan = (path: string) => new MemorySource(fileSystem).scan(path);
      await sweepScratch(root, { settled: (id) => settled.has(id), fileSystem, clock, scan });
    },
    check: (fileSystem, { acked: promises, finished }) => {
      const found = readTree(fileSystem, root);
      const last = promises.at(-1);
      // What nobody synced is promised only with the new tree.
      const young = last === 'restored' ? [] : Object.keys(item.dirty ?? {});
      const tree = Object.fromEntries(Object.entries(found).filter(([path]) => !young.includes(path)));
      if (last === 'restored') assert.deepEqual(tree, newTree, 'the journal says new');
      else if (last === 'aborted') assert.deepEqual(tree, oldTree, 'the journal says old');
      else assert.deepEqual(tree, oldTree, 'nothing was recorded');
      if (finished && !mayFail) assert.equal(last, 'restored');
      assert.deepEqual(
        Object.keys(readTree(fileSystem, base)).filter((path) => !path.startsWith('root')),
        [],
      );
    },
  };
}

function wholeSyncOf(fileSystem: ModelFileSystem, item: CrashCase): WholeSync | false {
  if (item.wholeSync === undefined) return false;
  let calls = 0;
  return {
    from: 0,
    sync: async () => {
      calls += 1;
      if (item.wholeSync?.leaveOut?.includes(calls) !== true) fileSystem.settle();
      await Promise.resolve();
    },
  };
}

function readerOn(contents: MemorySource, disk: FileSystem): MemorySource & { lie(): void } {
  const scanner = new MemorySource(disk);
  let lying = false;
  const scan = async (path: string, options: Parameters<MemorySource['scan']>[1]) => {
    const live = await scanner.scan(path, options);
    return lying ? { ...live, entries: live.entries.slice(1) } : live;
  };
  return Object.assign(Object.create(contents) as MemorySource, {
    lie: () => {
      lying = true;
    },
    openTree: (ref: Ref) => contents.openTree(ref),
    fetch: (...args: Parameters<MemorySource['fetch']>) => contents.fetch(...args),
    scan,
    compare: async (path: string, ref: Ref, options: Parameters<MemorySource['compare']>[2] = {}) => {
      const target = await contents.openTree(ref);
      const ignore = [...(options.ignore ?? []), ...target.ignore];
      return compareWhole(await scan(path, { ...options, ignore, target }), target);
    },
  });
}

async function acked<T>(ack: () => void, value: T): Promise<T> {
  await Promise.resolve();
  ack();
  return value;
}

function buildTree(fileSystem: ModelFileSystem, plan: TreePlan, modes: Modes = {}): void {
  const prefixed = Object.fromEntries(
    Object.entries(plan).map(([path, node]) => [`base/root/${path}`, node]),
  );
  writeTree(fileSystem, '/', { 'base/': null, 'base/root/': null, ...prefixed });
  for (const [path, mode] of Object.entries(modes)) chmodPath(fileSystem, `${root}/${path}`, mode);
}

function chmodPath(fileSystem: ModelFileSystem, path: string, mode: number): void {
  const cut = path.lastIndexOf('/');
  const parent = fileSystem.openRoot(path.slice(0, cut));
  fileSystem.chmodAt(parent, Buffer.from(path.slice(cut + 1)), mode);
  fileSystem.close(parent);
}

function clearTree(fileSystem: ModelFileSystem): void {
  const remove = (path: string): void => {
    const dir = fileSystem.openRoot(path);
    for (const name of fileSystem.readdir(dir)) {
      if (fileSystem.lstat(dir, name)?.kind === 'directory') {
        remove(`${path}/${Buffer.from(name).toString('utf8')}`);
        fileSystem.rmdir(dir, name);
      } else fileSystem.unlink(dir, name);
    }
    fileSystem.close(dir);
  };
  remove(root);
}
