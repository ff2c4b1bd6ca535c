import { type Clock, type JsonValue, systemClock, throwIfAborted } from '@holdfast/base';
import type { FileSystem, WholeSync } from '@holdfast/durable';

import type { HostLock } from './apply-options.js';
import type { RestoreIntent } from './intent.js';
import { SessionRecovery } from './internal/session-recovery.js';
import { ScratchDirectory } from './internal/session-scratch.js';
import type { RecoveryAction, RecoveryResult } from './receipt.js';
import { reconcile } from './reconcile.js';
import { RootPlace, scratchPath } from './scratch.js';
import type { RestoreStrategy } from './strategy.js';
import { swap } from './swap.js';

/** Whether the process that began a restore still runs. */
export type Liveness = 'alive' | 'dead' | 'unknown';

export interface RecoverOptions {
  /** Asked about the `owner` of an intent whose outcome is open. */
  readonly isAlive: (owner: JsonValue) => Liveness | Promise<Liveness>;
  /** Keeps every other restore and recovery out. With it an owner that cannot be judged is taken for dead. */
  readonly hostLock?: HostLock | undefined;
  /**
   * The running process, in the terms of `owner`. A restore that this process began is over when `hostLock` was granted:
   * it may be recovered although its owner lives.
   */
  readonly self?: JsonValue | undefined;
  /** Strategies of the application, besides `reconcile` and `swap`. */
  readonly strategies?: readonly RestoreStrategy[] | undefined;
  /** Whether an intent is one that the caller's journal knows. What it refuses is moved aside. Default: all are. */
  readonly trust?: ((intent: RestoreIntent) => boolean) | undefined;
  readonly fileSystem?: FileSystem | undefined;
  /** Default: `sync -f` of the system on Linux, nothing when `fileSystem` is given. */
  readonly wholeSync?: WholeSync | false | undefined;
  readonly clock?: Clock | undefined;
  /** Observed between the sessions of a root; never inside an undo. */
  readonly signal?: AbortSignal | undefined;
}

/** Ordered by what a caller has to know first. */
const weight: Readonly<Record<RecoveryAction, number>> = {
  none: 0,
  cleaned: 1,
  quarantined: 2,
  kept: 3,
  undone: 4,
};

/**
 * Finishes or takes back what interrupted restores left in and beside a root. Needs no journal. Idempotent, and may be
 * cut off anywhere. The outcome stays on the disk (`readOutcomes`) until `sweepScratch` is told that the journal has it.
 *
 * @param root Absolute canonical path. The directory itself may be missing.
 * @throws WorkspaceRestoreError `recovery-refused` when nothing safe can be done; nothing was deleted.
 */
export async function recover(root: string, options: RecoverOptions): Promise<RecoveryResult> {
  throwIfAborted(options.signal);
  await using lock = await options.hostLock?.(scratchPath(root));
  void lock;
  using place = RootPlace.open(root, options.fileSystem);
  const strategies = [...(options.strategies ?? []), reconcile(), swap()];
  let result: RecoveryResult = { action: 'none' };
  for (const placement of ['sibling', 'inside'] as const) {
    using scratch = ScratchDirectory.open(place, placement);
    if (scratch === undefined) continue;
    for (const name of scratch.sessions()) {
      throwIfAborted(options.signal);
      const recovery = new SessionRecovery(place, scratch, name, {
        ...options,
        strategies,
        clock: options.clock ?? systemClock,
      });
      const found = await recovery.run();
      if (weight[found.action] > weight[result.action]) result = found;
    }
  }
  return result;
}
