import type { ContractHarness } from '@holdfast/base/testing';
import type { FileSystem } from '@holdfast/durable';

import type { RestoreStrategy } from '../strategy.js';

/** An empty directory for one case. */
export interface StrategyDisk {
  readonly fileSystem: FileSystem;
  /** Absolute canonical path. */
  readonly directory: string;
  release(): void;
}

/** What the author of a strategy gives to its contract suite. */
export interface StrategyHarness extends ContractHarness {
  readonly strategy: RestoreStrategy;
  /** Whether the root keeps its inode, and unchanged entries theirs. */
  readonly inPlace: boolean;
  /** A real disk to run on. Default: the crash model of `@holdfast/durable/testing`, which the crash cases always use. */
  readonly disk?: (() => StrategyDisk) | undefined;
  /** Disks after a crash that each crash case visits at most. Default 400. */
  readonly crashStates?: number | undefined;
}
