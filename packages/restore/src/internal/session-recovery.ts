import type { Clock, JsonValue } from '@holdfast/base';
import type { Dir } from '@holdfast/durable';

import { RestoreIntentError, WorkspaceRestoreError } from '../errors.js';
import type { RecoveryResult } from '../receipt.js';
import type { RecoverOptions } from '../recover.js';
import { type RootPlace, scratchPath } from '../scratch.js';
import type { RestoreStrategy, StrategyContext } from '../strategy.js';
import { canonicalJson } from './canonical-json.js';
import { chooseWholeSync } from './choose-whole-sync.js';
import { IntentLog } from './intent-log.js';
import type { ScratchDirectory, SessionScratch } from './session-scratch.js';
import { strategyContext, withoutSkipped } from './strategy-context.js';

export interface SessionRecoveryOptions extends RecoverOptions {
  readonly strategies: readonly RestoreStrategy[];
  readonly clock: Clock;
}

/** Recovers what one session left. Direction: back until `committed`, forward from there. */
export class SessionRecovery {
  readonly #place: RootPlace;
  readonly #scratch: ScratchDirectory;
  readonly #name: string;
  readonly #options: SessionRecoveryOptions;

  constructor(place: RootPlace, scratch: ScratchDirectory, name: string, options: SessionRecoveryOptions) {
    this.#place = place;
    this.#scratch = scratch;
    this.#name = name;
    this.#options = options;
  }

  async run(): Promise<RecoveryResult> {
    using session = this.#scratch.openSession(this.#name);
    let log: IntentLog | undefined;
    try {
      log = IntentLog.open(session.dir);
    } catch (error) {
      if (!RestoreIntentError.is(error)) throw error;
      if (error.kind === 'unknown-version') {
        throw this.#refused('the intent was written by a newer version; use that to recover', error);
      }
      return await this.#setAside(error);
    }
    if (log === undefined) return await this.#withoutIntent(session);
    using opened = log;
    const { intent } = opened;
    if (intent.session !== this.#name || this.#options.trust?.(intent) === false) {
      return await this.#setAside(new RestoreIntentError('foreign', `it is not of session ${this.#name}`));
    }
    return await this.#withIntent(session, opened);
  }

  /** Scratch that was made, but never got an intent: nothing was touched. */
  async #withoutIntent(session: SessionScratch): Promise<RecoveryResult> {
    const swept = await session.sweep(this.#options.clock);
    const hadWork = session.removeEmptyWork();
    if (!session.isIdle) {
      // Without the names that ours have it is somebody's directory, not what a restore left.
      return session.hasTraces ? await this.#setAside(undefined) : { action: 'none' };
    }
    if (!swept && !hadWork) return { action: 'none' };
    if (this.#place.root !== undefined) this.#scratch.removeIfEmpty(this.#name);
    return { action: 'cleaned' };
  }

  async #withIntent(session: SessionScratch, log: IntentLog): Promise<RecoveryResult> {
    const { ref, restoreId } = log.intent;
    await log.settle(session.dir);
    if (log.phase === 'committed') {
      this.#refuseWithoutRoot(log);
      await session.removeWork(restoreId);
      return { action: 'kept', ref, restoreId };
    }
    if (log.phase !== 'undone') {
      await this.#refuseAlive(log);
      await this.#undo(session, log);
      await log.advance('undone');
    }
    this.#refuseWithoutRoot(log);
    await this.#discardUndone(session, log);
    await session.removeWork(restoreId);
    return { action: 'undone', ref, restoreId };
  }

  /** What was prepared outside `work` is of no use any more; what held live data stays until the outcome is settled. */
  async #discardUndone(session: SessionScratch, log: IntentLog): Promise<void> {
    const strategy = this.#strategyOf(log);
    if (strategy === undefined) return;
    using work = session.openWork();
    await strategy.discard({
      ...this.#context(log, work),
      outcome: 'undone',
      state: log.history.committing?.state,
      base: log.intent.base,
      scan: undefined,
      note: () => undefined,
    });
  }

  #strategyOf(log: IntentLog): RestoreStrategy | undefined {
    return this.#options.strategies.find(({ name }) => name === log.intent.strategy);
  }

  #context(log: IntentLog, work: Dir): StrategyContext {
    const { intent, history } = log;
    return strategyContext({
      place: this.#place,
      work,
      placement: this.#scratch.placement,
      restoreId: intent.restoreId,
      identity: intent.root,
      operations: withoutSkipped(intent.operations, new Set(history.committing?.skipped)),
      clock: this.#options.clock,
      wholeSync: chooseWholeSync(this.#options, this.#place, this.#scratch.placement),
    });
  }

  async #undo(session: SessionScratch, log: IntentLog): Promise<void> {
    const { committing } = log.history;
    if (committing === undefined) {
      this.#refuseWithoutRoot(log);
      return;
    }
    const strategy = this.#strategyOf(log);
    if (strategy === undefined) {
      const name = JSON.stringify(log.intent.strategy);
      throw this.#refused(`its strategy ${name} is not among those given`, undefined, log);
    }
    using work = session.openWork();
    try {
      await strategy.undo(this.#context(log, work), committing.state);
      this.#place.reopen();
    } catch (error) {
      throw this.#refused('the old tree cannot be brought back; every copy is kept', error, log);
    }
  }

  async #refuseAlive(log: IntentLog): Promise<void> {
    const { owner } = log.intent;
    const locked = this.#options.hostLock !== undefined;
    const { self } = this.#options;
    if (locked && self !== undefined && canonicalJson(self) === canonicalJson(owner)) return;
    const liveness = await this.#options.isAlive(owner);
    if (liveness === 'dead' || (liveness === 'unknown' && locked)) return;
    const detail =
      liveness === 'alive'
        ? 'the process that began it still runs'
        : 'nobody can tell whether its process runs';
    throw this.#refused(detail, undefined, log, owner);
  }

  /** Nothing is ever deleted while the root is absent. */
  #refuseWithoutRoot(log: IntentLog): void {
    if (this.#place.root === undefined) throw this.#refused('the root is absent', undefined, log);
  }

  async #setAside(error: unknown): Promise<RecoveryResult> {
    if (this.#place.root === undefined)
      throw this.#refused('the root is absent and its intent cannot be used', error);
    await this.#scratch.quarantine(this.#name);
    return { action: 'quarantined' };
  }

  #refused(detail: string, cause: unknown, log?: IntentLog, owner?: JsonValue): WorkspaceRestoreError {
    const shown = owner === undefined ? '' : ` (${canonicalJson(owner).slice(0, 200)})`;
    return new WorkspaceRestoreError('recovery-refused', `${detail}${shown}`, {
      root: this.#place.path,
      ref: log?.intent.ref,
      restoreId: log?.intent.restoreId,
      keptAt: `${scratchPath(this.#place.path, this.#scratch.placement)}/${this.#name}`,
      cause,
    });
  }
}
