import { type Clock, systemClock, throwIfAborted } from '@holdfast/base';
import { type FileSystem, removeTree, sweepTemporaries } from '@holdfast/durable';
import type { LiveTree } from '@holdfast/workspacestore';

import type { HostLock } from './apply-options.js';
import { IntentLog } from './internal/intent-log.js';
import { ScratchDirectory, type SessionScratch } from './internal/session-scratch.js';
import { strategyContext, withoutSkipped } from './internal/strategy-context.js';
import type { ReceiptNote } from './receipt.js';
import { reconcile } from './reconcile.js';
import { RootPlace, scratchPath } from './scratch.js';
import type { RestoreStrategy } from './strategy.js';
import { swap } from './swap.js';

export interface SweepScratchOptions {
  /** Whether the session's journal has the terminal record of this restore, or was deleted on purpose. */
  readonly settled: (restoreId: string, session: string) => boolean;
  /** A session that was deleted: its directory goes with whatever is in it, unless an open restore is. */
  readonly deleted?: string | undefined;
  readonly hostLock?: HostLock | undefined;
  /** Scans a directory as the restore did; without it an old tree kept by a swap stays. */
  readonly scan?: ((path: string) => Promise<LiveTree>) | undefined;
  readonly strategies?: readonly RestoreStrategy[] | undefined;
  readonly fileSystem?: FileSystem | undefined;
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SweptScratch {
  /** Restores whose leftovers are gone. */
  readonly removed: number;
  /** Restores that are still open, or not settled. */
  readonly kept: number;
  readonly notes: readonly ReceiptNote[];
}

/**
 * Removes what decided and journalled restores left in and beside a root. Leaves open restores alone, whoever is asked:
 * recovery comes first. Deletes nothing while the root is absent.
 */
export async function sweepScratch(root: string, options: SweepScratchOptions): Promise<SweptScratch> {
  throwIfAborted(options.signal);
  await using lock = await options.hostLock?.(scratchPath(root));
  void lock;
  using place = RootPlace.open(root, options.fileSystem);
  const notes: ReceiptNote[] = [];
  let removed = 0;
  let kept = 0;
  for (const placement of ['sibling', 'inside'] as const) {
    using scratch = ScratchDirectory.open(place, placement);
    if (scratch === undefined) continue;
    for (const name of scratch.sessions()) {
      throwIfAborted(options.signal);
      using session = scratch.openSession(name);
      const swept = place.root !== undefined && (await sweepSession(place, scratch, session, options, notes));
      if (swept === false) kept += 1;
      if (swept === true) removed += 1;
      if (swept !== false && name === options.deleted) await removeTree(scratch.dir, name);
      if (swept !== false) scratch.removeIfEmpty(name);
    }
    await sweepTemporaries(scratch.dir, { isLive: () => false, clock: options.clock });
    scratch.removeIfEmpty();
  }
  return { removed, kept, notes };
}

/** `undefined`: there was no restore. `false`: it stays. */
async function sweepSession(
  place: RootPlace,
  scratch: ScratchDirectory,
  session: SessionScratch,
  options: SweepScratchOptions,
  notes: ReceiptNote[],
): Promise<boolean | undefined> {
  const clock = options.clock ?? systemClock;
  let log: IntentLog | undefined;
  try {
    log = IntentLog.open(session.dir);
  } catch {
    // Recovery decides about what cannot be read.
    return false;
  }
  using opened = log;
  if (opened === undefined) {
    await session.sweep(clock);
    return undefined;
  }
  const { intent, history, phase } = opened;
  if ((phase !== 'committed' && phase !== 'undone') || !options.settled(intent.restoreId, session.name))
    return false;
  const strategies = [...(options.strategies ?? []), reconcile(), swap()];
  const strategy = strategies.find(({ name }) => name === intent.strategy);
  if (strategy === undefined) return false;
  await opened.settle(session.dir);
  {
    using work = session.openWork();
    await strategy.discard({
      ...strategyContext({
        place,
        work,
        placement: scratch.placement,
        restoreId: intent.restoreId,
        identity: intent.root,
        operations: withoutSkipped(intent.operations, new Set(history.committing?.skipped)),
        clock,
        wholeSync: undefined,
      }),
      outcome: phase,
      state: history.committing?.state,
      base: intent.base,
      scan: options.scan,
      note: (note) => {
        notes.push(note);
      },
    });
  }
  await session.removeWork(intent.restoreId);
  session.removeIntent();
  await session.sweep(clock);
  return true;
}
