import { Pacer, throwIfAborted } from '@holdfast/base';
import type { Dir } from '@holdfast/durable';

import {
  RestoreTargetError,
  VerificationError,
  WorkspaceRestoreError,
  type WorkspaceRestoreKind,
} from '../errors.js';
import { intentVersion, type RestoreIntent } from '../intent.js';
import type { RestorePlan } from '../plan.js';
import { isEmptyPlan, planCompared, planDigest, planRestore } from '../plan-restore.js';
import { compareTrees, scanLive } from '../preview-restore.js';
import type { RestoreReceipt } from '../receipt.js';
import type { RestoreStarted } from '../restore-journal.js';
import { refuseCollisions, refuseReserved } from './check-target.js';
import { IntentLog } from './intent-log.js';
import { lateSkips, makeReceipt } from './make-receipt.js';
import { refuseOpenRestores } from './open-restores.js';
import { proveUndo } from './prove-undo.js';
import { RestoreEnding } from './restore-ending.js';
import type { RunState } from './run-state.js';
import { ScratchDirectory, type SessionScratch } from './session-scratch.js';
import { findUndoGaps } from './undo-gaps.js';
import { verifyTouched } from './verify-result.js';

/**
 * Runs one restore from its plan to its receipt.
 *
 * 1. Make scratch and see that it can serve; choose the strategy; read back what will be destroyed. Only scratch is
 *    written.
 * 2. Append `restore-started` to the journal.
 * 3. Write the intent; sync the names that lead to it.
 * 4. Stage.
 * 5. Secure; record `prepared` and `committing`; ask for health. Until here a cancellation is observed.
 * 6. Change the root; read it back; record `committed`. From here on the tree is the new one, whatever happens.
 * 7. Append the event.
 * 8. Remove scratch.
 */
export async function runRestore(run: RunState): Promise<RestoreReceipt> {
  using scratch = await ScratchDirectory.ensure(run.place, run.placement);
  using session = await scratch.ensureSession(run.options.session);
  const ending = new RestoreEnding(run, scratch, session);
  let intent: RestoreIntent;
  let made: Dir | undefined;
  try {
    made = await makeReady(run, scratch, session);
    intent = await start(run);
  } catch (error) {
    made?.close();
    throw await ending.notStarted(error);
  }
  using work = made;
  const log = await begin({ scratch, session }, intent, run, ending);
  try {
    await prepare(run, log, work, ending);
    await change(run, log, work, ending);
  } finally {
    log.close();
  }
  try {
    await run.options.journal.restored(intent.event, run.restoreId);
  } catch (error) {
    throw new WorkspaceRestoreError(
      'append-failed',
      'the tree is the new one, but the journal did not take the event',
      {
        ...run.facts(),
        cause: error,
      },
    );
  }
  await ending.cleanUp('committed');
  return makeReceipt(run);
}

/** Returns the empty `work` directory. */
async function makeReady(run: RunState, scratch: ScratchDirectory, session: SessionScratch): Promise<Dir> {
  const { options } = run;
  await refuseOpenRestores(scratch, session.name, run.place.path, options.settled);
  await session.sweep(run.clock);
  await session.removeWork(run.restoreId);
  try {
    refuseCollisions(session.dir, run.detail.target, run.restoreId);
    if (run.placement === 'inside') refuseReserved(run.detail.target);
  } catch (error) {
    if (!RestoreTargetError.is(error)) throw error;
    throw new WorkspaceRestoreError('invalid-ref', 'its tree cannot be restored here', {
      ...run.facts(),
      cause: error,
    });
  }
  const work = session.openWork();
  try {
    await chooseStrategy(run, work);
    await proveUndo(run);
    throwIfAborted(options.signal);
    return work;
  } catch (error) {
    work.close();
    throw error;
  }
}

async function chooseStrategy(run: RunState, work: Dir): Promise<void> {
  const asked = run.strategy;
  const reason = await asked.unavailable(run.preparation(work));
  if (reason !== undefined) {
    if (asked.fallback === undefined) {
      throw new WorkspaceRestoreError(
        'swap-unavailable',
        `${asked.name} cannot be used: ${reason}`,
        run.facts(),
      );
    }
    run.strategy = asked.fallback;
    run.note({ kind: 'swap-unavailable', detail: reason });
  }
}

async function start(run: RunState): Promise<RestoreIntent> {
  const { options, plan } = run;
  const started: RestoreStarted = {
    restoreId: run.restoreId,
    ref: run.ref,
    previousRef: options.previousRef,
    safetyRef: options.safetyRef,
    strategy: run.strategy.name,
    planDigest: planDigest(plan),
    root: run.identity,
  };
  const treeKey = plan.exact ? run.detail.target.treeKey : undefined;
  const event = options.journal.prepare({ ...started, exact: plan.exact, treeKey });
  let position: number;
  try {
    position = await options.journal.started(started);
  } catch (error) {
    throw run.failure(
      error,
      'append-failed',
      'the journal did not take the start of the restore; nothing was touched',
    );
  }
  return {
    ...started,
    version: intentVersion,
    base: plan.base,
    session: options.session,
    epoch: options.epoch ?? 0,
    position,
    owner: options.owner,
    event,
    operations: run.detail.operations,
  };
}

async function begin(
  { scratch, session }: { readonly scratch: ScratchDirectory; readonly session: SessionScratch },
  intent: RestoreIntent,
  run: RunState,
  ending: RestoreEnding,
): Promise<IntentLog> {
  try {
    // Side by side: to most file systems that is one commit.
    const [names, log] = await Promise.allSettled([
      scratch.syncNames(),
      IntentLog.create(session.dir, intent),
    ]);
    if (names.status === 'fulfilled' && log.status === 'fulfilled') return log.value;
    if (log.status === 'rejected') throw log.reason;
    log.value.close();
    throw (names as PromiseRejectedResult).reason;
  } catch (error) {
    // Whether or not the intent is there, it says that nothing was touched.
    const failure = run.failure(error, 'materialize-failed', 'the intent could not be written');
    throw await ending.notChanged(failure, undefined);
  }
}

async function prepare(run: RunState, log: IntentLog, work: Dir, ending: RestoreEnding): Promise<void> {
  const { options, place, strategy } = run;
  let kind: WorkspaceRestoreKind = 'materialize-failed';
  try {
    const context = run.preparation(work);
    options.onStep?.('stage');
    await strategy.stage(context);
    log.notePrepared();
    kind = run.strategyFailure;
    options.onStep?.('secure');
    // What conflicts leave out is known only when everything was looked at.
    run.secured = await strategy.secure(context);
    run.undoGaps = await findUndoGaps(run, () => context.pause());
    throwIfAborted(options.signal);
    place.refuseReplaced(run.identity);
    await log.advance('committing', { skipped: [...run.skipped], state: run.secured });
    await askHealth(run);
    place.refuseReplaced(run.identity);
  } catch (error) {
    throw await ending.notChanged(
      run.failure(error, kind, 'it could not be prepared; nothing was changed'),
      log,
    );
  }
}

async function askHealth(run: RunState): Promise<void> {
  try {
    await run.options.health?.();
  } catch (error) {
    throw new WorkspaceRestoreError(
      'lease-unhealthy',
      'the lease is not certainly held; nothing was changed',
      {
        ...run.facts(),
        cause: error,
      },
    );
  }
}

async function change(run: RunState, log: IntentLog, work: Dir, ending: RestoreEnding): Promise<void> {
  const kind = run.strategyFailure;
  try {
    run.options.onStep?.('commit');
    await run.strategy.commit(run.context(work), run.secured ?? null);
    run.place.reopen();
    await verify(run);
    // What was read back is what the path leads to.
    run.place.refuseReplaced();
  } catch (error) {
    const failure = run.failure(error, kind, 'the change failed; the old tree is back');
    throw await ending.rollBack(failure, log, work);
  }
  try {
    await log.advance('committed');
  } catch (error) {
    const failure = run.failure(error, kind, 'the outcome could not be recorded; the old tree is back');
    throw await ending.takeBack(failure, log, work);
  }
}

async function verify(run: RunState): Promise<void> {
  const asked = run.options.verify ?? 'touched';
  if (asked === 'none') return;
  run.options.onStep?.('verify');
  const pacer = new Pacer({ clock: run.clock });
  await verifyTouched(run.place.presentRoot, run.operations, {
    modes: !run.notes.some(({ kind }) => kind === 'modes-unsupported'),
    pause: async () => {
      if (pacer.due) await pacer.rest();
    },
  });
  if (asked === 'all') await verifyAll(run);
  run.verified = asked;
}

/** A plan for the tree as it is now, from as much of it as the first one was made from. */
async function planAgain(run: RunState): Promise<RestorePlan> {
  const { target, listed } = run.detail;
  const scan = { ...run.options, signal: undefined };
  const options = {
    ...run.detail.options,
    captured: undefined,
    foreign: undefined,
    onConflict: 'overwrite',
  } as const;
  const compared =
    listed === undefined ? undefined : await compareTrees(run.source, run.ref, run.place.path, scan);
  if (compared !== undefined) return planCompared(compared, options);
  return planRestore(await scanLive(run.source, target, run.place.path, scan), target, options);
}

/** Planning again from the finished tree must find nothing to do. */
async function verifyAll(run: RunState): Promise<void> {
  const left = await planAgain(run);
  if (isEmptyPlan(left)) return;
  const alone = new Set([...run.plan.omitted, ...lateSkips(run)].map(({ path }) => path));
  const wrong = [left.create, left.replace, left.chmod, left.retype, left.delete, left.mkdir]
    .flat()
    .map(({ path }) => path)
    .filter((path) => !alone.has(path));
  if (wrong.length > 0) throw new VerificationError(wrong);
}
