import { type CaseScope, ManualClock } from '@holdfast/base/testing';
import type { FileSystem } from '@holdfast/durable';
import {
  ModelFileSystem,
  readTree,
  type TreePlan,
  type TreeText,
  writeTree,
} from '@holdfast/durable/testing';
import type { Ref } from '@holdfast/workspacestore';

import type { ApplyOptions } from '../apply-options.js';
import { applyRestore } from '../apply-restore.js';
import type { RestoreReceipt } from '../receipt.js';
import { noJournal } from '../restore-journal.js';
import type { RestoreSource } from '../source.js';
import type { RestoreStrategy } from '../strategy.js';
import { MemorySource } from './memory-source.js';
import type { StrategyDisk, StrategyHarness } from './strategy-harness.js';

/** A root, a target and a strategy: what every case of the suite works with. */
export class StrategyBench {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly root: string;
  readonly source: MemorySource;
  readonly #strategy: RestoreStrategy;

  constructor(harness: StrategyHarness, scope: CaseScope) {
    const disk = harness.disk?.() ?? modelDisk();
    scope.defer(() => {
      disk.release();
    });
    this.fileSystem = disk.fileSystem;
    this.directory = disk.directory;
    this.root = `${disk.directory}/root`;
    this.source = new MemorySource(disk.fileSystem);
    this.#strategy = harness.strategy;
    writeTree(this.fileSystem, this.directory, { 'root/': null });
  }

  /** Adds nodes to the root. */
  write(plan: TreePlan): void {
    writeTree(this.fileSystem, this.root, plan);
  }

  chmod(path: string, mode: number): void {
    const cut = path.lastIndexOf('/');
    const dir = this.fileSystem.openRoot(cut < 0 ? this.root : `${this.root}/${path.slice(0, cut)}`);
    this.fileSystem.chmodAt(dir, Buffer.from(path.slice(cut + 1)), mode);
    this.fileSystem.close(dir);
  }

  tree(): TreeText {
    return readTree(this.fileSystem, this.root);
  }

  /** Names beside the root. */
  beside(): readonly string[] {
    const names = Object.keys(readTree(this.fileSystem, this.directory)).map(
      (path) => path.split('/')[0] as string,
    );
    return [...new Set(names)].filter((name) => name !== 'root');
  }

  async restore(ref: Ref, more: Partial<ApplyOptions> = {}): Promise<RestoreReceipt> {
    return await applyRestore(this.source, ref, this.root, this.options(more));
  }

  /** Restores through another file system than the source reads. */
  async restoreOn(
    fileSystem: FileSystem,
    ref: Ref,
    more: Partial<ApplyOptions> = {},
  ): Promise<RestoreReceipt> {
    const { source } = this;
    const scanner = new MemorySource(fileSystem);
    const split: RestoreSource = {
      openTree: (wanted, options) => source.openTree(wanted, options),
      fetch: (entries, sink, options) => source.fetch(entries, sink, options),
      scan: (root, options) => scanner.scan(root, options),
    };
    return await applyRestore(split, ref, this.root, this.options({ ...more, fileSystem }));
  }

  options(more: Partial<ApplyOptions> = {}): ApplyOptions {
    return {
      session: 'contract',
      owner: null,
      hostLock: inertLock,
      journal: noJournal,
      fileSystem: this.fileSystem,
      strategy: this.#strategy,
      prune: 'exact',
      clock: new ManualClock(4_000_000_000_000),
      ...more,
    };
  }
}

function modelDisk(): StrategyDisk {
  const fileSystem = new ModelFileSystem();
  writeTree(fileSystem, '/', { 'base/': null });
  return { fileSystem, directory: '/base', release: () => undefined };
}

export const inertLock = async (): Promise<AsyncDisposable> =>
  await Promise.resolve({
    [Symbol.asyncDispose]: async () => {
      await Promise.resolve();
    },
  });

/** Runs an attempt that must fail and returns what it threw. */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  try {
    await attempt;
  } catch (error) {
    return error;
  }
  throw new Error('the restore succeeded although it had to fail');
}
