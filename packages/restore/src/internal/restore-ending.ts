import type { Dir } from '@holdfast/durable';

import { WorkspaceRestoreError } from '../errors.js';
import { IntentLog } from './intent-log.js';
import type { RunState } from './run-state.js';
import type { ScratchDirectory, SessionScratch } from './session-scratch.js';

/** How a restore ends: with the old tree, with the new one, or with both failures in the caller's hands. */
export class RestoreEnding {
  readonly #run: RunState;
  readonly #scratch: ScratchDirectory;
  readonly #session: SessionScratch;

  constructor(run: RunState, scratch: ScratchDirectory, session: SessionScratch) {
    this.#run = run;
    this.#scratch = scratch;
    this.#session = session;
  }

  /** Nothing was changed and nothing was journalled: leaves no scratch behind. Returns the error to throw. */
  async notStarted(failure: unknown): Promise<unknown> {
    await this.#quietly(async () => {
      await this.#session.removeWork(this.#run.restoreId);
      this.#scratch.removeIfEmpty(this.#session.name);
    });
    return failure;
  }

  /** Nothing was changed. Records that and cleans up. Returns the error to throw. */
  async notChanged(failure: unknown, log: IntentLog | undefined): Promise<unknown> {
    // Every phase before the first change means the old tree to a recovery.
    return await this.#aborted(failure, log === undefined || (await this.#recordUndone(log)));
  }

  /**
   * Takes the change back. Returns the error to throw.
   * 1. Undo, durably. 2. Record `undone`. 3. Append `restore-aborted`. 4. Remove scratch.
   */
  async rollBack(failure: unknown, log: IntentLog, work: Dir): Promise<unknown> {
    const run = this.#run;
    run.options.onStep?.('undo');
    try {
      run.place.reopen();
      await run.strategy.undo(run.context(work), run.secured ?? null);
    } catch (undoError) {
      return this.#stranded(failure, undoError);
    }
    const isRecorded = await this.#recordUndone(log);
    await this.#quietly(() => {
      run.place.reopen();
      return Promise.resolve();
    });
    return await this.#aborted(failure, isRecorded);
  }

  /**
   * The outcome `committed` may or may not be durable. Makes sure that it is not, then takes the change back.
   * Returns the error to throw.
   */
  async takeBack(failure: unknown, log: IntentLog, work: Dir): Promise<unknown> {
    const { history } = log;
    let again: IntentLog;
    try {
      this.#session.reopen();
      again = await IntentLog.rewrite(this.#session.dir, history);
    } catch (rewriteError) {
      // The tree is the new one as a whole, and what stands there by now has all undo copies or `committed`: either outcome
      // that a recovery may find is right.
      return this.#stranded(failure, rewriteError);
    }
    using opened = again;
    return await this.rollBack(failure, opened, work);
  }

  /** Removes scratch after the journal has the end of the restore. Failing to is noted, not thrown. */
  async cleanUp(outcome: 'committed' | 'undone'): Promise<void> {
    const run = this.#run;
    run.options.onStep?.('clean-up');
    await this.#quietly(async () => {
      this.#session.reopen();
      {
        using work = this.#session.openWork();
        await run.strategy.discard(run.discard(work, outcome));
      }
      await this.#session.removeWork(run.restoreId);
      this.#session.removeIntent();
      this.#scratch.removeIfEmpty(this.#session.name);
    });
  }

  /**
   * Records that the old tree is in place, durably. An append that failed leaves what others may read as `committing`: then
   * the intent is published anew, or a recovery would undo in a tree that has moved on since. `false` when that fails too:
   * the scratch stays, and the old tree is found out again from the copies in it.
   */
  async #recordUndone(log: IntentLog): Promise<boolean> {
    try {
      await log.advance('undone');
      return true;
    } catch {
      // A file whose sync failed takes nothing any more.
    }
    try {
      this.#session.reopen();
      const anew = await IntentLog.rewrite(this.#session.dir, { ...log.history, phase: 'undone' });
      anew.close();
      return true;
    } catch {
      return false;
    }
  }

  async #aborted(failure: unknown, outcomeDurable: boolean): Promise<unknown> {
    const run = this.#run;
    try {
      const reason = WorkspaceRestoreError.is(failure) ? failure.kind : 'canceled';
      await run.options.journal.aborted({ restoreId: run.restoreId, reason });
    } catch (appendError) {
      const kind = WorkspaceRestoreError.is(failure) ? failure.kind : 'append-failed';
      const detail = 'the old tree is in place, but the journal did not take the end of the restore';
      return new WorkspaceRestoreError(kind, detail, {
        ...run.facts(),
        cause: new AggregateError([failure, appendError], 'the restore failed, and so did recording that'),
      });
    }
    if (outcomeDurable) await this.cleanUp('undone');
    return failure;
  }

  #stranded(failure: unknown, undoError: unknown): WorkspaceRestoreError {
    const { keptAt } = this.#run;
    return new WorkspaceRestoreError(
      'rollback-failed',
      `undoing failed too; the copies are kept in ${keptAt}`,
      {
        ...this.#run.facts(),
        keptAt,
        cause: new AggregateError([failure, undoError], 'the restore failed, and so did undoing it'),
      },
    );
  }

  async #quietly(clean: () => Promise<void>): Promise<void> {
    try {
      await clean();
    } catch (error) {
      this.#run.note({
        kind: 'scratch-kept',
        detail: error instanceof Error ? error.message : 'scratch could not be removed',
      });
    }
  }
}
