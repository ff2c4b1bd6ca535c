import type { Clock, JsonValue, Random } from '@holdfast/base';
import type { FileSystem, WholeSync } from '@holdfast/durable';
import type { Limits, Ref } from '@holdfast/workspacestore';

import type { RestorePlan } from './plan.js';
import type { PlanOptions } from './plan-options.js';
import type { Verified } from './receipt.js';
import type { RestoreJournal, RootIdentity } from './restore-journal.js';
import type { RestoreStrategy, ScratchPlacement } from './strategy.js';

/** How the live tree is read; the same as for the root's checkpoints. */
export interface LiveScanOptions {
  /** Used besides the target's own rules. */
  readonly ignore?: readonly string[] | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly onUnreadable?: 'fail' | 'omit' | undefined;
  /** Path text of what the caller keeps inside the root; scratch inside the root is left out by itself. */
  readonly reserved?: readonly string[] | undefined;
}

export interface PreviewOptions extends Omit<PlanOptions, 'strategy' | 'ignoredByTarget'> {
  /** Default `reconcile()`. Its `prune` applies unless `prune` is given. */
  readonly strategy?: RestoreStrategy | undefined;
  /** The safety checkpoint; opened for `captured` unless that is given. */
  readonly safetyRef?: Ref | undefined;
  readonly scan?: LiveScanOptions | undefined;
  /** Default `sibling`. */
  readonly scratch?: ScratchPlacement | undefined;
  readonly fileSystem?: FileSystem | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes the lock that keeps every other restore and recovery of a root on this host out, and is not taken over while its
 * holder lives. Given the path of the root's scratch directory, beside which it may keep its files. Disposed at the end;
 * a caller that holds the lock already returns something inert.
 */
export type HostLock = (scratchPath: string) => Promise<AsyncDisposable>;

export type RestoreStep = 'scan' | 'stage' | 'secure' | 'commit' | 'verify' | 'undo' | 'clean-up';

export interface ApplyOptions extends PreviewOptions {
  /** Commits exactly this plan or fails; without it a fresh one is made. */
  readonly plan?: RestorePlan | undefined;
  /** Names the scratch: the session's id, `[a-z0-9-]{1,64}`. */
  readonly session: string;
  /** The lease epoch under which the restore runs. Default 0. */
  readonly epoch?: number | undefined;
  /** The running process, in terms that `isAlive` of a later recovery understands. */
  readonly owner: JsonValue;
  readonly hostLock: HostLock;
  readonly journal: RestoreJournal;
  /** Rejects when the leases are not certainly held. Asked immediately before the first change. */
  readonly health?: (() => void | Promise<void>) | undefined;
  /** Whether a process that the caller knows of stands in the root. Default: none. */
  readonly occupied?: (() => boolean) | undefined;
  /** Default: `sync -f` of the system on Linux, nothing when `fileSystem` is given. */
  readonly wholeSync?: WholeSync | false | undefined;
  /** What is read back before the commit is recorded. Default `touched`. */
  readonly verify?: Verified | undefined;
  /** The ref that was current before. */
  readonly previousRef?: Ref | undefined;
  /** The root's identity when the session took it. */
  readonly rootIdentity?: RootIdentity | undefined;
  /** Whether the journal has the terminal record of an earlier restore, so that what it left may go. */
  readonly settled?: ((restoreId: string) => boolean) | undefined;
  /** 32 hex digits. Default random. */
  readonly restoreId?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly onStep?: ((step: RestoreStep) => void) | undefined;
}
